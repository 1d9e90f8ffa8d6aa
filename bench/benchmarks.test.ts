import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeBenchmarks, meets } from "./benchmarks.ts";

const benchmarks = makeBenchmarks({ folder: "", officeModel: "", threads: 1 });

test("every entry speaks of sides that its benchmark has, whose programs are there, and has a name of its own", () => {
  for (const { sides, entries, prepare } of benchmarks) {
    for (const { ours, peer } of entries)
      for (const source of [ours, ...(peer === undefined ? [] : [peer])]) expect(Object.keys(sides)).toContain(source.side);
    for (const { script } of [...Object.values(sides), ...prepare])
      expect(existsSync(join(import.meta.dirname, script)), script).toBe(true);
  }
  const names = benchmarks.flatMap(({ entries }) => entries.map(({ name }) => name));
  expect(new Set(names).size).toBe(names.length);
});

test("targets are met at their bound", () => {
  expect([0.79, 0.8, 0.81].map((value) => meets({ atLeast: 0.8 }, value))).toEqual([false, true, true]);
  expect([0.9, 1, 1.1].map((value) => meets({ atMost: 1 }, value))).toEqual([true, true, false]);
});
