import { expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { groupOf } from "../../../test/algorithms/table-policy.ts";
import { ConfigError } from "../../core/errors.ts";
import { resolveConfig } from "../../training/config/config.ts";
import { treeGrpoAdvantages } from "./tree-grpo.ts";

const turns = (count: number) => Array.from({ length: count }, () => ({ context: [0], action: [1] }));

//  a ── · ── 1        The tree of a has the leaves a (1), f (0) and h (0), that of b only b (0).
//    └─ f ── 0
//        └── h ── 0
const group = groupOf("g", [
  { id: "a", reward: 1, turns: turns(3) },
  { id: "b", reward: 0, turns: turns(2) },
  { id: "f", reward: 0, turns: turns(3), branch: { from: "a", turn: 1 } },
  { id: "h", reward: 0, turns: turns(3), branch: { from: "f", turn: 2 } },
]);

test("a leaf is compared within its tree and within its task, by hand", () => {
  // Tree of a: mean 1/3, deviation √(1/3).   Task: mean 1/4, deviation ½.
  const expected = {
    a: 2 / 3 / Math.sqrt(1 / 3) + 0.75 / 0.5,
    b: -0.25 / 0.5,
    f: -1 / 3 / Math.sqrt(1 / 3) - 0.25 / 0.5,
    h: -1 / 3 / Math.sqrt(1 / 3) - 0.25 / 0.5,
  };
  const given = treeGrpoAdvantages([group], "zero");
  for (const [id, advantage] of Object.entries(expected)) expectClose([given.get(id) ?? 0], [advantage], { rel: 1e-5, abs: 0 });
});

test("a leaf alone in its tree adds nothing, or its bare return as in the published code", () => {
  const alone = [
    groupOf("g", [
      { id: "a", reward: 2, turns: turns(1) },
      { id: "b", reward: 2, turns: turns(1) },
    ]),
  ];
  expect([...treeGrpoAdvantages(alone, "zero").values()]).toEqual([0, 0]);
  expectClose([...treeGrpoAdvantages(alone, "raw").values()], [2, 2], { rel: 1e-5, abs: 0 });
});

test("without branches a run does not begin", () => {
  const algorithm = { kind: "custom", advantage: { kind: "tree-grpo" }, update: { kind: "ppu" } } as const;
  expect(() => resolveConfig({ environment: "office", algorithm })).toThrow(ConfigError);
  expect(() => resolveConfig({ environment: "office", algorithm })).toThrow("expected rollout.branching with settings");
  expect(() => resolveConfig({ environment: "office", algorithm, rollout: { branching: {} } })).not.toThrow();
});
