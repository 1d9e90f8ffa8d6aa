// @ts-check
import { createSystem } from "./system.mjs";

const pageBytes = 65_536;

/** The exports that are used of an interpreter from a snapshot. */
export const used = new Set(
  [
    "memory",
    "__indirect_function_table",
    "__stack_pointer",
    "emscripten_stack_init",
    "malloc",
    "free",
    "PyErr_Clear",
    "Py_DecRef",
  ].concat(["PyUnicode_DecodeUTF8", "PyUnicode_AsUTF8AndSize", "PyObject_CallOneArg"]),
);

/**
 * A Python that has started: the pages of its memory, its stack's top, and where its function `run` is.
 * @typedef {{ pages: readonly (readonly [at: number, bytes: Uint8Array])[], bytes: number, stack: number, run: number }} Snapshot
 *
 * @typedef {Record<"PyErr_Clear" | "PyInitConfig_Create" | "PyInitConfig_GetError" | "PyInitConfig_SetInt"
 *   | "PyInitConfig_SetStrList" | "PyObject_CallOneArg" | "PyRun_SimpleStringFlags" | "PySys_GetObject" | "PySys_SetObject"
 *   | "PyUnicode_AsUTF8AndSize" | "PyUnicode_DecodeUTF8" | "Py_DecRef" | "Py_IncRef" | "Py_InitializeFromInitConfig"
 *   | "__wasm_call_ctors" | "emscripten_stack_init" | "free" | "malloc", (...numbers: number[]) => number>} Functions
 */

/**
 * An interpreter, from a snapshot or from nothing. Everything that it changes is in `memory` and in its system's files.
 * @param {WebAssembly.Module} module
 * @param {import("./system.mjs").Surroundings} surroundings
 * @param {Snapshot | string} from a snapshot, or Python code that leaves its function `run` in the module `sys`
 */
export function startInterpreter(module, surroundings, from) {
  const system = createSystem(module, surroundings);
  const { exports } = new WebAssembly.Instance(module, system.imports);
  system.attach(exports);
  const c = /** @type {Functions} */ (/** @type {unknown} */ (exports));
  const stack = /** @type {WebAssembly.Global} */ (exports.__stack_pointer);
  const { memory } = system.memory;
  c.emscripten_stack_init();
  const run = typeof from === "string" ? begin(from) : restore(from);

  /** @param {Snapshot} snapshot */
  function restore({ pages, bytes, stack: top, run }) {
    if (bytes > memory.buffer.byteLength) memory.grow((bytes - memory.buffer.byteLength) / pageBytes);
    const into = new Uint8Array(memory.buffer);
    for (const [at, part] of pages) into.set(part, at);
    stack.value = top;
    return run;
  }

  /** @param {string} code */
  function begin(code) {
    c.__wasm_call_ctors();
    const config = c.PyInitConfig_Create();
    const settings = {
      use_environment: 0,
      use_hash_seed: 1,
      hash_seed: 0,
      install_signal_handlers: 1,
      site_import: 1,
      write_bytecode: 0,
    };
    for (const [name, value] of Object.entries(settings))
      c.PyInitConfig_SetInt(config, text(name), /** @type {never} */ (BigInt(value)));
    const paths = c.malloc(4);
    system.memory.writeWord(paths, text("/lib/python314.zip"));
    c.PyInitConfig_SetStrList(config, text("module_search_paths"), 1, paths);
    if (c.Py_InitializeFromInitConfig(config) !== 0) {
      const at = c.malloc(4);
      c.PyInitConfig_GetError(config, at);
      throw new Error(`Python did not start: ${system.memory.text(system.memory.word(at))}`);
    }
    if (c.PyRun_SimpleStringFlags(text(code), 0) !== 0) throw new Error("the runner did not start");
    const run = c.PySys_GetObject(text("run"));
    c.Py_IncRef(run);
    c.PySys_SetObject(text("run"), 0);
    // Python asks for signals from now on.
    system.memory.writeWord(/** @type {WebAssembly.Global} */ (exports.Py_EMSCRIPTEN_SIGNAL_HANDLING).value, 1);
    return run;
  }

  /** A text in the interpreter's memory, with its end. @param {string} value */
  function text(value) {
    return put(new TextEncoder().encode(`${value}\0`));
  }

  /** @param {Uint8Array} bytes */
  function put(bytes) {
    const at = c.malloc(bytes.length);
    system.memory.slice(at, bytes.length).set(bytes);
    return at;
  }

  return {
    memory,
    interruptAt: system.interruptAt,
    /**
     * Calls `run` with a text.
     * @param {string} code
     * @param {number} limit bytes of its answer that are read
     * @returns {string} what it returned, or "" if that is no text
     */
    run(code, limit) {
      const bytes = new TextEncoder().encode(code);
      const at = put(bytes);
      const argument = c.PyUnicode_DecodeUTF8(at, bytes.length, 0);
      c.free(at);
      const result = argument === 0 ? 0 : c.PyObject_CallOneArg(run, argument);
      const length = c.malloc(4);
      const answer = result === 0 ? 0 : c.PyUnicode_AsUTF8AndSize(result, length);
      const shown = answer === 0 ? new Uint8Array(0) : system.memory.slice(answer, Math.min(limit, system.memory.word(length)));
      const shownText = new TextDecoder().decode(shown);
      c.PyErr_Clear();
      c.free(length);
      for (const each of [argument, result]) if (each !== 0) c.Py_DecRef(each);
      return shownText;
    },
    /** @returns {Snapshot} */
    snapshot() {
      const bytes = new Uint8Array(memory.buffer);
      /** @type {[number, Uint8Array][]} */
      const pages = [];
      for (let at = 0; at < bytes.length; at += pageBytes) {
        if (new BigUint64Array(memory.buffer, at, pageBytes / 8).some((word) => word !== 0n))
          pages.push([at, bytes.slice(at, at + pageBytes)]);
      }
      return { pages, bytes: bytes.length, stack: stack.value, run };
    },
  };
}
