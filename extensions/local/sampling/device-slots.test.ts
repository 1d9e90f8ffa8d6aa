import { afterAll, beforeAll, expect, test } from "vitest";
import { DeviceMemory } from "../graph/device-memory.ts";
import { DeviceTensor } from "../machine/native/tensor.ts";
import { DeviceSlotMemory, type DeviceSlots, onDevice } from "./device-slots.ts";
import { hostMemory } from "./kv-cache.ts";

/** The processor's memory, as a device's: its provider has tensors and bindings of its own too. */
const shape = { layers: 2, kvHeads: 2, headDim: 3 };
/** Bytes of a token's keys and values, in all layers. */
const ofToken = 4 * 2 * 2 * 2 * 3;

let memory: DeviceSlotMemory;
let device: DeviceMemory;
const moved: number[] = [];
beforeAll(async () => {
  device = await DeviceMemory.of("cpu");
  memory = await DeviceSlotMemory.open(shape, "cpu", ({ numbers }) => moved.push(numbers));
});
afterAll(() => memory.close());

/** The entry of a token in a tensor of a layer, keys first: names all three. */
const entry = (token: number, tensor: number, head: number, i: number) => 1000 * token + 100 * tensor + 10 * head + i;
const numbersOf = (tokens: readonly number[], tensor: number) =>
  Array.from({ length: shape.kvHeads }, (_, head) =>
    tokens.flatMap((token) => Array.from({ length: shape.headDim }, (_, i) => entry(token, tensor, head, i))),
  ).flat();

/** What a run over prompts made of rows of as many tokens. */
async function made(rows: readonly (readonly number[])[]) {
  const [first = []] = rows;
  const entries = memory.scratch("new", [rows.length, shape.kvHeads, 1, first.length, shape.headDim]);
  const tensors = [...entries.keys, ...entries.values];
  for (const [t, tensor] of tensors.entries())
    if (tensor instanceof DeviceTensor) await device.write(tensor, Float32Array.from(rows.flatMap((row) => numbersOf(row, t))));
  return { ...entries, chunk: first.length };
}

async function append(slots: DeviceSlots, slot: number, length: number, tokens: readonly number[]) {
  await slots.reserve(slot + 1, length + tokens.length);
  await slots.append([{ slot, length, row: 0, count: tokens.length }], await made([tokens]));
}

/** The first tokens of some slots, tensor by tensor. */
async function held(cache: DeviceSlots, slots: readonly number[], tokens: number): Promise<number[][]> {
  const { keys, values } = await memory.gather(
    slots.map((slot) => ({ cache, slot })),
    tokens,
  );
  const read = async (tensor: Float32Array | DeviceTensor) =>
    tensor instanceof DeviceTensor ? [...(await device.read(tensor, new Float32Array(tensor.bytes / 4)))] : [...tensor];
  return Promise.all([...keys, ...values].map(read));
}
const expected = (...rows: readonly (readonly number[])[]) =>
  Array.from({ length: 4 }, (_, tensor) => rows.flatMap((row) => numbersOf(row, tensor)));

test("slots hold what is appended, copied, taken and put, in the order asked for", async () => {
  const slots = memory.newSlots();
  await slots.reserve(2, 3);
  await slots.append(
    [
      { slot: 0, length: 0, row: 1, count: 3 },
      { slot: 1, length: 0, row: 0, count: 2 },
    ],
    await made([
      [7, 8, 99],
      [1, 2, 3],
    ]),
  );
  await append(slots, 1, 2, [9]);
  expect(await held(slots, [1, 0], 3)).toEqual(expected([7, 8, 9], [1, 2, 3]));
  const segment = slots.take(0, [1, 2, 3], 1);
  expect([segment.tokens, segment.keys, segment.values, segment.places?.bytes]).toEqual([[2, 3], [], [], 2 * ofToken]);
  await slots.put(1, 1, segment, 2);
  await slots.copy(1, 0, 2);
  await slots.copy(0, 0, 3); // to itself, and nothing: no copy
  await slots.copy(1, 0, 0);
  expect(await held(slots, [0, 1], 3)).toEqual(expected([7, 2, 3], [7, 2, 3]));
  const others = memory.newSlots();
  await others.reserve(1, 3);
  await others.copyFrom(slots, 1, 0, 3);
  slots.clear();
  expect(await held(others, [0], 3)).toEqual(expected([7, 2, 3]));
  // Of a segment that was cut, a part: its places are free once it is given back.
  const part = segment.places?.part(1, 2);
  expect([part?.at.length, part?.bytes]).toEqual([1, ofToken]);
  await others.put(0, 3, { tokens: [3], keys: [], values: [], places: part }, 1);
  expect(await held(others, [0], 4)).toEqual(expected([7, 2, 3, 3]));
  segment.places?.free();
  expect(memory.store.entries).toBeUndefined();
  others.clear();
  memory.rest();
});

