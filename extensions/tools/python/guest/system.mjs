// @ts-check
/**
 * The system of one interpreter: every function that Python's WebAssembly can call, and no other. They take numbers, give numbers, and read and
 * write the interpreter's own memory. No JavaScript object goes in or out: there is nothing from which code could walk to another one.
 */
import { fileCalls } from "./descriptors.mjs";
import { Failure, Files, kinds } from "./files.mjs";
import { GuestMemory } from "./memory.mjs";

const pageBytes = 65_536;
/** The number of SIGINT, which Python turns into a KeyboardInterrupt. */
const interrupt = 2;

/**
 * @typedef {object} Surroundings
 * @property {number} memoryBytes The limit of Python's memory and its files together.
 * @property {Uint8Array} library The standard library: a zip file.
 * @property {readonly string[]} variables
 * @property {(bytes: Uint8Array) => void} output
 * @property {(bytes: Uint8Array) => void} errors
 */

/** An interpreter that cannot go on: it ended itself, or asked for something that is not there. */
export class Ended extends Error {}

/**
 * @param {WebAssembly.Module} module
 * @param {Surroundings} surroundings
 */
export function createSystem(module, { memoryBytes, library, variables, output, errors }) {
  // Its buffer is the instance's as soon as there is one.
  const memory = new GuestMemory(/** @type {WebAssembly.Memory} */ (/** @type {unknown} */ ({ buffer: new ArrayBuffer(0) })));
  const files = new Files(() => memoryBytes - memory.memory.buffer.byteLength);
  for (const path of ["/dev", "/home", "/home/pyodide", "/lib", "/tmp"]) files.make(path, kinds.folder | 0o777);
  files.make("/lib/python314.zip", kinds.regular | 0o444, { shared: library, size: library.length });
  const devices = { stdin: () => {}, stdout: output, stderr: errors, null: () => {} };
  for (const [name, device] of Object.entries(devices)) files.make(`/dev/${name}`, kinds.device | 0o666, { device });
  files.current = files.find("/home/pyodide");

  /** @type {WebAssembly.Table | undefined} */
  let table;
  let deadline = Number.POSITIVE_INFINITY;
  let random = 1;
  const now = performance.now.bind(performance);

  /** Results of these are errors' numbers, negative ones of what is named a system call. */
  const calls = {
    ...fileCalls(files, memory),
    environ_sizes_get(/** @type {number} */ count, /** @type {number} */ size) {
      memory.writeWord(count, variables.length);
      memory.writeWord(
        size,
        variables.reduce((sum, each) => sum + each.length + 1, 0),
      );
      return 0;
    },
    environ_get(/** @type {number} */ list, /** @type {number} */ texts) {
      let to = texts;
      for (const [i, each] of variables.entries()) {
        memory.writeWord(list + 4 * i, to);
        memory.writeText(to, each, each.length + 1);
        to += each.length + 1;
      }
      return 0;
    },
    clock_time_get(/** @type {number} */ clock, /** @type {number} */ _, /** @type {number} */ to) {
      const milliseconds = clock === 0 ? Date.now() : now();
      memory.view(to, 8).setBigInt64(0, BigInt(Math.round(milliseconds * 1e6)), true);
      return 0;
    },
    clock_res_get(/** @type {number} */ _, /** @type {number} */ to) {
      memory.view(to, 8).setBigInt64(0, 1000n, true);
      return 0;
    },
    /** The same numbers in every interpreter, so that a session can be run again (mulberry32). */
    random_get(/** @type {number} */ to, /** @type {number} */ length) {
      const into = memory.slice(to, length);
      for (let i = 0; i < into.length; i++) {
        random = (random + 0x6d2b79f5) | 0;
        let mixed = Math.imul(random ^ (random >>> 15), 1 | random);
        mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
        into[i] = mixed ^ (mixed >>> 14);
      }
      return 0;
    },
    __syscall_getuid32_js: () => 1000,
    __syscall_umask_js: () => 0o22,
    __syscall_fchownat: () => 0,
    __syscall_fchown32: () => 0,
    __syscall_mknodat: () => fail("EPERM"),
    __syscall_pipe: () => fail("ENOSYS"),
    _mmap_js: () => fail("ENODEV"),
    _munmap_js: () => fail("EINVAL"),
    _msync_js: () => fail("EINVAL"),
    _emscripten_system: () => fail("EPERM"),
  };
  const sockets = "accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmsg sendmsg sendto socket";

  /** Those that do not fail. */
  const plain = {
    emscripten_get_now: now,
    emscripten_date_now: Date.now,
    _Py_CheckEmscriptenSignals_Helper: () => (now() > deadline ? interrupt : 0),
    _PyEM_TrampolineCall_JS: (/** @type {number} */ at, /** @type {number[]} */ ...values) => table?.get(at)(...values),
    __call_sighandler: (/** @type {number} */ at, /** @type {number} */ signal) => table?.get(at)(signal),
    emscripten_get_heap_max: () => memoryBytes,
    emscripten_resize_heap(/** @type {number} */ asked) {
      const [size, needed, most] = [memory.memory.buffer.byteLength, asked >>> 0, memoryBytes - files.used];
      if (needed > most) return 0;
      const next = Math.max(needed, Math.min(most, 1.2 * size));
      try {
        memory.memory.grow(Math.ceil((next - size) / pageBytes));
        return 1;
      } catch {
        return 0;
      }
    },
    _gmtime_js: writeTime,
    _localtime_js: writeTime,
    _timegm_js: readTime,
    _mktime_js: readTime,
    _tzset_js(
      /** @type {number} */ offset,
      /** @type {number} */ summer,
      /** @type {number} */ name,
      /** @type {number} */ summerName,
    ) {
      memory.writeWord(offset, 0);
      memory.writeWord(summer, 0);
      for (const to of [name, summerName]) memory.writeText(to, "UTC", 4);
    },
    // EAI_NONAME
    getaddrinfo: () => -2,
    getnameinfo: () => -2,
    // Nothing to do, or nothing there.
    ...Object.fromEntries(
      ["_Py_emscripten_runtime", "_try_fcntl64", "_try_shutdown", "_emscripten_get_progname", "_setitimer_js", "getprotobyname"]
        .concat(["emscripten_runtime_keepalive_push", "emscripten_runtime_keepalive_pop", "_emscripten_runtime_keepalive_clear"])
        .map((name) => [name, () => 0]),
    ),
    // Called once, by constructors of what links Python to JavaScript elsewhere.
    __hiwire_deduplicate_new: () => null,
    ...Object.fromEntries(["connect", "recvfrom", "sendto", "poll"].map((name) => [`_maybe_${name}_async`, () => null])),
  };

  /**
   * @param {bigint} seconds
   * @param {number} to
   */
  function writeTime(seconds, to) {
    const date = new Date(Number(seconds) * 1000);
    const year = date.getUTCFullYear();
    const dayOfYear = Math.floor((date.getTime() - new Date(0).setUTCFullYear(year)) / 86_400_000);
    const clock = [date.getUTCSeconds(), date.getUTCMinutes(), date.getUTCHours()];
    const all = [...clock, date.getUTCDate(), date.getUTCMonth(), year - 1900, date.getUTCDay(), dayOfYear, 0, 0];
    const into = memory.view(to, 4 * all.length);
    for (const [i, value] of all.entries()) into.setInt32(4 * i, value, true);
  }

  /** @param {number} from */
  function readTime(from) {
    const fields = memory.view(from, 24);
    const at = (/** @type {number} */ offset) => fields.getInt32(offset, true);
    const [seconds, minutes, hours, day, month, year] = [at(0), at(4), at(8), at(12), at(16), at(20)];
    const date = new Date(0);
    date.setUTCFullYear(year + 1900, month, day);
    date.setUTCHours(hours, minutes, seconds);
    if (Number.isNaN(date.getTime())) return -1n;
    const whole = BigInt(date.getTime() / 1000);
    writeTime(whole, from);
    return whole;
  }

  /** @type {Record<string, Record<string, unknown>>} */
  const imports = {};
  for (const { module: owner, name, kind } of WebAssembly.Module.imports(module)) {
    imports[owner] ??= {};
    imports[owner][name] = kind === "global" ? new WebAssembly.Global({ value: "i32", mutable: true }, 0) : functionOf(name);
  }
  return {
    imports,
    /** @param {WebAssembly.Instance["exports"]} exports */
    attach(exports) {
      memory.memory = /** @type {WebAssembly.Memory} */ (exports.memory);
      table = /** @type {WebAssembly.Table} */ (exports.__indirect_function_table);
    },
    memory,
    /** Python is interrupted then. @param {number} time */
    interruptAt(time) {
      deadline = time;
    },
  };

  /** @param {string} name */
  function functionOf(name) {
    if (Object.hasOwn(plain, name)) return Reflect.get(plain, name);
    const call = Object.hasOwn(calls, name) ? Reflect.get(calls, name) : undefined;
    const isSystemCall = name.startsWith("__syscall_");
    if (call !== undefined) return numbered(call, /^(__syscall|_m.*_js|_emsc)/.test(name) ? -1 : 1);
    if (!isSystemCall) return () => end(name);
    return numbered(() => fail(sockets.split(" ").includes(name.slice("__syscall_".length)) ? "EACCES" : "ENOSYS"), -1);
  }
}

/**
 * @param {(...numbers: number[]) => number} call
 * @param {1 | -1} sign of an error
 */
function numbered(call, sign) {
  return (/** @type {(number | bigint)[]} */ ...values) => {
    try {
      return call(...values.map(Number));
    } catch (error) {
      if (error instanceof Failure) return sign * error.code;
      throw error;
    }
  };
}

/**
 * @param {ConstructorParameters<typeof Failure>[0]} name
 * @returns {never}
 */
function fail(name) {
  throw new Failure(name);
}

/**
 * @param {string} name
 * @returns {never}
 */
function end(name) {
  throw new Ended(name);
}
