import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Failure } from "./files.mjs";
import { createSystem, Ended } from "./system.mjs";

/*
 * The functions that Python's WebAssembly can call are the only way out of it. Each is called here as code could call it that rules the
 * interpreter's memory: in any order, with any numbers, on any bytes.
 */

const pyodide = createRequire(import.meta.url).resolve("pyodide/pyodide.asm.wasm");
const module = new WebAssembly.Module(readFileSync(pyodide));
const imported = WebAssembly.Module.imports(module).filter(({ kind }) => kind === "function");
const memoryBytes = 16 * 65_536;
const steps = Number(process.env.RETROGRADE_SYSTEM_CALLS ?? 200);

function fresh() {
  const printed = { bytes: 0 };
  const print = (bytes: Uint8Array) => {
    printed.bytes += bytes.length;
  };
  const surroundings = {
    memoryBytes: 32 * 65_536,
    library: new Uint8Array(1000),
    variables: ["A=b"],
    output: print,
    errors: print,
  };
  const system = createSystem(module, surroundings);
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 64 });
  system.attach({ memory, __indirect_function_table: new WebAssembly.Table({ element: "anyfunc", initial: 10 }) });
  return {
    call: (owner: string, name: string) => system.imports[owner][name] as (...numbers: unknown[]) => unknown,
    memory,
    printed,
  };
}

/** Places with paths and lists of buffers, and numbers that are edges of something. */
const texts = [
  "/",
  "a",
  "../a",
  "/tmp/b/",
  "/dev/stdout",
  "/lib/python314.zip",
  "loop",
  "/tmp/../tmp/./c",
  "",
  "x".repeat(300),
  "a/b/c",
];
const number = fc.oneof(
  fc.integer({ min: 0, max: 12 }).map((i) => i * 512),
  fc.integer({ min: -3, max: 300 }),
  fc.constantFrom(-100, 64, 66, 512, 577, 1024, 65_536, 0x1000, 2 ** 31 - 1, -(2 ** 31), memoryBytes, memoryBytes - 4, 280, 5600),
  fc.integer(),
);
const call = fc.tuple(fc.integer({ min: 0, max: imported.length - 1 }), fc.array(number, { minLength: 7, maxLength: 7 }));

test("no function of the system gives a JavaScript object or breaks, whatever it is called with", () => {
  fc.assert(
    fc.property(fc.array(call, { maxLength: 150 }), fc.uint8Array({ minLength: 64, maxLength: 64 }), (calls, noise) => {
      const { call, memory } = fresh();
      const bytes = new Uint8Array(memory.buffer);
      for (const [i, text] of texts.entries()) bytes.set(new TextEncoder().encode(`${text}\0`), 512 * (i + 1));
      // Lists of buffers, and what a call may read as times or as records.
      bytes.set(new Uint8Array(new Uint32Array([512, 100, 1024, 50, memoryBytes - 8, 100, 0, 2 ** 32 - 1]).buffer), 16);
      bytes.set(noise, 128);
      for (const [index, numbers] of calls) {
        const { module: owner, name } = imported[index];
        const given = /time_js|timegm_js|mktime_js/.test(name) ? [BigInt(numbers[0]), ...numbers.slice(1)] : numbers;
        try {
          const result = call(owner, name)(...(/^_(timegm|mktime)_js$/.test(name) ? numbers : given));
          expect(
            ["number", "bigint", "undefined"].includes(typeof result) || result === null,
            `${name} gave ${typeof result}`,
          ).toBe(true);
        } catch (error) {
          // What is not there ends the interpreter, as do an address outside of its memory and a place in the table without a function.
          const isEmptyPlace = /Trampoline|sighandler/.test(name) && (error instanceof TypeError || error instanceof RangeError);
          if (!(error instanceof Ended || error instanceof Failure || isEmptyPlace)) throw error;
        }
      }
      expect(memory.buffer.byteLength).toBeLessThanOrEqual(32 * 65_536);
    }),
    { numRuns: steps, seed: 26 },
  );
});

test("what links Python to JavaScript elsewhere is not there", () => {
  const { call } = fresh();
  const links = imported.filter(({ name }) => /Js|js2python|pyproxy|python2js|ffi_|dlopen|dlsym|asm_const/.test(name));
  expect(links.length).toBeGreaterThan(80);
  for (const { module: owner, name } of links) expect(() => call(owner, name)(1, 2, 3), name).toThrow(Ended);
});
