import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { groupOf, TablePolicy } from "../../../test/algorithms/table-policy.ts";
import { randomWorld, type World } from "../../../test/algorithms/worlds.ts";
import { randomStream } from "../../core/random.ts";
import type { Group } from "../../core/trajectory.ts";
import { alongPaths, sharedMeanAdvantages } from "../advantages/attribution.ts";
import { groupRelativeAdvantages } from "../advantages/group-relative.ts";
import { ownTurns, treeAdvantages } from "../advantages/tree.ts";
import { resolveAlgorithm, runUpdate } from "../algorithms.ts";
import { seeupoAdvantages, turnAdvantages } from "../seeupo/seeupo-advantages.ts";

const turn = (context: number, action: readonly number[]) => ({ context: [context], action });
const [t0, t1] = [turn(0, [1]), turn(1, [2, 3])];

//  a ─ t0 ┬ t1 ┬ a2          R = 1
//         │    └ c2          R = 0        c forks from a at turn 2
//         └ b1               R = 0        b forks from a at turn 1
//  d ─ d0                    R = 1
const tree: Group = groupOf("g", [
  { id: "a", reward: 1, turns: [t0, t1, turn(2, [0])] },
  { id: "b", reward: 0, turns: [t0, turn(1, [0])], branch: { from: "a", turn: 1 } },
  { id: "c", reward: 0, turns: [t0, t1, turn(2, [3])], branch: { from: "a", turn: 2 } },
  { id: "d", reward: 1, turns: [turn(0, [2])] },
]);
const plain = { std: "none", singletonGroups: "zero" } as const;

/** ARPO in one step a batch. */
function oneStep(algorithm: object): object {
  return "kind" in algorithm && algorithm.kind === "arpo" ? { miniBatches: 1, ...algorithm } : algorithm;
}

async function updated(world: World, algorithm: object) {
  const policy = new TablePolicy(world.table, 3);
  const metrics = await runUpdate(policy, world.groups, resolveAlgorithm(oneStep(algorithm)), randomStream(7));
  return { policy, metrics };
}

describe("hard attribution", () => {
  test("a turn that leaves share has the mean of their advantages, and is in the first of them", () => {
    // R − mean: a ½, b −½, c −½, d ½
    const advantages = sharedMeanAdvantages([tree], plain);
    expect(advantages.get("a")?.[0]).toBeCloseTo((0.5 - 0.5 - 0.5) / 3, 12);
    expect(advantages.get("a")?.slice(1)).toEqual([0, 0.5]);
    expect([advantages.get("b"), advantages.get("c"), advantages.get("d")]).toEqual([[-0.5], [-0.5], [0.5]]);
  });

  test("a fork of a fork at a turn that it shares itself belongs to the path that the turn was played in", () => {
    const trajectories = tree.trajectories.map((trajectory) =>
      trajectory.id === "b" ? { ...trajectory, branch: { from: "c", turn: 1 } } : trajectory,
    );
    expect(sharedMeanAdvantages([{ ...tree, trajectories }], plain)).toEqual(sharedMeanAdvantages([tree], plain));
  });

  test("a branch from elsewhere, or in a circle, is refused", () => {
    const branched = (id: string, from: string) => ({
      ...tree,
      trajectories: tree.trajectories.map((trajectory) =>
        trajectory.id === id ? { ...trajectory, branch: { from, turn: 1 } } : trajectory,
      ),
    });
    expect(() => sharedMeanAdvantages([branched("b", "z")], plain)).toThrow(/branch of trajectory b/);
    expect(() => sharedMeanAdvantages([branched("a", "b")], plain)).toThrow(/branch of trajectory/);
  });
});

test("along its path a leaf has its own turns' values and those that it shares", () => {
  const own = new Map(
    tree.trajectories.map((trajectory) => [trajectory.id, ownTurns(trajectory).map((_, i) => `${trajectory.id}${i}`)]),
  );
  expect(Object.fromEntries(alongPaths([tree], own))).toEqual({
    a: ["a0", "a1", "a2"],
    b: ["a0", "b0"],
    c: ["a0", "a1", "c0"],
    d: ["d0"],
  });
});

/** A random tree: some leaves of a world's groups fork from the one before them, and share its first turns. */
function branchedWorld(seed: number): World {
  const { table, groups } = randomWorld(seed);
  const random = randomStream(seed, "branches");
  return {
    table,
    groups: groups.map((group) => {
      const trajectories = [...group.trajectories];
      for (let i = 1; i < trajectories.length; i++) {
        const parent = trajectories[i - 1];
        if (parent.turns.length < 2 || random.chance(0.3)) continue;
        const { id, turns } = trajectories[i];
        const at = 1 + random.integer(parent.turns.length - 1);
        const shared = parent.turns.slice(0, at).map((each) => ({ ...each, trajectory: id }));
        const own = turns.map((each, t) => ({ ...each, turn: at + t }));
        trajectories[i] = { ...trajectories[i], turns: [...shared, ...own], branch: { from: parent.id, turn: at } };
      }
      return { ...group, trajectories };
    }),
  };
}

