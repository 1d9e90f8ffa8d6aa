import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeBenchmarks } from "./benchmarks.ts";
import { resultsOf, slowOf } from "./measure.ts";

test("the programs of every benchmark are there, and names are their own", () => {
  const benchmarks = makeBenchmarks({ folder: "", officeModel: "", threads: 1, bfloat16: true });
  const programs = benchmarks.flatMap(({ prepare, ours, peers }) => [...prepare, ours, ...Object.values(peers)]);
  for (const { script } of programs) expect(existsSync(join(import.meta.dirname, script)), script).toBe(true);
  expect(new Set(benchmarks.map(({ name }) => name)).size).toBe(benchmarks.length);
});

test("a ratio is of paired rounds, and slow rounds are set aside on both sides", () => {
  const round = (gflops: number, ours: number, peer?: number, request = "") => ({
    ...{ request, gflops },
    sides: new Map([["ours", { speed: ours }], ...(peer === undefined ? [] : ([["peer", { speed: peer }]] as const))]),
  });
  // The third round is slow: products reach 40 of 100 beside it, and ours suffers more than the peer. In the fourth the peer ran out of memory.
  const rounds = [round(100, 200, 100), round(80, 150, 50), round(40, 10, 90), round(90, 400), round(90, 7, 7, "other")];
  expect(slowOf(rounds)).toEqual([rounds[2]]);
  const names = new Map([
    ["ours", "retrograde"],
    ["peer", "PyTorch"],
  ]);
  expect(resultsOf("training", "", rounds, names)).toEqual([
    {
      ...{ benchmark: "training", request: "", quantity: "speed", ours: [200, 150, 400], setAside: 1 },
      peers: [{ name: "PyTorch", values: [100, 50], ratio: 2.5 }],
    },
  ]);
});
