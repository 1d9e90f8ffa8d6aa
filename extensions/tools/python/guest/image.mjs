// @ts-check
/**
 * What every interpreter starts from, in one piece that a process reads from a file descriptor: Python's WebAssembly with the few exports that are
 * used, the standard library, and the snapshot of a Python that has started. It is made once in a program, by a process that runs no other code.
 */
import { readFileSync, readSync } from "node:fs";
import { startInterpreter, used } from "./instance.mjs";
import { runner } from "./runner.mjs";

/** @typedef {{ module: WebAssembly.Module, library: Uint8Array, snapshot: import("./instance.mjs").Snapshot }} Image */

/** The environment variables of Python code. */
const variables = ["HOME=/home/pyodide", "LANG=C.UTF-8", "PATH=/", "PWD=/home/pyodide", "TZ=UTC", "USER=python"];

/** @param {string} folder the one of the package pyodide */
export function makeImage(folder) {
  const [whole, library] = [readFileSync(`${folder}/pyodide.asm.wasm`), readFileSync(`${folder}/python_stdlib.zip`)];
  const surroundings = { memoryBytes: 2 ** 30, library, variables, output: fail, errors: fail };
  const { pages, ...rest } = startInterpreter(new WebAssembly.Module(whole), surroundings, runner).snapshot();
  const parts = [withExports(whole, used), library, ...pages.map(([, bytes]) => bytes)];
  const head = Buffer.from(
    JSON.stringify({ ...rest, sizes: parts.map(({ length }) => length), places: pages.map(([at]) => at) }),
  );
  const size = Buffer.alloc(4);
  size.writeUInt32LE(head.length);
  return Buffer.concat([size, head, ...parts]);
}

/**
 * @param {number} fd
 * @returns {Image}
 */
export function readImage(fd) {
  let at = 0;
  const take = (/** @type {number} */ size) => {
    const bytes = Buffer.allocUnsafeSlow(size);
    for (let done = 0; done < size; ) {
      const count = readSync(fd, bytes, done, size - done, at + done);
      if (count === 0) throw new Error("the image is too short");
      done += count;
    }
    at += size;
    return bytes;
  };
  const { sizes, places, ...rest } = JSON.parse(take(take(4).readUInt32LE()).toString());
  const module = new WebAssembly.Module(take(sizes[0]));
  const library = take(sizes[1]);
  /** @type {readonly number[]} */
  const starts = places;
  return { module, library, snapshot: { ...rest, pages: starts.map((place, i) => [place, take(sizes[2 + i])]) } };
}

/** Python says something while it starts: only that it cannot. @param {Uint8Array} bytes */
function fail(bytes) {
  process.stderr.write(bytes);
}

const exportSection = 7;

/**
 * The same WebAssembly with these exports only, which makes an instance in a fifth of the time: Python has 8,560.
 * @param {Buffer} wasm
 * @param {ReadonlySet<string>} names
 */
function withExports(wasm, names) {
  const kept = [wasm.subarray(0, 8)];
  for (let at = 8; at < wasm.length; ) {
    const [length, body] = leb(wasm, at + 1);
    const end = body + length;
    if (wasm[at] === exportSection) {
      const entries = exportsOf(wasm, body).filter(({ name }) => names.has(name));
      const section = Buffer.concat([number(entries.length), ...entries.map(({ bytes }) => bytes)]);
      kept.push(Buffer.of(exportSection), number(section.length), section);
    } else kept.push(wasm.subarray(at, end));
    at = end;
  }
  return Buffer.concat(kept);
}

/**
 * @param {Buffer} wasm
 * @param {number} section
 */
function exportsOf(wasm, section) {
  const [count, first] = leb(wasm, section);
  let at = first;
  return Array.from({ length: count }, () => {
    const [length, name] = leb(wasm, at);
    const [, end] = leb(wasm, name + length + 1);
    const entry = { name: wasm.toString("utf8", name, name + length), bytes: wasm.subarray(at, end) };
    at = end;
    return entry;
  });
}

/**
 * A number of WebAssembly's, and where it ends.
 * @param {Buffer} bytes
 * @param {number} at
 */
function leb(bytes, at) {
  let [value, end] = [0, at];
  for (let shift = 0; ; shift += 7) {
    const byte = bytes.readUInt8(end++);
    value += (byte & 127) * 2 ** shift;
    if (byte < 128) return /** @type {const} */ ([value, end]);
  }
}

/** @param {number} value */
function number(value) {
  const bytes = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest & 127) | 128);
  }
}
