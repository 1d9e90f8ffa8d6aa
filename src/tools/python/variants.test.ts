import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Random, randomStream } from "../../core/random.ts";
import { createPython } from "./python.ts";

/**
 * Escapes that nobody has listed: each is a way to a JavaScript object, a way of reading attributes from there, and an aim, drawn at random.
 * What one combination does is not asserted, only what it must not reach. RETROGRADE_ESCAPES=2000 draws more than the tests do.
 */
const variants = Number(process.env.RETROGRADE_ESCAPES ?? 60);

const python = createPython({ interpreters: 1, timeoutMs: 10_000, memoryMb: 512 });
const folder = mkdtempSync(join(tmpdir(), "retrograde-variants-"));
const secret = join(folder, "secret.txt");
const written = join(folder, "written.txt");
const freePort = 20_000 + (process.pid % 20_000);
const visits: string[] = [];
const server = createServer((request, response) => {
  visits.push(request.url ?? "");
  response.end("reached");
});
let port = 0;

beforeAll(async () => {
  writeFileSync(secret, "hidden value");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(() => {
  python.close();
  server.close();
  rmSync(folder, { recursive: true });
});

/** How code comes to objects of JavaScript. `roots` is filled with all that it finds. */
const ways = [
  `import gc\nfor o in gc.get_objects():\n  if type(o).__name__ == "JsFinder": roots += list(o.jsproxies.values())`,
  `import gc\nroots += [o for o in gc.get_objects() if "JsProxy" in type(o).__name__]`,
  `import gc\nfor o in gc.get_objects():\n  if isinstance(o, dict): roots += [v for v in list(o.values()) if "JsProxy" in type(v).__name__]`,
  `import sys\nframe = sys._getframe()\nwhile frame:\n  for names in (frame.f_globals, frame.f_locals, frame.f_builtins): roots += [v for v in dict(names).values() if "JsProxy" in type(v).__name__]\n  frame = frame.f_back`,
  `import sys\nfor module in list(sys.modules.values()):\n  roots += [v for v in vars(module).values() if "JsProxy" in type(v).__name__]`,
  `import sys\nfor finder in sys.meta_path: roots += list(getattr(finder, "jsproxies", {}).values())`,
  `import gc\nfor kind in object.__subclasses__():\n  if "Js" in kind.__name__: roots += [o for o in gc.get_referrers(kind) if "JsProxy" in type(o).__name__]`,
  `import sys\nsys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "Refuser"]\nsys.modules.pop("js", None)\ntry:\n  import js\n  roots.append(js)\nexcept BaseException: pass`,
] as const;

/** How an attribute is read, past what looks at names. */
const readers = [
  "get = getattr",
  "get = lambda o, n: object.__getattribute__(o, n)",
  "get = lambda o, n: o.__getattr__(n) if hasattr(type(o), '__getattr__') else getattr(o, n)",
  "import operator\nget = lambda o, n: operator.attrgetter(n)(o)",
  "get = lambda o, n: get_(o, n[::-1][::-1])\nget_ = getattr",
  "get = lambda o, n: getattr(o.constructor, 'getOwnPropertyDescriptor', getattr)(o, n).value if hasattr(o, 'constructor') else getattr(o, n)",
  "get = lambda o, n: eval('o.' + n)",
  "get = lambda o, n: getattr(o, 'valueOf')().__getattribute__(n)",
] as const;

/** Names along which objects lead to each other. */
const names = [
  ...["constructor", "prototype", "__proto__", "process", "require", "mainModule", "fetch", "global", "globalThis", "self"],
  ...["_api", "_module", "FS", "filesystems", "NODEFS", "SOCKFS", "WORKERFS", "streams", "stream_ops", "node", "mount", "mounts"],
  ...[
    "binding",
    "dlopen",
    "getBuiltinModule",
    "send",
    "channel",
    "stdin",
    "stdout",
    "_handle",
    "readAsync",
    "runPython",
    "importer",
  ],
  ...["Worker", "WebAssembly", "Atomics", "SharedArrayBuffer", "queueMicrotask", "setTimeout", "toString", "caller", "arguments"],
] as const;

/** What is done with each object that was reached. */
const aims = [
  `call(lambda: o("return process")().mainModule.require("fs").writeFileSync("WRITTEN", "x"))`,
  `call(lambda: print(o("SECRET")))\ncall(lambda: print(o.readFileSync("SECRET", "utf8")))`,
  `call(lambda: o("http://127.0.0.1:PORT/escape"))\ncall(lambda: o.fetch("http://127.0.0.1:PORT/escape"))`,
  `call(lambda: o.getBuiltinModule("fs").writeFileSync("WRITTEN", "x"))\ncall(lambda: o("node:fs").writeFileSync("WRITTEN", "x"))`,
  `call(lambda: o.getBuiltinModule("net").createServer().listen(FREE, "127.0.0.1"))\ncall(lambda: o.createServer().listen(FREE))`,
  `call(lambda: o.getBuiltinModule("child_process").execSync("touch WRITTEN"))\ncall(lambda: o("child_process").execSync("touch WRITTEN"))`,
  `call(lambda: o.mount(o, {"root": "FOLDER"}, "/m"))\ncall(lambda: print(open("/m/secret.txt").read()))`,
  `call(lambda: o.send({"id": 0, "output": "forged"}))\ncall(lambda: o.write("forged"))`,
  `call(lambda: o.symlink("FOLDER", "/l"))\ncall(lambda: print(open("/l/secret.txt").read()))`,
  `call(lambda: o.useNodeSockFS())\ncall(lambda: __import__("_socket").socket().connect(("127.0.0.1", PORT)))`,
  `call(lambda: o._listen2("127.0.0.1", FREE, 4))\ncall(lambda: o._createServerHandle("FOLDER/pipe", -1, -1))`,
  `call(lambda: setattr(o, "push", print))\ncall(lambda: setattr(o.prototype, "then", print))`,
] as const;

function variant(random: Random): string {
  const chosen = [random.pick(names), random.pick(names), random.pick(names)];
  const aim = random.pick(aims).replaceAll("\n", "\n    ");
  return `
roots = []
def call(f):
  try: f()
  except BaseException: pass
try:
${indented(random.pick(ways), "  ")}
except Exception as error: print(type(error).__name__)
${random.pick(readers)}
reached = list(roots)[:40]
for name in ${JSON.stringify(chosen)}:
  for o in list(reached)[-120:]:
    def step(o=o):
      reached.append(get(o, name))
    call(step)
for o in reached[-160:]:
    ${aim}
`
    .replaceAll("SECRET", secret)
    .replaceAll("WRITTEN", written)
    .replaceAll("FOLDER", folder)
    .replaceAll("PORT", String(port))
    .replaceAll("FREE", String(freePort));
}

function indented(code: string, by: string): string {
  return code
    .split("\n")
    .map((line) => by + line)
    .join("\n");
}

/** True if something of this machine listens there. */
function listens(at: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(at, "127.0.0.1");
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

test(`none of ${variants} random attempts reaches anything, and the next session is served`, { timeout: 600_000 }, async () => {
  for (let i = 0; i < variants; i++) {
    const code = variant(randomStream(1, "escape", i));
    const { output, error = "" } = await python.run(code);
    expect(output + error, code).not.toContain("hidden value");
    expect(output, code).not.toBe("forged");
    expect(error, code).not.toContain("SyntaxError"); // of the generator
    expect([existsSync(written), existsSync(join(folder, "pipe")), visits, await listens(freePort)], code).toEqual([
      false,
      false,
      [],
      false,
    ]);
    if (i % 5 === 0) expect(await python.run("1+1"), code).toEqual({ output: "2\n", error: undefined });
  }
});

test("the attempts do reach objects of JavaScript: otherwise they would show nothing", async () => {
  const counts = [];
  for (const way of ways.slice(0, 2)) {
    const { output } = await python.run(`roots = []\n${way}\nprint(len(roots))`);
    counts.push(Number(output));
  }
  expect(Math.max(...counts)).toBeGreaterThan(0);
});
