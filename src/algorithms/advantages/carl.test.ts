import { expect, test } from "vitest";
import { groupOf, TablePolicy } from "../../../test/algorithms/table-policy.ts";
import { randomWorld } from "../../../test/algorithms/worlds.ts";
import { randomStream } from "../../core/random.ts";
import { resolveConfig } from "../../training/config/config.ts";
import { resolveAlgorithm, runUpdate } from "../algorithms.ts";
import { carlAdvantages } from "./carl.ts";

const turns = (count: number) => Array.from({ length: count }, (_, i) => ({ context: [i % 2], action: [1] }));

//  s ── a ── a ── a  1        V(after f's first turn) = mean(f 0, h 1) = ½
//   │     └─ f ── f  0        V(after a's first turn) = mean(a 1, ½) = ¾
//   │          └─ h  1        V(s) = mean(¾, b 0) = 3/8
//   └─ b ── b        0
const group = groupOf("g", [
  { id: "a", reward: 1, turns: turns(3) },
  { id: "b", reward: 0, turns: turns(2) },
  { id: "f", reward: 0, turns: turns(3), branch: { from: "a", turn: 1 } },
  { id: "h", reward: 1, turns: turns(3), branch: { from: "f", turn: 2 } },
]);

test("a turn with siblings has the value it leads to minus that of its state; others have none, by hand", () => {
  const given = Object.fromEntries([...carlAdvantages([group])].map(([id, ofTurns]) => [id, Object.fromEntries(ofTurns)]));
  expect(given).toEqual({
    a: { 0: 0.75 - 0.375, 1: 1 - 0.75 },
    b: { 0: -0.375 },
    f: { 1: 0.5 - 0.75, 2: -0.5 },
    h: { 2: 0.5 },
  });
});

test("only these turns are trained, each once, and a metric says how many", async () => {
  const algorithm = resolveAlgorithm({ kind: "custom", advantage: { kind: "carl" }, update: { kind: "reinforce" } });
  const policy = new TablePolicy(randomWorld(3).table, 1);
  const metrics = await runUpdate(policy, [group], algorithm, randomStream(1));
  expect(policy.weights.flat().map(([weight]) => weight)).toEqual([0.375, 0.25, -0.375, -0.25, -0.5, 0.5].map((a) => a / 6));
  expect(metrics.criticalTurns).toBe(6 / 8);
});

test("without branches a run does not begin", () => {
  const algorithm = { kind: "custom", advantage: { kind: "carl" }, update: { kind: "ppu" } } as const;
  expect(() => resolveConfig({ environment: "office", algorithm })).toThrow("expected rollout.branching with settings");
});
