import { type FileHandle, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ModelError } from "../../../src/core/errors.ts";
import { readInto, readSafetensors, readWeights, type Tensor, writeSafetensors } from "./safetensors.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "safetensors-"));
});
afterAll(() => rm(folder, { recursive: true }));

const twoTensors = new Map<string, Tensor>([
  ["first", { shape: [2, 3], data: Float32Array.of(1, -2, 0.5, 1e-30, 3e30, 1 / 3) }],
  ["second", { shape: [2], data: Float32Array.of(7, 8) }],
]);

test("float32 tensors are read back as they were written", async () => {
  const file = join(folder, "round.safetensors");
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string({ minLength: 1 }), fc.float32Array({ maxLength: 40 })), async (arrays) => {
      const tensors = new Map(
        Object.entries(arrays)
          .filter(([name]) => name !== "__metadata__")
          .map(([name, data]) => [name, { shape: [data.length], data }]),
      );
      await writeSafetensors(file, tensors, { dtype: "float32" });
      expect(await readSafetensors(file)).toEqual(tensors);
    }),
    { numRuns: 50 },
  );
});

test("a tensor may have any name", async () => {
  const file = join(folder, "names.safetensors");
  const tensors = new Map<string, Tensor>([["__proto__", { shape: [1], data: Float32Array.of(7) }]]);
  await writeSafetensors(file, tensors, { dtype: "float32" });
  expect(await readSafetensors(file)).toEqual(tensors);
});

test.each([
  ["bfloat16", 2 ** -8],
  ["float16", 2 ** -11],
] as const)("%s keeps values to half a unit of its last place", async (dtype, relative) => {
  const file = join(folder, `${dtype}.safetensors`);
  const data = Float32Array.from({ length: 1000 }, (_, i) => Math.sin(i + 1) * 10);
  await writeSafetensors(file, new Map([["x", { shape: [10, 100], data }]]), { dtype });
  const { shape, data: read } = (await readSafetensors(file)).get("x") ?? expect.unreachable();
  expect(shape).toEqual([10, 100]);
  for (const [i, value] of data.entries()) expect(Math.abs(read[i] - value)).toBeLessThanOrEqual(Math.abs(value) * relative);
  expect((await readFile(file)).length).toBeLessThan(2000 + 200); // 2 bytes each and the header
});