test("slots and tokens grow and shrink in steps, what they hold stays, and each move is said", async () => {
  const slots = memory.newSlots();
  const sizes = () => [slots.slots, slots.capacity, slots.bytes / ofToken];
  moved.length = 0;
  expect(sizes()).toEqual([0, 0, 0]);
  await append(slots, 0, 0, [1, 2]);
  expect(sizes()).toEqual([1, 64, 64]);
  await slots.reserve(3, 2);
  expect(sizes()).toEqual([4, 64, 256]);
  await slots.reserve(2, 65);
  expect(sizes()).toEqual([4, 128, 512]);
  await slots.reserve(4, 128); // as there is
  expect(moved).toEqual([64, 256].map((tokens) => tokens * 6));
  await slots.shrink(2); // half: that is not worth a copy
  expect(sizes()).toEqual([4, 128, 512]);
  await slots.shrink(1);
  expect(sizes()).toEqual([1, 128, 128]);
  await slots.shrink(0);
  expect(slots.slots).toBe(1);
  await slots.reserve(5, 1);
  await slots.fit(8);
  expect(slots.slots).toBe(8);
  await slots.fit(3);
  expect(sizes()).toEqual([4, 128, 512]);
  expect(await held(slots, [0], 2)).toEqual(expected([1, 2]));
  await slots.fit(0);
  expect([sizes(), slots.entries]).toEqual([[0, 0, 0], undefined]);
  memory.rest();
});

test("the store has places for 256 tokens, then twice as many or as are asked for, and none once all are given back", async () => {
  const slots = memory.newSlots();
  await append(slots, 0, 0, [1, 2, 3]);
  const first = slots.take(0, [1, 2, 3], 0);
  const sizeOf = () => (memory.store.entries?.bytes ?? 0) / ofToken;
  expect([sizeOf(), [...(first.places?.at ?? [])]]).toEqual([256, [0, 1, 2]]);
  await slots.reserve(1, 300);
  const many = Array.from({ length: 300 }, (_, i) => i);
  const second = slots.take(0, many, 0);
  expect(sizeOf()).toBe(556);
  expect([second.places?.at[0], second.places?.at.length]).toEqual([256, 300]);
  const third = slots.take(0, many.slice(0, 254), 0);
  expect(sizeOf()).toBe(2 * 556);
  await slots.put(0, 0, first, 3);
  expect(await held(slots, [0], 3)).toEqual(expected([1, 2, 3]));
  for (const { places } of [first, second]) places?.free();
  expect(sizeOf()).toBe(2 * 556);
  third.places?.free();
  expect(sizeOf()).toBe(0);
  slots.clear();
  memory.rest();
});

test("what is in the processor's memory does not mix with what is on a device", async () => {
  const [here, there] = [hostMemory(shape).newSlots(), memory.newSlots()];
  expect(() => onDevice(here)).toThrow("slots that are not on the device");
  await there.reserve(1, 1);
  const arrays = { keys: [], values: [] };
  await expect(there.append([{ slot: 0, length: 0, row: 0, count: 1 }], { chunk: 1, ...arrays })).rejects.toThrow(
    "entries that are not on the device",
  );
  await expect(there.put(0, 0, { tokens: [1], ...arrays }, 1)).rejects.toThrow("a segment that is not on the device");
  await expect(memory.newSlots().copy(0, 1, 1)).rejects.toThrow("a slot of no memory");
  expect(() => hostMemory(shape).view({ cache: there, slot: 0 }, 1)).toThrow("slots that are on a device");
  await expect(here.copyFrom(there, 0, 0, 1)).rejects.toThrow("slots that are on a device");
  expect(memory.view()).toBeUndefined();
  there.clear();
});

test("memory for runs over prompts grows to powers of two, and is kept until it rests", () => {
  const numbers = (use: "cached" | "new", tokens: number) => memory.scratch(use, [1, 2, 1, tokens, 3]).device?.numbers;
  const first = memory.scratch("new", [1, 2, 1, 3, 3]).device;
  expect([first?.numbers, numbers("new", 5), numbers("new", 6), numbers("cached", 1)]).toEqual([32, 32, 64, 8]);
  expect(memory.scratch("new", [1, 2, 1, 1, 3]).device?.numbers).toBe(64);
  const { keys, values } = memory.scratch("new", [1, 2, 1, 1, 3]);
  expect([keys.length, values.length]).toEqual([2, 2]);
  memory.rest();
  expect(numbers("new", 3)).toBe(32);
  memory.rest();
});
