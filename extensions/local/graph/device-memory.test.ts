import { expect, test } from "vitest";
import { type DeviceTensor, HostTensor } from "../machine/native/tensor.ts";
import { DeviceEntries, EntryCopies } from "./device-entries.ts";
import { DeviceMemory } from "./device-memory.ts";

/** The processor's memory, as a device's: its provider has tensors and bindings of its own too. */
const memory = await DeviceMemory.of("cpu");
const numbersOf = async (tensor: DeviceTensor) => [...(await memory.read(tensor, new Float32Array(tensor.bytes / 4)))];
const upload = (...numbers: number[]) => memory.upload({ data: Float32Array.from(numbers), shape: [numbers.length] });

test("a device's memory is opened once", async () => {
  expect(await DeviceMemory.of("cpu")).toBe(memory);
});

test("numbers of each type and shape cross, and are copied there", async () => {
  const kept = await memory.upload({ data: Int8Array.of(1, -2, 3, -4), shape: [2, 2] });
  expect([kept.type, kept.dims, kept.bytes]).toEqual(["int8", [2, 2], 4]);
  expect(await memory.read(kept, new Int8Array(4))).toEqual(Int8Array.of(1, -2, 3, -4));
  await memory.write(kept, Int8Array.of(5, 6, 7, 8));
  expect(await memory.read(kept, new Int8Array(4))).toEqual(Int8Array.of(5, 6, 7, 8));
  const [from, to] = [await upload(1, 2, 3), memory.allocate([3])];
  await memory.copy(from, to);
  expect(await numbersOf(to)).toEqual([1, 2, 3]);
  const matrix = await memory.upload({ data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2] });
  expect(await memory.rows(matrix, Int32Array.of(2, 0, 2), new Float32Array(6))).toEqual(Float32Array.of(5, 6, 1, 2, 5, 6));
  for (const tensor of [kept, from, to, matrix]) tensor.dispose();
});

test("a prepared write reads its array each time, and a prepared read fills its own", async () => {
  const tensor = await upload(0, 0);
  const [from, into] = [Float32Array.of(1, 2), new Float32Array(2)];
  const [up, down] = [await memory.writer(tensor, from), await memory.reader(tensor, into)];
  up.run();
  from.set([3, 4]);
  down.run();
  expect(into).toEqual(Float32Array.of(1, 2));
  up.run();
  down.run();
  expect(into).toEqual(Float32Array.of(3, 4));
  for (const each of [up, down]) each.release();
  tensor.dispose();
});

test("a constant is copied once, until it is forgotten", async () => {
  const value = { data: Float32Array.of(1, 2), shape: [2] };
  const first = await memory.constant(value);
  value.data[0] = 9;
  expect(await memory.constant(value)).toBe(first);
  expect(await numbersOf(first)).toEqual([1, 2]);
  await memory.forget(value.data);
  expect(() => first.value).toThrow("a device tensor that was disposed of");
  expect(await numbersOf(await memory.constant(value))).toEqual([9, 2]);
  await memory.forget(value.data);
  await memory.forget(new Float32Array(1)); // of nothing
});

/** Two tensors in each of the entries. */
const copies = await EntryCopies.open("cpu", 2);
const line = { slot: 4, offsets: Int32Array.of(0, 2), token: 1 };
const held = async (entries: DeviceEntries) => Promise.all(entries.view([entries.numbers]).map(numbersOf));

async function filled(first: number): Promise<DeviceEntries> {
  const entries = copies.allocate(8);
  for (const [t, tensor] of entries.view([8]).entries())
    await memory.write(
      tensor,
      Float32Array.from({ length: 8 }, (_, i) => first + 100 * t + i),
    );
  return entries;
}

test("entries begin as zeros, and tokens are copied from layout to layout in all of their tensors at once", async () => {
  const [from, to] = [await filled(1), copies.allocate(8)];
  expect([to.bytes, to.numbers, await held(to)]).toEqual([2 * 8 * 4, 8, [Array(8).fill(0), Array(8).fill(0)]]);
  // Of slot 1, tokens 0 and 1, each of two numbers two apart, to tokens 1 and 0 of slot 0.
  copies.copy(from, line, to, line, [{ fromSlot: 1, toSlot: 0, from: [0, 1], to: [1, 0] }]);
  expect(await held(to)).toEqual([
    [6, 5, 8, 7, 0, 0, 0, 0],
    [106, 105, 108, 107, 0, 0, 0, 0],
  ]);
  // To another layout: numbers of a token lie side by side.
  const lines = { slot: 4, offsets: Int32Array.of(0, 1), token: 2 };
  copies.copy(from, line, to, lines, [
    { fromSlot: 0, toSlot: 1, from: [0], to: [1] },
    { fromSlot: 1, toSlot: 0, from: [1], to: [0] },
  ]);
  expect((await held(to))[0]).toEqual([6, 8, 8, 7, 0, 0, 1, 3]);
  copies.copy(from, line, to, line, []);
  copies.copy(from, line, to, line, [{ fromSlot: 0, toSlot: 0, from: [], to: [] }]);
  expect((await held(to))[0]).toEqual([6, 8, 8, 7, 0, 0, 1, 3]);
  copies.dispose(from);
  copies.dispose(to);
});

test("of many copies and views the oldest are prepared again", async () => {
  const from = await filled(1);
  const targets = Array.from({ length: 70 }, () => copies.allocate(8));
  const move = [{ fromSlot: 0, toSlot: 1, from: [0], to: [1] }];
  for (const to of [...targets, ...targets.slice(0, 3)]) copies.copy(from, line, to, line, move);
  for (const to of targets) expect((await held(to))[0]).toEqual([0, 0, 0, 0, 0, 1, 0, 3]);
  const [to] = targets;
  if (to === undefined) expect.unreachable();
  const views = Array.from({ length: 40 }, (_, i) => to.view([1, i + 1 > 8 ? 8 : i + 1, ...Array(i).fill(1)]));
  expect(to.view([1, 1])).not.toBe(views[0]); // it was disposed of in between
  expect(to.view([1, 1])).toBe(to.view([1, 1]));
  for (const each of [from, ...targets]) copies.dispose(each);
  await copies.close();
});

test("entries have the bytes of their tensors", () => {
  const tensor = memory.allocate([6]);
  expect(new DeviceEntries([tensor, tensor], 6).bytes).toBe(48);
  tensor.dispose();
  expect(new HostTensor("int64", BigInt64Array.of(1n), [1]).dims).toEqual([1]);
});
