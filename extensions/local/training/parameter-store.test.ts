import { expect, test } from "vitest";
import { ParameterStore } from "./parameter-store.ts";

const shapes = new Map<string, readonly number[]>([
  ["matrix", [2, 3]],
  ["other", [9]],
]);
const arrays = () =>
  new Map([
    ["matrix", Float32Array.of(1, 2, 3, 4, 5, 6)],
    ["vector", Float32Array.of(7)],
  ]);

test("a store has the shapes of its own arrays, and their lengths where none is known", () => {
  const store = ParameterStore.of(arrays(), shapes);
  expect([...store.shapes]).toEqual([
    ["matrix", [2, 3]],
    ["vector", [1]],
  ]);
  expect(store.names).toEqual(["matrix", "vector"]);
  expect(store.lengths).toEqual([
    ["matrix", 6],
    ["vector", 1],
  ]);
  expect([store.bytes, store.length("matrix"), store.provider]).toEqual([28, 6, undefined]);
});

test("arrays are a GPU's only where it computes without another runtime", () => {
  const providerOf = (options: Parameters<typeof ParameterStore.of>[2]) => ParameterStore.of(arrays(), shapes, options).provider;
  expect([providerOf({ provider: "cuda" }), providerOf({ provider: "webgpu" }), providerOf({ provider: "cpu" })]).toEqual([
    ...["cuda", "webgpu", undefined],
  ]);
  expect(providerOf({ provider: "cuda", runtime: {} as never })).toBeUndefined();
});

test("on the processor numbers are the store's own, and a copy's are not", async () => {
  const own = arrays();
  const store = ParameterStore.of(own, shapes);
  expect(await store.host()).toBe(own);
  expect(await store.placed()).toBe(own);
  const [copy, zeros] = [await store.copy(), await store.zeros()];
  expect(zeros.arrays).toEqual(
    new Map([
      ["matrix", new Float32Array(6)],
      ["vector", new Float32Array(1)],
    ]),
  );
  await store.write(new Map([...arrays()].map(([name, data]) => [name, data.map((x) => -x)])));
  expect([own.get("matrix")?.[1], copy.arrays.get("matrix")?.[1]]).toEqual([-2, 2]);
  await store.assign(copy);
  expect(own).toEqual(arrays());
  expect(() => store.memory()).toThrow("the processor has no other memory");
  await store.dispose();
  expect(store.arrays).toBe(own);
});

test("numbers of another size, or that are missing, are refused by name", async () => {
  const store = ParameterStore.of(arrays(), shapes);
  await expect(store.write(new Map([["matrix", new Float32Array(5)]]))).rejects.toThrow("matrix of 5 numbers instead of 6");
  await expect(store.write(new Map([["matrix", new Float32Array(6)]]))).rejects.toThrow(
    "vector of undefined numbers instead of 1",
  );
  store.changed();
  expect(() => store.arrays).toThrow("numbers that only the device has");
});
