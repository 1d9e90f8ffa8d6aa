import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ggufParts, readGguf } from "./file.ts";
import { readTensor } from "./weights.ts";

const folder = mkdtempSync(join(tmpdir(), "gguf-"));
afterAll(() => rmSync(folder, { recursive: true }));

const u32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (value: number | bigint) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
const text = (value: string) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);

interface Written {
  readonly name: string;
  /** As the format has them: the length of a row first. */
  readonly sizes: readonly number[];
  readonly type?: number;
  readonly offset: number;
}

interface Parts {
  readonly magic?: string;
  readonly version?: number;
  readonly entries?: readonly (readonly [key: string, type: number, value: Buffer])[];
  readonly tensors?: readonly Written[];
  readonly alignment?: number;
  readonly data?: Buffer;
}

/** One matrix of two rows of three, a vector and a header of two texts, unless something else is said. */
const matrix = { name: "m", sizes: [3, 2], offset: 0 };
const vector = { name: "v", sizes: [2], offset: 32 };
const numbers = Buffer.concat([
  Buffer.from(Float32Array.of(1, 2, 3, 4, 5, 6).buffer),
  Buffer.alloc(8),
  Buffer.from(Float32Array.of(7, 8).buffer),
]);

let count = 0;
function write({
  magic = "GGUF",
  version = 3,
  entries = [],
  tensors = [matrix, vector],
  alignment = 32,
  data = numbers,
}: Parts = {}): string {
  const header = Buffer.concat([
    ...[Buffer.from(magic), u32(version), u64(tensors.length), u64(entries.length)],
    ...entries.flatMap(([key, type, value]) => [text(key), u32(type), value]),
    ...tensors.flatMap(({ name, sizes, type = 0, offset }) => [
      ...[text(name), u32(sizes.length), ...sizes.map(u64), u32(type), u64(offset)],
    ]),
  ]);
  const file = join(folder, `${count++}.gguf`);
  writeFileSync(file, Buffer.concat([header, Buffer.alloc((alignment - (header.length % alignment)) % alignment), data]));
  return file;
}

test("tensors have their rows first, and lie behind the header at the next multiple of the alignment", async () => {
  for (const alignment of [32, 64, 8]) {
    const file = write({
      alignment,
      entries: alignment === 32 ? [] : [["general.alignment", 4, u32(alignment)]],
      ...(alignment === 64 && { tensors: [matrix] }),
    });
    const { tensors } = await readGguf([file]);
    const m = tensors.get("m") ?? expect.unreachable();
    expect(m).toMatchObject({ name: "m", shape: [2, 3], bytes: 24, file });
    expect(m.start % alignment).toBe(0);
    expect(Array.from(await readTensor(m))).toEqual([1, 2, 3, 4, 5, 6]);
    if (alignment !== 64) expect(Array.from(await readTensor(tensors.get("v") ?? expect.unreachable()))).toEqual([7, 8]);
  }
});

test("every kind of value is read by its width and sign", async () => {
  const b = (length: number, write: (buffer: Buffer) => unknown) => {
    const buffer = Buffer.alloc(length);
    write(buffer);
    return buffer;
  };
  const values: readonly (readonly [number, Buffer, unknown])[] = [
    [0, Buffer.of(200), 200],
    [1, Buffer.of(200), -56],
    [2, b(2, (x) => x.writeUInt16LE(65_000)), 65_000],
    [3, b(2, (x) => x.writeInt16LE(-300)), -300],
    [4, u32(4_000_000_000), 4_000_000_000],
    [5, b(4, (x) => x.writeInt32LE(-5)), -5],
    [6, b(4, (x) => x.writeFloatLE(0.5)), 0.5],
    [7, Buffer.of(0), false],
    [8, text("é"), "é"],
    [9, Buffer.concat([u32(2), u64(2), Buffer.of(1, 0, 2, 1)]), [1, 258]],
    [9, Buffer.concat([u32(8), u64(2), text("a"), text("")]), ["a", ""]],
    [10, u64(2 ** 52), 2 ** 52],
    [11, b(8, (x) => x.writeBigInt64LE(-(2n ** 60n))), -(2n ** 60n)],
    [12, b(8, (x) => x.writeDoubleLE(1e100)), 1e100],
  ];
  const file = write({ entries: values.map(([type, value], i) => [`k${i}`, type, value]) });
  expect([...(await readGguf([file])).metadata.values()]).toEqual(values.map(([, , value]) => value));
});

