import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPython } from "./python.ts";

/**
 * Attempts to get out of the interpreter. Each says what happens instead. JavaScript objects are what an attacker wants, and
 * Python's garbage collector hands them out, whatever is done to imports: so those attempts start from there.
 */
const python = createPython({ interpreters: 1, timeoutMs: 20_000 });
const folder = mkdtempSync(join(tmpdir(), "retrograde-escape-"));
const secret = join(folder, "secret.txt");
const written = join(folder, "written.txt");
const visits: string[] = [];
const server = createServer((request, response) => {
  visits.push(request.url ?? "");
  response.end("reached");
});
let address = "";

beforeAll(async () => {
  writeFileSync(secret, "hidden value");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  python.close();
  server.close();
});

/** The module `js` and the Pyodide API, from inside. */
const inside = `
import gc
finder = next(o for o in gc.get_objects() if type(o).__name__ == "JsFinder")
js, api = finder.jsproxies["js"], finder.jsproxies["pyodide_js"]
Function = js.constructor.constructor
`;

const attempts: readonly (readonly [what: string, code: string, result: RegExp])[] = [
  ["import js", "import js\njs.process", /No module named 'js'/],
  ["js.fetch", "from js import fetch", /No module named 'js'/],
  ["pyodide.http", "import pyodide.http", /No module named 'pyodide/],
  ["pyodide.code.run_js", "from pyodide.code import run_js\nrun_js('process')", /No module named 'pyodide/],
  ["pyodide_js", "import pyodide_js", /No module named 'pyodide_js'/],
  ["micropip", "import micropip", /No module named 'micropip'/],
  ["importlib", "import importlib\nimportlib.import_module('js')", /No module named 'js'/],
  ["ctypes", "import ctypes", /No module named 'ctypes'/],
  ["a file by its path", "open('SECRET').read()", /FileNotFoundError/],
  ["/etc/passwd", "open('/etc/passwd').read()", /FileNotFoundError/],
  ["a file to write", "open('WRITTEN', 'w').write('x')", /FileNotFoundError/],
  ["os.system", "import os\nos.system('touch WRITTEN')", /PermissionError: os.system is not possible here/],
  [
    "os.system's original",
    "import os, gc\n[f('touch WRITTEN') for f in gc.get_objects() if getattr(f, '__name__', '') == 'system']",
    /^/,
  ],
  ["subprocess", "import subprocess\nsubprocess.run(['touch', 'WRITTEN'])", /OSError/],
  ["os.kill", "import os\nos.kill(os.getppid(), 9)", /PermissionError/],
  [
    "a socket",
    "import socket\nsocket.create_connection(('127.0.0.1', PORT), timeout=2).send(b'GET / HTTP/1.0\\r\\n\\r\\n')",
    /Error/,
  ],
  ["urllib", "import urllib.request\nurllib.request.urlopen('http://ADDRESS/urllib').read()", /Error/],
  ["http.client", "import http.client\nc = http.client.HTTPConnection('ADDRESS', timeout=2)\nc.request('GET', '/')", /Error/],
  ["os.environ", "import os\nlen(str(dict(os.environ))) < 500 and 'PATH' not in os.environ or os.environ['PATH']", /True|^\/?$/m],
  ["the Pyodide API", `${inside}\n"runPython" in dir(api)`, /^True$/m],
  ["the global object", `${inside}\n[n for n in ("process", "fetch", "require") if hasattr(js, n)]`, /^\[\]$/m],
  ["JavaScript from a string", `${inside}\nFunction("return process")()`, /Code generation from strings disallowed/],
  [
    "asynchronous JavaScript from a string",
    `${inside}\napi.loadPackage.constructor("return 1")()`,
    /Code generation from strings disallowed/,
  ],
  [
    "NODEFS by a mount",
    `${inside}\noptions = js.constructor()\noptions.root = "FOLDER"\napi.FS.mkdir("/host")\n` +
      `api.FS.mount(api.FS.filesystems.NODEFS, options, "/host")\nimport os\nprint(os.listdir("/host"))\nopen("/host/secret.txt").read()`,
    /Error|crashed/,
  ],
  ["mountNodeFS", `${inside}\napi.mountNodeFS("/host2", "FOLDER")\nimport os\nprint(os.listdir("/host2"))`, /Error|crashed/],
  [
    "writing by mountNodeFS",
    `${inside}\napi.mountNodeFS("/host3", "FOLDER")\nopen("/host3/written.txt", "w").write("x")`,
    /Error|crashed/,
  ],
  [
    "sockets of Node",
    `${inside}\napi.useNodeSockFS()\nimport socket\nsocket.create_connection(("127.0.0.1", PORT), timeout=2).send(b"GET /sock HTTP/1.0\\r\\n\\r\\n")`,
    /Error|crashed/,
  ],
  ["loadPackage from the network", `${inside}\napi.loadPackage("http://ADDRESS/evil-1.0-py3-none-any.whl")`, /^/],
  ["a library of the host", `${inside}\napi._api.loadDynlib("SECRET")`, /^/],
  ["a file of the host as binary", `${inside}\nstr(api._api.loadBinaryFile("SECRET"))`, /^/],
  ["the module's own reader", `${inside}\nstr(api._module.readAsync("SECRET"))`, /^/],
  ["unpacking over the host", `${inside}\napi.unpackArchive(b"", "zip")`, /^/],
  ["work after the call", `import asyncio\ndef spin():\n  while True: pass\nasyncio.get_event_loop().call_soon(spin)\n1`, /^1$/m],
  ["the message channel", `${inside}\napi._module.process`, /AttributeError/],
  ["quitting", `${inside}\napi._module._exit(0)`, /crashed|Error/],
  [
    "Pyodide imported anew",
    `${inside}\nimport sys\nsys.meta_path.pop(0)\nimport _pyodide_core\n_pyodide_core.to_js([]).constructor.constructor("return process")()`,
    /Code generation from strings disallowed/,
  ],
];

test.each(attempts)("%s leads nowhere", async (_, code, result) => {
  const filled = code
    .replaceAll("SECRET", secret)
    .replaceAll("WRITTEN", written)
    .replaceAll("FOLDER", folder)
    .replaceAll("ADDRESS", address)
    .replaceAll("PORT", address.split(":")[1]);
  const { output, error = "" } = await python.run(filled);
  expect(output + error).toMatch(result);
  expect(output + error).not.toContain("hidden value");
  expect(output).not.toContain("secret.txt");
  expect(existsSync(written)).toBe(false);
  expect(visits).toEqual([]);
  expect((await python.run("1+1")).output).toBe("2\n");
});
