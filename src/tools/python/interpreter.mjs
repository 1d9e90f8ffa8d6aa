// @ts-check
/**
 * The program of a Python process: Pyodide, with every way out of it walled up. Plain JavaScript, because Node 20 starts it as it is.
 *
 * Python code is taken to reach any JavaScript object of this process, sooner or later. So the walls are not in Python:
 * - the operating system's limits (sandbox.ts): no network but one of its own that leads nowhere, no writing to files, a bound on memory and
 *   on file descriptors, all of which are taken before the first cell: without a free one there is no socket, no server and no file;
 * - Node's permission model (a flag of the start): no files but Pyodide's own, no child processes, no threads, no add-ons;
 * - no code from strings (a flag of the start): a JavaScript function can be called, never written; and no import() without code;
 * - the functions of Node's modules refuse, each one and by whatever name; `process`, `fetch` and other globals that reach outside are gone;
 *   Pyodide's bridges to the host's files and sockets are taken out; JavaScript's own functions cannot be replaced;
 * - WebAssembly memory stops growing at the limit, and the process ends itself above a limit of its whole memory.
 * It speaks with its parent in frames over two pipes, each with a secret that the parent chose and Python code cannot see.
 */
import fs from "node:fs";
import { createRequire, isBuiltin, syncBuiltinESMExports } from "node:module";
import { pathToFileURL } from "node:url";

const node = process;
const [folder, memoryLimit, showsStderr] = [node.argv[2], Number(node.argv[3]), node.argv[4] === "stderr"];
/** Pipes from and to the parent, as in process.ts. */
const [requests, answers] = [3, 4];
const { openSync, readSync, writeSync } = fs;

// Only what Pyodide asks for: it reads constants from there, which the permission model forbids.
Object.assign(node, { binding: () => ({ fs: fs.constants }) });

/** Known to the parent: the process ended itself for its memory. */
const memoryExit = 87;
const pageBytes = 65_536;
/** Not among the types of Node. */
const memory = /** @type {{ grow(this: { buffer: ArrayBuffer }, pages: number): number }} */ (
  Reflect.get(globalThis, "WebAssembly").Memory.prototype
);
const { grow } = memory;
memory.grow = function (pages) {
  if (this.buffer.byteLength + pages * pageBytes > memoryLimit) throw new RangeError("memory limit");
  return grow.call(this, pages);
};

const { loadPyodide } = await import(pathToFileURL(`${folder}pyodide.mjs`).href);
const pyodide = await loadPyodide({
  indexURL: folder,
  jsglobals: {},
  env: { HOME: "/home/pyodide", PYTHONHASHSEED: "0", TZ: "UTC" },
  stdin: () => null,
});

/** What one call printed: the first bytes of it, and how much there was. */
const output = { chunks: /** @type {Uint8Array[]} */ ([]), kept: 0, total: 0, limit: 0 };
const sink = {
  /** @param {Uint8Array} bytes */
  write(bytes) {
    output.total += bytes.length;
    const room = output.limit - output.kept;
    if (room > 0) {
      const part = bytes.slice(0, room);
      output.chunks.push(part);
      output.kept += part.length;
    }
    return bytes.length;
  },
};
pyodide.setStdout(sink);
pyodide.setStderr(showsStderr ? sink : { write: (/** @type {Uint8Array} */ bytes) => bytes.length });

/**
 * Python asks this "buffer" every few instructions whether it was interrupted (2 is SIGINT): it looks at the clock instead, and
 * ends the process where its whole memory (files and JavaScript's copies of values are outside of the WebAssembly memory) is too big.
 */
const overhead = node.memoryUsage.rss();
const [now, rss, exit] = [performance.now.bind(performance), node.memoryUsage.rss, node.exit.bind(node)];
/** Outside of calls nothing may run: what a timer or a callback left behind is interrupted at once. */
let deadline = Number.POSITIVE_INFINITY;
let nextLook = 0;
pyodide.setInterruptBuffer({
  get 0() {
    const time = now();
    if (time > nextLook) {
      nextLook = time + 50;
      if (rss() > overhead + 1.5 * memoryLimit) exit(memoryExit);
    }
    return time > deadline ? 2 : 0;
  },
  set 0(_) {},
});
const { beginning, runner } = await import("./cells.mjs");
const host = pyodide.runPython("{}");
pyodide.runPython(beginning, { filename: "<host>", globals: host });
const [pristine, builtinNames] = [host.get("pristine"), host.get("builtin_names")];
for (const name of ["pristine", "builtin_names"]) host.delete(name);
const code = pyodide.runPython("lambda text: compile(text, '<host>', 'exec')")(runner);
const [exec, dict] = pyodide.runPython("exec, dict").toJs({ depth: 1 });
const [settrace, setprofile] = pyodide.runPython("import sys; sys.settrace, sys.setprofile").toJs({ depth: 1 });
const streams = [0, 1, 2].map((fd) => pyodide.FS.getStream(fd));
/** Runs a cell in the present session. */
let run = renewed();

