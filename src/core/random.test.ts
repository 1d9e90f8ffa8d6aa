import { expect, test } from "vitest";
import { randomStream, seedOf } from "./random.ts";

test("a stream depends on its seed and its names alone", () => {
  const draws = (seed: number, ...names: (string | number)[]) => {
    const random = randomStream(seed, ...names);
    return [random.uniform(), random.uniform()];
  };
  expect(draws(1, "task", 7)).toEqual(draws(1, "task", 7));
  const all = [
    draws(1, "task", 7),
    draws(2, "task", 7),
    draws(1, "task", 8),
    draws(1, "tasks", 7),
    draws(1),
    draws(1, 7, "task"),
  ];
  expect(new Set(all.flat()).size).toBe(12);
});

/** FNV-1a of "SEED/NAMES" and MurmurHash3's last mixing, once more, in whole numbers of any size. */
function expectedSeed(text: string): number {
  const low = (value: bigint) => value & 0xffffffffn;
  let hash = 0x811c9dc5n;
  for (const letter of text) hash = low((hash ^ BigInt(letter.codePointAt(0) ?? 0)) * 0x01000193n);
  hash = low((hash ^ (hash >> 16n)) * 0x85ebca6bn);
  hash = low((hash ^ (hash >> 13n)) * 0xc2b2ae35n);
  return Number(BigInt.asIntN(32, hash ^ (hash >> 16n)));
}

test.each([
  [1, ["rollout", 3], "1/rollout/3"],
  [-5, [], "-5/"],
  [0, ["é", "😀a"], "0/é/😀a"],
  [0, ["\u{10000}", "\uffff"], "0/\u{10000}/\uffff"],
] as const)("a seed is a hash of %j and %j", (seed, names, text) => {
  expect(seedOf(seed, ...names)).toBe(expectedSeed(text));
});

test("integers, chances, picks and shuffles are uniform", () => {
  const random = randomStream(1, "uniform");
  const draw = <T>(of: () => T) => Array.from({ length: 4000 }, of);
  const share = <T>(values: readonly T[], value: T) => values.filter((each) => each === value).length / values.length;
  const integers = draw(() => random.integer(4));
  expect(new Set(integers)).toEqual(new Set([0, 1, 2, 3]));
  for (const n of [0, 1, 2, 3]) expect(share(integers, n)).toBeCloseTo(1 / 4, 1);
  expect(
    share(
      draw(() => random.chance(0.3)),
      true,
    ),
  ).toBeCloseTo(0.3, 1);
  expect([random.chance(0), random.chance(1)]).toEqual([false, true]);
  const picks = draw(() => random.pick(["a", "b", "c"]));
  for (const letter of ["a", "b", "c"]) expect(share(picks, letter)).toBeCloseTo(1 / 3, 1);
  const uniform = draw(() => random.uniform());
  expect(Math.min(...uniform)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...uniform)).toBeLessThan(1);
  const orders = draw(() => random.shuffle([1, 2, 3]).join(""));
  expect(new Set(orders).size).toBe(6);
  for (const order of new Set(orders)) expect(Math.abs(share(orders, order) - 1 / 6)).toBeLessThan(0.03);
  const items = [1, 2, 3];
  random.shuffle(items);
  expect(items).toEqual([1, 2, 3]); // a copy is shuffled
});

test("normal draws have mean 0, deviation 1 and a normal's shares", () => {
  const random = randomStream(1, "normal");
  const draws = Array.from({ length: 20_000 }, () => random.normal());
  const mean = draws.reduce((sum, x) => sum + x, 0) / draws.length;
  const deviation = Math.sqrt(draws.reduce((sum, x) => sum + (x - mean) ** 2, 0) / draws.length);
  expect(Math.abs(mean)).toBeLessThan(0.03);
  expect(Math.abs(deviation - 1)).toBeLessThan(0.03);
  const within = (limit: number) => draws.filter((x) => Math.abs(x) < limit).length / draws.length;
  expect(Math.abs(within(1) - 0.6827)).toBeLessThan(0.01);
  expect(Math.abs(within(2) - 0.9545)).toBeLessThan(0.01);
});