test.each<readonly [string, Parts, RegExp]>([
  ["other letters", { magic: "GGML" }, /magic number at byte 0 of .* expected 1179993927, the letters GGUF/],
  ["an old version", { version: 1 }, /version at byte 4 of .* is 1; expected 2 or 3/],
  ["a later version", { version: 4 }, /version at byte 4 of .* is 4/],
  [
    "a key that is there twice",
    {
      entries: [
        ["a", 0, Buffer.of(1)],
        ["a", 0, Buffer.of(1)],
      ],
    },
    /key 1 at byte 38 .*not there yet/,
  ],
  ["a long key", { entries: [["k".repeat(257), 0, Buffer.of(1)]] }, /key 0 at byte 24/],
  ["an unknown type", { entries: [["a", 13, Buffer.of(1)]] }, /type of a at byte 33 of .* is 13; expected a number from 0 to 12/],
  ["a long name", { tensors: [{ ...matrix, name: "m".repeat(257) }] }, /name of tensor 0 at byte 24 .*at most 256/],
  ["no axis", { tensors: [{ ...matrix, sizes: [] }] }, /dimensions of m at byte 33 of .* is 0; expected 1 to 4/],
  ["five axes", { tensors: [{ ...matrix, sizes: [1, 1, 1, 1, 1] }] }, /dimensions of m .* is 5; expected 1 to 4/],
  ["no number", { tensors: [{ ...matrix, sizes: [3, 0] }] }, /sizes of m at byte 37 of .* is \[0,3\]/],
  [
    "half a block",
    { tensors: [{ ...matrix, sizes: [33], type: 8 }] },
    /sizes of m .*whole blocks of 32 numbers, as Q8_0 has them/,
  ],
  ["more than the file", { tensors: [{ ...matrix, sizes: [1000] }] }, /sizes of m .*a tensor that fits the file/],
  [
    "an offset between",
    { tensors: [matrix, { ...vector, offset: 33 }] },
    /offset of v at byte .* is 33; expected a multiple of 32/,
  ],
  [
    "bytes that are shared",
    { tensors: [{ ...matrix, sizes: [9] }, vector], data: Buffer.alloc(64) },
    /offset of v .* is 32; expected at least 36/,
  ],
  ["a name twice", { tensors: [matrix, { ...vector, name: "m" }] }, /tensor m in .* is "there twice"/],
  ["the end too early", { data: numbers.subarray(0, 39) }, /offset of v .* 8 bytes before the file's end .*truncated/],
  [
    "no alignment",
    { entries: [["general.alignment", 8, text("32")]] },
    /general.alignment of .* is "32"; expected a multiple of 8/,
  ],
  ["an alignment of 12", { entries: [["general.alignment", 4, u32(12)]] }, /general.alignment of .* is 12/],
  ["an alignment of 0", { entries: [["general.alignment", 4, u32(0)]] }, /general.alignment of .* is 0/],
  ["a huge alignment", { entries: [["general.alignment", 4, u32(2 ** 21)]] }, /general.alignment of .* is 2097152/],
  [
    "a list of lists",
    { entries: [["a", 9, Buffer.concat([u32(9), u64(0)])]] },
    /type of the list a at byte 37 of .* is 9; expected a type of/,
  ],
  [
    "a list longer than the file",
    { entries: [["a", 9, Buffer.concat([u32(4), u64(1000)])]] },
    /length of a at byte 41 of .* is 1000; expected at most 29\./,
  ],
  [
    "a text longer than the file",
    { entries: [["a", 8, u64(1000)]] },
    /length of a at byte 37 of .* is 1000; expected at most 123\./,
  ],
])("%s is refused", async (_, parts, message) => {
  await expect(readGguf([write(parts)])).rejects.toThrow(message);
});

test("parts number themselves, and the first one's metadata counts", async () => {
  const part = (no: number, count: number, tensor: Written) =>
    write({
      entries: [
        ["split.no", 2, Buffer.of(no, 0)],
        ["split.count", 2, Buffer.of(count, 0)],
        ["own", 0, Buffer.of(no)],
      ],
      tensors: [tensor],
    });
  const [first, second] = [part(0, 2, matrix), part(1, 2, { ...vector, offset: 0 })];
  const { metadata, tensors } = await readGguf([first, second]);
  expect([metadata.get("own"), [...tensors.values()].map(({ name, file }) => [name, file])]).toEqual([
    0,
    [
      ["m", first],
      ["v", second],
    ],
  ]);
  for (const wrong of [[second, first], [first], [first, part(1, 3, vector)]])
    await expect(readGguf(wrong)).rejects.toThrow(/split.no and split.count in/);
  expect((await readGguf([part(0, 0, matrix)])).tensors.size).toBe(1);
});

test("names of parts: all of them, and none beyond 999", () => {
  expect(ggufParts("plain.gguf", () => false)).toEqual(["plain.gguf"]);
  expect(ggufParts("a-00001-of-00999.gguf", () => true)).toHaveLength(999);
  for (const count of ["00000", "01000"])
    expect(() => ggufParts(`a-00001-of-${count}.gguf`, () => true)).toThrow(/expected 1 to 999 parts/);
});

test("a part that is missing is named", () => {
  const missing = () => ggufParts("a-00002-of-00003.gguf", (file) => file !== "a-00003-of-00003.gguf");
  expect(missing).toThrow(
    "a-00003-of-00003.gguf is missing; expected part of a-00002-of-00003.gguf. All parts lie in one folder.",
  );
});

test("what is no file, and a header that is cut off, are refused", async () => {
  const nowhere = join(folder, "nowhere.gguf");
  await expect(readGguf([nowhere])).rejects.toThrow(/nowhere.gguf is "not readable \(.*\)"; expected a GGUF file/);
  const whole = readFileSync(write({ entries: [["a", 8, text("a text")]] }));
  for (const [length, message] of [
    [0, /magic number at byte 0 of .* "cut off: the file has 0 bytes"; expected 4 more bytes. It is truncated. Copy or download/],
    [6, /version at byte 4 of .* "cut off: the file has 6 bytes"; expected 4 more bytes/],
    [23, /number of metadata entries at byte 16/],
  ] as const) {
    const cut = join(folder, `cut-${length}.gguf`);
    writeFileSync(cut, whole.subarray(0, length));
    await expect(readGguf([cut])).rejects.toThrow(message);
  }
});

test("texts and lists longer than a window are read whole", async () => {
  const long = "é".repeat(2 ** 18);
  const many = Array.from({ length: 70_000 }, (_, i) => i);
  const list = Buffer.concat([u32(4), u64(many.length), Buffer.from(Uint32Array.from(many).buffer)]);
  const file = write({
    entries: [
      ["text", 8, text(long)],
      ["list", 9, list],
      ["after", 0, Buffer.of(7)],
    ],
  });
  const { metadata } = await readGguf([file]);
  expect([metadata.get("text") === long, metadata.get("list"), metadata.get("after")]).toEqual([true, many, 7]);
});

test("names may have 256 characters", async () => {
  const [key, name] = ["k".repeat(256), "m".repeat(256)];
  const { metadata, tensors } = await readGguf([write({ entries: [[key, 0, Buffer.of(1)]], tensors: [{ ...matrix, name }] })]);
  expect([metadata.get(key), tensors.get(name)?.shape]).toEqual([1, [2, 3]]);
});