test("weights of several shards are read as one", async () => {
  const sharded = await mkdtemp(join(folder, "sharded-"));
  const weightMap: Record<string, string> = {};
  for (const [name, tensor] of twoTensors) {
    weightMap[name] = `model-${name}.safetensors`;
    await writeSafetensors(join(sharded, weightMap[name]), new Map([[name, tensor]]), { dtype: "float32" });
  }
  const index = join(sharded, "model.safetensors.index.json");
  await writeFile(index, JSON.stringify({ metadata: { total_size: 32 }, weight_map: weightMap }));
  expect(await readWeights(sharded)).toEqual(twoTensors);

  await writeFile(index, JSON.stringify({ weight_map: { ...weightMap, third: weightMap.first } }));
  await expect(readWeights(sharded)).rejects.toThrow(/tensor third of .*model-first.safetensors is missing/);
  await writeFile(index, JSON.stringify({ weight_map: { first: "../elsewhere.safetensors" } }));
  await expect(readWeights(sharded)).rejects.toThrow(/elsewhere.safetensors"; expected names of files in the same folder/);

  const twice = new Map(
    [...twoTensors].slice(0, 1).map(([name, { shape, data }]) => [name, { shape, data: data.map((x) => x + 1) }]),
  );
  await writeSafetensors(join(sharded, "model-later.safetensors"), twice, { dtype: "float32" });
  await writeFile(index, JSON.stringify({ weight_map: { third: "model-later.safetensors", ...weightMap } }));
  await expect(readWeights(sharded)).rejects.toThrow("tensor third");
  await writeSafetensors(
    join(sharded, "model-later.safetensors"),
    new Map([...twice, ["third", { shape: [0], data: new Float32Array() }]]),
    { dtype: "float32" },
  );
  expect((await readWeights(sharded)).get("first")).toEqual(twice.get("first")); // as in transformers, the last by name

  const newer = new Map([["first", { shape: [1], data: Float32Array.of(7) }]]);
  await writeSafetensors(join(sharded, "model.safetensors"), newer, { dtype: "float32" });
  expect(await readWeights(sharded)).toEqual(newer);
});

test("a file cut off at any byte is refused by its name", async () => {
  const file = join(folder, "whole.safetensors");
  await writeSafetensors(file, twoTensors, { dtype: "float32" });
  const whole = await readFile(file);
  const cut = join(folder, "cut.safetensors");
  for (let length = 0; length < whole.length; length += 3) {
    await writeFile(cut, whole.subarray(0, length));
    await expect(readSafetensors(cut)).rejects.toThrow(ModelError);
    await expect(readSafetensors(cut)).rejects.toThrow(cut);
  }
  await writeFile(cut, whole.subarray(0, whole.length - 1));
  await expect(readSafetensors(cut)).rejects.toThrow(
    `size of ${cut} is ${whole.length - 1}; expected ${whole.length} bytes, from its header. It is truncated in tensor second. Copy or download the file again.`,
  );
  await writeFile(cut, whole.subarray(0, whole.length - 12));
  await expect(readSafetensors(cut)).rejects.toThrow("truncated in tensor first");
});

test("inconsistent headers are refused by tensor, with what was expected", async () => {
  const entry = (dtype: string, shape: number[], start: number, end: number) => ({ dtype, shape, data_offsets: [start, end] });
  const cases: [unknown, RegExp][] = [
    [{ a: entry("F32", [2], 0, 4) }, /byte range of tensor a in .* is \[0,4\]; expected \[0,8\] for F32 of shape \[2\]/],
    [{ a: entry("F32", [1], 0, 4), b: entry("F32", [1], 0, 4) }, /byte range of tensor b .*expected \[4,8\]/],
    [{ a: entry("F32", [1], 0, 4), b: entry("F32", [1], 8, 12) }, /byte range of tensor b .*expected \[4,8\]/],
    [{ a: entry("I8", [4], 0, 4) }, /type of tensor a in .* is "I8"; expected "F32", "F16" or "BF16"/],
    [{ a: entry("F32", [-1], 0, 4) }, /header of .* is "malformed"/],
    [["no object"], /header of .* is "malformed"/],
    [{ a: entry("F32", [1], 0, 4) }, /size of .* expected \d+ bytes/],
  ];
  const file = join(folder, "bad.safetensors");
  for (const [header, message] of cases) {
    const json = Buffer.from(JSON.stringify(header));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(json.length));
    await writeFile(file, Buffer.concat([length, json, Buffer.alloc(12)]));
    await expect(readSafetensors(file)).rejects.toThrow(message);
    await expect(readSafetensors(file)).rejects.toThrow(ModelError);
  }
});

test("a failed write leaves the old file and no temporary one", async () => {
  const path = await mkdtemp(join(folder, "failed-"));
  const file = join(path, "x.safetensors");
  await writeSafetensors(file, twoTensors, { dtype: "float32" });
  const failing = new Map(twoTensors).set("third", {
    shape: [1],
    get data(): Float32Array {
      throw new Error("no space left on device");
    },
  });
  await expect(writeSafetensors(file, failing, { dtype: "float32" })).rejects.toThrow(/not written \(no space left on device\)/);
  expect(await readSafetensors(file)).toEqual(twoTensors);
  expect(await readdir(path)).toEqual(["x.safetensors"]);
});

