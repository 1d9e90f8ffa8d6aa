import { expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { groupOf, TablePolicy } from "../../../test/algorithms/table-policy.ts";
import { ConfigError, ShapeError } from "../../core/errors.ts";
import type { Policy } from "../../core/policy.ts";
import { resolveConfig } from "../../training/config/config.ts";
import { dualGroupAdvantages, dualGroupKind } from "./dual-group.ts";
import { treeGrpoAdvantages } from "./tree-grpo.ts";

const turns = (...lengths: number[]) => lengths.map((length) => ({ context: [0], action: new Array<number>(length).fill(1) }));

//  a  t t t | t t t ── 1          f leaves a behind the 2nd token of its 2nd turn, g behind the 1st token of its 1st,
//    g^     f^                    h leaves f later than f left a, i leaves g before g left a: it shares nothing of a but the 1st token
//  b  t t ── 0
const group = groupOf("g", [
  { id: "a", reward: 1, turns: turns(3, 3) },
  { id: "b", reward: 0, turns: turns(2) },
  { id: "f", reward: 1, turns: turns(3, 4), branch: { from: "a", turn: 1, kept: 2 } },
  { id: "g", reward: 0, turns: turns(5), branch: { from: "a", turn: 0, kept: 1 } },
  { id: "h", reward: 1, turns: turns(3, 4, 2), branch: { from: "f", turn: 2, kept: 1 } },
  { id: "i", reward: 0, turns: turns(5), branch: { from: "g", turn: 0, kept: 3 } },
]);

test("a token has its rollout's advantage, and the mean of the forks' that share it, by hand", () => {
  // Roots 1, 0: mean ½, deviation √½, so ±√½. Forks 1, 0, 1, 0: mean ½, deviation √⅓, so ±½√3.
  const [root, fork] = [Math.SQRT1_2, Math.sqrt(3) / 2];
  const [a, b] = dualGroupAdvantages(group);
  // Token 1 of a is in f, g, h and i: (1 − 1 + 1 − 1)/4 of ½√3. The next four are in f and h alone, the last one in none.
  expectClose(
    a,
    [
      [root, root + fork, root + fork],
      [root + fork, root + fork, root],
    ],
    { rel: 1e-5, abs: 1e-9 },
  );
  expectClose(b, [[-root, -root]], { rel: 1e-5, abs: 1e-9 });
});

test("forks are not trained, and what they share is trained once, in the rollout from the root", async () => {
  const policy: Policy = new TablePolicy([[0]], 1);
  const { episodes, advantages } = await dualGroupKind.estimate({ policy, groups: [group] }, {});
  expect(episodes.map(({ trajectory, turns: own }) => [trajectory.id, own.length])).toEqual([
    ["a", 2],
    ["b", 1],
    ["f", 0],
    ["g", 0],
    ["h", 0],
    ["i", 0],
  ]);
  expect(advantages.map((row) => row.length)).toEqual([3, 3, 2]);
});

test("without a difference among the forks nothing is added; without branches it is group-relative", () => {
  const equal = {
    ...group,
    trajectories: group.trajectories.map((leaf) => (leaf.branch === undefined ? leaf : { ...leaf, reward: 0.3 })),
  };
  const alone = { ...group, trajectories: group.trajectories.slice(0, 2) };
  expect(dualGroupAdvantages(equal)).toEqual(dualGroupAdvantages(alone));
  expectClose(dualGroupAdvantages(alone)[0].flat(), new Array(6).fill(Math.SQRT1_2), { rel: 1e-5, abs: 0 });
});

test("a branch from elsewhere is refused", () => {
  const lost = groupOf("g", [{ id: "x", reward: 1, turns: turns(2), branch: { from: "gone", turn: 0, kept: 1 } }]);
  expect(() => dualGroupAdvantages(lost)).toThrow(ShapeError);
});

test("Tree-GRPO counts a fork inside of a first action as its tree's", () => {
  const inside = groupOf("g", [
    { id: "a", reward: 1, turns: turns(2) },
    { id: "b", reward: 1, turns: turns(2) },
    { id: "f", reward: 0, turns: turns(2), branch: { from: "a", turn: 0, kept: 1 } },
  ]);
  // The task: mean ⅔, deviation √⅓. The tree of a: mean ½, deviation √½. That of b has no other leaf.
  const given = treeGrpoAdvantages([inside], "zero");
  const ofTask = 1 / 3 / Math.sqrt(1 / 3);
  expectClose([given.get("a") ?? 0, given.get("b") ?? 0], [ofTask + Math.SQRT1_2, ofTask], { rel: 1e-5, abs: 0 });
});

test("without branches a run does not begin, and no turn that is trained once is forked inside", () => {
  const of = (kind: "dual-group" | "shared-mean") => ({ kind: "custom", advantage: { kind }, update: { kind: "appo" } }) as const;
  expect(() => resolveConfig({ environment: "office", algorithm: of("dual-group") })).toThrow(ConfigError);
  const branching = { rule: { kind: "appo" } } as const;
  expect(
    resolveConfig({ environment: "office", algorithm: of("dual-group"), rollout: { branching } }).rollout.branching,
  ).toMatchObject(branching);
  expect(() => resolveConfig({ environment: "office", algorithm: of("shared-mean"), rollout: { branching } })).toThrow(
    "rollout.branching.rule",
  );
});