// What JavaScript does for the frames, taken before Python code could change it.
const { parse, stringify } = JSON;
const { from: bytesOf, alloc } = Buffer;
wallUp();
/** @type {string} */
let secret = "";
serve();

/** One request after another, without the event loop: nothing that a cell leaves behind runs in between. */
function serve() {
  for (let first = true; ; first = false) {
    const request = receive();
    if (first) secret = request.secret;
    try {
      send(first ? { ready: true } : answer(request));
    } catch (error) {
      // Pyodide itself broke: nothing that it says can be relied on any more.
      exit(isOutOfMemory(error) ? memoryExit : 1);
    }
  }
}

function receive() {
  const length = filled(4).readUInt32BE(0);
  return parse(filled(length).toString("utf8"));
}

/** @param {number} size */
function filled(size) {
  const bytes = alloc(size);
  for (let at = 0; at < size; ) {
    const count = readSync(requests, bytes, at, size - at, null);
    if (count === 0) exit(0); // the parent is gone
    at += count;
  }
  return bytes;
}

/** @param {object} message */
function send(message) {
  const body = bytesOf(stringify({ ...message, secret }), "utf8");
  const frame = alloc(4 + body.length);
  frame.writeUInt32BE(body.length, 0);
  body.copy(frame, 4);
  for (let at = 0; at < frame.length; ) at += writeSync(answers, frame, at, frame.length - at);
}

/**
 * @param {import("./protocol.ts").Request} request
 * @returns {import("./protocol.ts").Answer}
 */
function answer({ id, replay, code, timeoutMs, outputBytes }) {
  let restored = true;
  if (replay !== null) {
    deadline = Number.POSITIVE_INFINITY;
    run.destroy();
    run = renewed();
    deadline = 0;
    for (const earlier of replay) {
      if (runCell(earlier, timeoutMs, 0).kind === "interrupted") restored = false;
    }
  }
  const { kind, text } = runCell(code, timeoutMs, outputBytes);
  return {
    id,
    kind,
    text,
    output: new TextDecoder().decode(joined(output.chunks)),
    droppedBytes: output.total - output.kept,
    restored,
    memoryBytes: pyodide._module.HEAPU8.length,
  };
}

/** A new session: the runner made anew, so that nothing that an earlier one did to it is left. Built-in functions alone come before it. */
function renewed() {
  settrace(undefined);
  setprofile(undefined);
  for (const [fd, stream] of streams.entries()) pyodide.FS.streams[fd] = Object.assign(stream, { fd });
  const names = dict(host);
  const builtins = dict(builtinNames);
  names.set("__builtins__", builtins);
  exec(code, names);
  const reset = names.get("reset");
  reset(pristine);
  const fresh = names.get("run");
  for (const proxy of [names, builtins, reset]) proxy.destroy();
  return fresh;
}

/**
 * @param {string} code
 * @param {number} timeoutMs
 * @param {number} outputBytes
 */
function runCell(code, timeoutMs, outputBytes) {
  Object.assign(output, { chunks: [], kept: 0, total: 0, limit: outputBytes });
  deadline = now() + timeoutMs;
  const result = run(code);
  const late = now() > deadline;
  deadline = 0;
  const [kind, text] = result.toJs();
  result.destroy();
  // What the code raised by itself is no time-out.
  return kind === "interrupted" && !late ? { kind: "error", text: "KeyboardInterrupt" } : { kind, text };
}

/** @param {readonly Uint8Array[]} chunks */
function joined(chunks) {
  return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
}

/** @param {unknown} error */
function isOutOfMemory(error) {
  return /memory limit|out of memory|allocation failed/i.test(String(error));
}

function wallUp() {
  unbridge();
  takeDescriptors();
  refuseModules();
  const kept = new Set(
    [
      "Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise RegExp Error",
      "AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError globalThis JSON Math Intl ArrayBuffer",
      "Atomics Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array Float32Array Float64Array Uint8ClampedArray",
      "BigUint64Array BigInt64Array DataView Map BigInt Set WeakMap WeakSet WeakRef Proxy Reflect FinalizationRegistry decodeURI",
      "decodeURIComponent encodeURI encodeURIComponent escape unescape isFinite isNaN SharedArrayBuffer WebAssembly",
      "TextDecoder TextEncoder URL URLSearchParams AbortController AbortSignal Event EventTarget setTimeout clearTimeout setInterval",
      "clearInterval setImmediate clearImmediate queueMicrotask performance Buffer structuredClone console DOMException",
    ]
      .join(" ")
      .split(" "),
  );
  for (const name of Object.getOwnPropertyNames(globalThis)) if (!kept.has(name)) Reflect.deleteProperty(globalThis, name);
  freezePrimordials();
}

