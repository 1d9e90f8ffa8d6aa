import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Entry, makeBenchmarks, meets, nowhere } from "./benchmarks.ts";
import { measuredOf, slowOf } from "./measure.ts";

const benchmarks = makeBenchmarks(nowhere);

test("every entry speaks of sides that its benchmark has, whose programs are there, and has a name of its own", () => {
  for (const { sides, entries, prepare } of benchmarks) {
    for (const { ours, peer } of entries)
      for (const side of [ours.side, ...(peer === undefined ? [] : [peer.side, ...(peer.or ?? [])])])
        expect(Object.keys(sides)).toContain(side);
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

test("a ratio is of paired rounds, slow rounds are set aside on both sides, and the best of several peers is the peer", () => {
  const entry: Entry = {
    ...{ name: "speed", unit: "tokens/s", request: "", ours: { side: "ours", of: "speed" } },
    peer: { side: "dynamic", of: "speed", or: ["static"] },
    limit: ({ gflops }) => 2 * gflops,
  };
  const round = (gflops: number, ours: number, dynamic: number, fixed: number) => ({
    request: "",
    rates: { gflops, gigabytes: 10 },
    sides: new Map([
      ["ours", { speed: ours }],
      ["dynamic", { speed: dynamic }],
      ["static", { speed: fixed }],
    ]),
  });
  // The third round is slow: products reach 40 of 100 beside it, and ours suffers more than the peer.
  const rounds = [round(100, 200, 50, 100), round(80, 150, 60, 50), round(40, 10, 10, 90)];
  expect(slowOf(rounds)).toEqual([rounds[2]]);
  const names = new Map([["static", "generate, static cache"]]);
  const measured = measuredOf(entry, rounds, names);
  expect(measured?.result).toMatchObject({
    ...{ ours: 175, peer: 75, peerName: "generate, static cache", ratio: 2.5, limit: 180, gflops: 90, rounds: 2, setAside: 1 },
  });
  expect(measuredOf(entry, [round(100, 1, 1, 1), { ...round(40, 1, 1, 1), request: "other" }], names)?.result.rounds).toBe(1);
});

test("limits are products and bytes at the rates of the machine", () => {
  const limitOf = (wanted: string) => benchmarks.flatMap(({ entries }) => entries).find(({ name }) => name === wanted)?.limit;
  const rates = { gflops: 100, gigabytes: 10 };
  // 4.98 M parameters: 2 N + 4 · 6 · 4 · 64 · 96 operations, and 4 (N + 2 · 6 · 2 · 64 · 96) bytes for one row of 96 tokens.
  const parameters = 4_984_832;
  expect(limitOf("sampling-batch-1-cached-64")?.(rates)).toBeCloseTo(10e9 / (4 * (parameters + 147_456)), 1);
  expect(limitOf("training-dense")?.(rates)).toBeCloseTo(100e9 / (6 * parameters + 12 * 6 * 256 * 512), 1);
});
