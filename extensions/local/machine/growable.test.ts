import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { writeAtomically } from "./atomic-file.ts";
import { GrowableFloats } from "./growable.ts";

const folder = mkdtempSync(join(tmpdir(), "growable-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("numbers grow and shrink in place: those that still have a place stay, further ones are 0", () => {
  const floats = new GrowableFloats();
  expect(floats.array.length).toBe(0);
  floats.resize(3);
  floats.array.set([1, 2, 3]);
  const { buffer } = floats.array;
  floats.resize(5);
  expect([floats.array, floats.array.buffer === buffer]).toEqual([Float32Array.of(1, 2, 3, 0, 0), true]);
  floats.resize(2);
  floats.resize(3);
  expect(floats.array).toEqual(Float32Array.of(1, 2, 0));
  expect(buffer.byteLength).toBe(12);
});

test("the first numbers grow only where there are fewer", () => {
  const floats = new GrowableFloats();
  floats.first(4).set([1, 2, 3, 4]);
  expect(floats.first(2)).toEqual(Float32Array.of(1, 2));
  expect(floats.array.length).toBe(4);
  expect(floats.first(4)).toEqual(Float32Array.of(1, 2, 3, 4));
  expect([floats.first(5).length, floats.array.length]).toEqual([5, 5]);
});

test("a model's file is written of its pieces, and where it cannot be, that is said", async () => {
  const file = join(folder, "model");
  await writeAtomically(file, [Buffer.from("a"), Buffer.from("bc")]);
  expect(readFileSync(file, "utf8")).toBe("abc");
  const broken = function* () {
    yield Buffer.from("d");
    throw new Error("no space left on device");
  };
  await expect(writeAtomically(file, broken())).rejects.toThrow(
    `${file} is "not written (no space left on device)". Free disk space or choose another folder.`,
  );
  expect(readFileSync(file, "utf8")).toBe("abc");
});