/** Takes out Pyodide's ways to the host's files and sockets. Its own files are in memory. */
function unbridge() {
  const bridges =
    /^(mount|useNode|initializeNode|nativeFS|nodeSock|loadPackage|_?load.*dynlib|NODEFS|SOCKFS|NODERAWFS|PROXYFS|IDBFS|WORKERFS)/i;
  for (const owner of [pyodide, Reflect.get(pyodide, "_api"), pyodide._module]) {
    if (owner === undefined || owner === null) continue;
    for (const name of Reflect.ownKeys(owner))
      if (typeof name === "string" && bridges.test(name)) Reflect.deleteProperty(owner, name);
  }
  // Python's file descriptors are looked up there, and none of them is a socket.
  pyodide._module.SOCKFS = { getSocket: () => null };
  for (const name of Object.keys(pyodide.FS.filesystems))
    if (name !== "MEMFS") Reflect.deleteProperty(pyodide.FS.filesystems, name);
}

/** All that the limit of the start allows: without it (no such limits on Windows) a few. */
function takeDescriptors() {
  try {
    for (let count = 0; count < 1024; count++) openSync(`${folder}package.json`, "r");
  } catch {
    // None is left.
  }
}

/** Every function of Node's modules, and of their classes, refuses, in whatever way it is reached. */
function refuseModules() {
  const refuse = () => {
    throw new Error("not possible here");
  };
  // os.system() of Python ends here, and would break the interpreter if this threw.
  const spawnSync = () => ({ status: 1, signal: null, stdout: "", stderr: "", output: [], pid: 0 });
  const require = createRequire(import.meta.url);
  const names = "fs fs/promises net dgram dns dns/promises http https tls child_process worker_threads vm module".split(" ");
  // All are loaded before the first is changed: they build on each other.
  const modules = names.filter((name) => isBuiltin(name)).map((name) => require(`node:${name}`));
  for (const module of modules) refuseAll(module, (name) => (name === "spawnSync" ? spawnSync : refuse));
  const methods = ["binding", "_linkedBinding", "kill", "_kill", "dlopen", "chdir", "getBuiltinModule", "send", "abort"];
  for (const name of [
    ...methods,
    "umask",
    "setuid",
    "setgid",
    "setegid",
    "seteuid",
    "initgroups",
    "setgroups",
    "emitWarning",
    "disconnect",
  ])
    if (name in node) Object.assign(node, { [name]: refuse });
  syncBuiltinESMExports();
}

/**
 * @param {Record<string, unknown>} module
 * @param {(name: string) => () => unknown} insteadOf
 */
function refuseAll(module, insteadOf) {
  for (const name of Object.getOwnPropertyNames(module)) {
    const { value, writable, configurable } = Object.getOwnPropertyDescriptor(module, name) ?? {};
    if (typeof value !== "function") continue;
    const own = value.prototype === undefined || value.prototype === null ? [] : Object.getOwnPropertyNames(value.prototype);
    for (const method of own) {
      const descriptor = Object.getOwnPropertyDescriptor(value.prototype, method);
      if (method !== "constructor" && typeof descriptor?.value === "function" && descriptor.configurable)
        Object.defineProperty(value.prototype, method, { value: insteadOf(method), writable: false, configurable: false });
    }
    if (configurable) Object.defineProperty(module, name, { value: insteadOf(name), writable: false, configurable: false });
    else if (writable) module[name] = insteadOf(name);
  }
}

/** What JavaScript's own objects do can no longer be changed. Errors and plain objects keep theirs: programs set names and messages on them. */
function freezePrimordials() {
  const typed = Object.getPrototypeOf(Uint8Array.prototype);
  const prototypes = [
    Array,
    Map,
    Set,
    WeakMap,
    WeakSet,
    Promise,
    RegExp,
    String,
    Number,
    Boolean,
    BigInt,
    Symbol,
    Date,
    ArrayBuffer,
    DataView,
  ];
  const owners = [
    ...prototypes.map((each) => each.prototype),
    typed,
    Buffer.prototype,
    TextDecoder.prototype,
    TextEncoder.prototype,
  ];
  for (const owner of [...owners, Function.prototype, ...prototypes, Object, Function, Buffer, JSON, Math, Reflect, memory]) {
    for (const key of Reflect.ownKeys(owner)) {
      const descriptor = Reflect.getOwnPropertyDescriptor(owner, key);
      if (typeof descriptor?.value === "function" && descriptor.configurable && key !== "constructor" && key !== "toString")
        Reflect.defineProperty(owner, key, { writable: false, configurable: false });
    }
  }
}