const weightsOf = (policy: TablePolicy) => policy.weights.flat(2).reduce((sum, weight) => sum + weight, 0);

describe("attribution", () => {
  test("without branches soft and hard are one, and tree is theirs without the deviation, bit for bit", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const world = randomWorld(seed);
        const grpo = await updated(world, { kind: "grpo", aggregation: "token-mean" });
        for (const attribution of ["soft", "hard"])
          expect((await updated(world, { kind: "arpo", attribution })).policy).toEqual(grpo.policy);
        const drGrpo = await updated(world, { kind: "dr-grpo", aggregation: "token-mean" });
        expect((await updated(world, { kind: "arpo", attribution: "tree" })).policy).toEqual(drGrpo.policy);
      }),
      { numRuns: 25 },
    );
  });

  test("soft trains every leaf whole: what is shared receives the sum of its leaves'; hard and tree train it once", async () => {
    const world = { ...randomWorld(1), groups: [tree] };
    const soft = await updated(world, { kind: "arpo", aggregation: { tokenSumOver: 1 } });
    const hard = await updated(world, { kind: "arpo", attribution: "hard", aggregation: { tokenSumOver: 1 } });
    const [a, b, c, d] = [...groupRelativeAdvantages([tree], { std: "group", singletonGroups: "zero" }).values()];
    // Action tokens: t0 1, t1 2, all others 1; means over four trajectories.
    expect(weightsOf(soft.policy)).toBeCloseTo(((1 + 2 + 1) * a + (1 + 1) * b + (1 + 2 + 1) * c + d) / 4, 9);
    expect(weightsOf(hard.policy)).toBeCloseTo(((a + b + c) / 3 + 2 * ((a + c) / 2) + a + b + c + d) / 4, 9);
    expect(soft.policy.weights[0]).toHaveLength(3 + 2 + 3 + 1);
  });

  test("any tree is trained by all three", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.constantFrom("soft", "hard", "tree"), async (seed, attribution) => {
        const { policy } = await updated(branchedWorld(seed), { kind: "arpo", attribution });
        expect(policy.table.flat().every(Number.isFinite)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

describe("SeeUPO on trees", () => {
  const seeupo = (settings: object = {}) => resolveAlgorithm({ kind: "seeupo", ...settings }) as never;

  test("without branches is SeeUPO, bit for bit, whatever normalises", async () => {
    const settings = fc.record({
      normalisation: fc.constantFrom("batch", "group", "none"),
      singletonGroups: fc.constantFrom("zero", "raw"),
      form: fc.constantFrom("fused", "textbook"),
    });
    await fc.assert(
      fc.asyncProperty(fc.nat(), settings, async (seed, given) => {
        if (given.normalisation === "group") given.singletonGroups = "zero";
        const world = randomWorld(seed);
        const base = { kind: "seeupo", ...given };
        const plainly = await updated(world, base);
        expect((await updated(world, { ...base, advantage: "tree" })).policy).toEqual(plainly.policy);
      }),
      { numRuns: 60 },
    );
  });

  test("each turn of a leaf's path has the tree's advantage there, in the leaves' measure", () => {
    const perTurn = turnAdvantages([tree], seeupo({ advantage: "tree" }));
    const ofTree = treeAdvantages([tree], { singletonGroups: "zero" });
    const relative = groupRelativeAdvantages([tree], plain);
    const scale = (seeupoAdvantages([tree], seeupo()).get("a") ?? 0) / (relative.get("a") ?? 1);
    for (const { id, turns, branch } of tree.trajectories)
      for (const each of turns) {
        const owner = each.turn === 0 && id !== "d" ? "a" : each.turn === 1 && id === "c" ? "a" : id;
        const from = owner === id ? (branch?.turn ?? 0) : 0;
        expect(perTurn.of(each)).toBeCloseTo(scale * (ofTree.get(owner)?.[each.turn - from] ?? Number.NaN), 9);
      }
  });

  test("both forms move the policy alike on any tree", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const world = branchedWorld(seed);
        const base = { kind: "seeupo", advantage: "tree", klCoef: 0.01 };
        const [textbook, fused] = [
          await updated(world, { ...base, form: "textbook" }),
          await updated(world, { ...base, form: "fused" }),
        ];
        for (const [r, row] of textbook.policy.table.entries())
          for (const [t, number] of row.entries()) expect(fused.policy.table[r][t]).toBeCloseTo(number, 9);
      }),
      { numRuns: 40 },
    );
  });
});