test("a file is eight bytes of a length, a header that is filled up to eight, and the numbers", async () => {
  const file = join(folder, "bytes.safetensors");
  await writeSafetensors(file, new Map([["x", { shape: [2], data: Float32Array.of(1, -2) }]]), { dtype: "float32" });
  const bytes = await readFile(file);
  const length = Number(bytes.readBigUInt64LE());
  expect([length % 8, bytes.length]).toEqual([0, 8 + length + 8]);
  const header = '{"__metadata__":{"format":"pt"},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}';
  expect(bytes.subarray(8, 8 + length).toString()).toBe(header.padEnd(length));
  expect(length - header.length).toBeLessThan(8);
  expect([bytes.readFloatLE(8 + length), bytes.readFloatLE(12 + length)]).toEqual([1, -2]);
});

test("types that are not floats, and headers that are too long, are refused with what to do", async () => {
  const file = join(folder, "other.safetensors");
  const write = async (json: string, length = Buffer.byteLength(json), data = 4) => {
    const prefix = Buffer.alloc(8);
    prefix.writeBigUInt64LE(BigInt(length));
    await writeFile(file, Buffer.concat([prefix, Buffer.from(json), Buffer.alloc(data)]));
    return readSafetensors(file);
  };
  const entry = (dtype: string) => JSON.stringify({ a: { dtype, shape: [4], data_offsets: [0, 4] } });
  await expect(write(entry("I8"))).rejects.toThrow(
    `type of tensor a in ${file} is "I8"; expected "F32", "F16" or "BF16". Quantised or integer weights are not supported: use the float version of the model.`,
  );
  await expect(write("{}", 7)).rejects.toThrow(
    `header length of ${file} is 7; expected at most 6, as the file has 14 bytes. It is truncated, or no safetensors file. Copy or download the file again.`,
  );
  const largest = 25 * 2 ** 20;
  await expect(write(" ".repeat(largest + 1))).rejects.toThrow(
    `header length of ${file} is ${largest + 1}; expected at most ${largest} bytes. Copy or download the file again.`,
  );
  await expect(write("{}")).rejects.toThrow(
    `size of ${file} is 14; expected 10 bytes, from its header. Copy or download the file again.`,
  );
  await expect(readSafetensors(join(folder, "none"))).rejects.toThrow(
    /none is "not readable \(.*\)"; expected a safetensors file/,
  );
});

test("tensors that are taken over keep their shapes, and have no numbers here", async () => {
  const file = join(folder, "taken.safetensors");
  await writeSafetensors(file, twoTensors, { dtype: "float32" });
  const seen: unknown[] = [];
  const read = await readSafetensors(file, (name, { data }) => {
    seen.push([name, data.length]);
    return name === "first";
  });
  expect(seen).toEqual([
    ["first", 6],
    ["second", 2],
  ]);
  expect([...read].map(([name, { shape, data }]) => [name, shape, data.length])).toEqual([
    ["first", [2, 3], 0],
    ["second", [2], 2],
  ]);
});

test("a buffer is filled by as many reads as it takes, and a file that ends before it is full is refused", async () => {
  const asked: (readonly number[])[] = [];
  const handleOf = (ends: number) =>
    ({
      read: async (buffer: Uint8Array, offset: number, length: number, position: number) => {
        asked.push([offset, length, position]);
        const bytesRead = Math.max(0, Math.min(2, length, ends - position));
        buffer.fill(position, offset, offset + bytesRead);
        return { bytesRead, buffer };
      },
    }) as unknown as FileHandle;
  const buffer = new Uint8Array(5);
  await readInto(handleOf(100), buffer, 10, "a file");
  expect([...buffer]).toEqual([10, 10, 12, 12, 14]);
  expect(asked).toEqual([
    [0, 5, 10],
    [2, 3, 12],
    [4, 1, 14],
  ]);
  const cut = readInto(handleOf(13), buffer, 10, "a file");
  await expect(cut).rejects.toThrow(ModelError);
  await expect(cut).rejects.toThrow('a file is "cut off while it was read". Copy or download the file again.');
});
