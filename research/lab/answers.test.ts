import { expect, test } from "vitest";
import { randomStream } from "../../src/core/random.ts";
import { advantagesOf, exactBatch } from "./batch.ts";
import { cellOf, levels } from "./cell.ts";
import { labRulesSchema, labSettingsSchema } from "./config.ts";
import { caseOf, follow } from "./experiment.ts";
import { objective, unitRanges } from "./objective.ts";
import { optimum } from "./optimum.ts";
import { chancesFor, expectedReturn, layoutOf, leafProbabilities, type Policy, randomPolicy, sights } from "./policy.ts";
import { drawProblem, type Problem, type Size } from "./problem.ts";
import { update } from "./update.ts";
import { valuesOf } from "./values.ts";

const size: Size = { turns: 2, tokens: 1, vocabulary: 3, contexts: 2, answers: 2 };
const problem = drawProblem(size, 0, randomStream(5, "answers"));
const rules = labRulesSchema.parse({});

/** J of two turns by nested sums over a_1, o_1, a_2, sharing with the lab only how rewards and answers are laid out. */
function returnByHand(policyOf: (turn: number, context: number, action: number, answer: number) => ArrayLike<number>): number {
  const { vocabulary: actions, answers = 1, contexts } = size;
  const [said = new Float64Array()] = problem.answerProbabilities ?? [];
  let sum = 0;
  for (let x = 0; x < contexts; x++)
    for (let a = 0; a < actions; a++)
      for (let o = 0; o < answers; o++)
        for (let b = 0; b < actions; b++)
          sum +=
            (policyOf(0, x, 0, 0)[a] *
              said[(x * actions + a) * answers + o] *
              policyOf(1, x, a, o)[b] *
              problem.means[((x * actions + a) * answers + o) * actions + b]) /
            contexts;
  return sum;
}

test("J, with random answers between turns, is the sum over actions and answers", () => {
  const rowOf: Record<(typeof sights)[number], (turn: number, x: number, a: number, o: number) => number> = {
    history: (turn, x, a, o) => x * 7 + (turn === 0 ? 0 : 1 + a * 2 + o),
    "last-step": (turn, _, a, o) => (turn === 0 ? 0 : 1 + a * 2 + o),
    "last-answer": (turn, _, __, o) => (turn === 0 ? 0 : 1 + o),
    index: (turn) => turn,
    shared: () => 0,
  };
  for (const sees of sights) {
    const layout = layoutOf(size, sees);
    const policy = randomPolicy(layout, randomStream(6, sees));
    const byHand = returnByHand((...at) => policy.subarray(rowOf[sees](...at) * 3, rowOf[sees](...at) * 3 + 3));
    expect(expectedReturn(problem, layout, policy), sees).toBeCloseTo(byHand, 12);
    const total = leafProbabilities(layout, policy, chancesFor(problem)).reduce((sum, p) => sum + p, 0);
    expect(total).toBeCloseTo(size.contexts, 12);
    const [first] = valuesOf(problem, layout, policy).before;
    expect((first[0] + first[1]) / 2, sees).toBeCloseTo(byHand, 12);
  }
});

test("with answers the critic's advantages still have mean 0 at every unit, and sum to Q of the trajectory less J over turns", () => {
  const layout = layoutOf(size, "history");
  const policy = randomPolicy(layout, randomStream(9));
  const still = { ...problem, spreads: new Float64Array(problem.spreads.length) };
  const batch = exactBatch(still, layout, policy);
  for (const level of levels) {
    const advantages = advantagesOf({ advantage: "gae", level }, still, layout, policy, batch);
    const units = advantages.length / batch.count;
    for (let u = 0; u < units; u++) {
      let mean = 0;
      for (let i = 0; i < batch.count; i++) mean += batch.weights[i] * advantages[i * units + u];
      expect(mean).toBeCloseTo(0, 12);
    }
  }
});

test("J* is what the best of all deterministic tables has", () => {
  const small: Size = { turns: 2, tokens: 1, vocabulary: 2, contexts: 1, answers: 2 };
  for (let index = 0; index < 4; index++) {
    const given = drawProblem(small, index, randomStream(7, "tables", index));
    for (const sees of ["history", "last-step", "last-answer", "index"] as const) {
      const layout = layoutOf(small, sees);
      const tables = Array.from({ length: 2 ** layout.rows }, (_, code) =>
        expectedReturn(
          given,
          layout,
          Float64Array.from({ length: layout.rows * 2 }, (_, i) => Number(((code >> (i >> 1)) & 1) === i % 2)),
        ),
      );
      expect(optimum(given, sees), sees).toBeCloseTo(Math.max(...tables), 12);
    }
  }
  const best = sights.map((sees) => optimum(problem, sees));
  expect(best.toSorted((a, b) => b - a)).toEqual(best); // who sees less cannot do better
});

test("three turns: the ascents over tables find no more than all choices have, and the histories' J* is above", () => {
  const three: Size = { turns: 3, tokens: 1, vocabulary: 3, contexts: 1, answers: 2 };
  const given = drawProblem(three, 0, randomStream(8));
  const [full, step, answer] = (["history", "last-step", "last-answer"] as const).map((sees) => optimum(given, sees));
  expect(full).toBeGreaterThanOrEqual(step);
  expect(step).toBeGreaterThanOrEqual(answer - 1e-12);
});

/**
 * With exact advantages R − J(x) and the plain ratio ρ of whole trajectories, for any two policies:
 *
 *   J(π') − J(π) = E_π[ρA] ≥ E_π[min(ρA, clip(ρ)A)]
 */
function bothSides(given: Problem, layout: ReturnType<typeof layoutOf>, old: Policy, next: Policy) {
  const batch = exactBatch(given, layout, old);
  const advantages = advantagesOf({ advantage: "grae", level: "sequence" }, given, layout, old, batch);
  const turns = [0, 1];
  const ranges = unitRanges("sequence", layout, turns);
  const turnUpdate = { turns, ranges, batch, advantages, carried: new Float64Array(batch.count).fill(1), old };
  const of = (clip: number) =>
    objective(
      { update: "ppu", level: "sequence" },
      layout,
      next,
      turnUpdate,
      { clip, ratio: "plain" },
      new Float64Array(old.length),
    );
  return {
    change: expectedReturn(given, layout, next) - expectedReturn(given, layout, old),
    unclipped: of(1e9),
    clipped: of(0.2),
  };
}

test("J rises by E[ρA] of whole trajectories, and the clipped objective is never above it, whatever tables share", () => {
  let strict = 0;
  for (const sees of sights)
    for (let draw = 0; draw < 40; draw++) {
      const given = drawProblem(size, draw, randomStream(11, sees, draw));
      const layout = layoutOf(size, sees);
      const old = randomPolicy(layout, randomStream(12, sees, draw));
      const next = randomPolicy(layout, randomStream(13, sees, draw));
      const { change, unclipped, clipped } = bothSides(given, layout, old, next);
      expect(unclipped).toBeCloseTo(change, 11);
      expect(clipped).toBeLessThanOrEqual(change + 1e-12);
      if (clipped < change - 1e-6) strict++;
    }
  expect(strict).toBeGreaterThan(150);
});

test("so GSPO's objective with plain ratios lowers J nowhere, also where one table is shared; the turns' ratio does", () => {
  const settings = labSettingsSchema.parse({});
  const drops = (id: string) =>
    Array.from({ length: 6 }, (_, index) => {
      const given = caseOf({ seed: 3 }, { turns: 2, tokens: 1, vocabulary: 2, contexts: 2, answers: 2 }, index, "shared");
      return follow(cellOf(id), given, { ...settings, updates: 20 }, [index]).drops;
    }).reduce((sum, count) => sum + count, 0);
  expect(drops("grae.ppu.sequence.joint.m-off.shared.maximise.exact")).toBe(0);
  expect(drops("grae.ppu.turn.reverse.m-exact.shared.maximise.exact")).toBeGreaterThan(0);
});

test("backward induction: best responses in reverse order with the exact M reach J* in one update; the clipped M does not", () => {
  const layout = layoutOf(size, "history");
  const gaps = (id: string, updates: number) =>
    Array.from({ length: 12 }, (_, draw) => {
      const given = drawProblem(size, draw, randomStream(20, draw));
      let policy = randomPolicy(layout, randomStream(21, draw));
      for (let u = 0; u < updates; u++) {
        const turnUpdates = id.includes("joint") ? [[0, 1]] : [[1], [0]];
        const batch = exactBatch(given, layout, policy);
        policy = update(cellOf(id), given, layout, policy, batch, turnUpdates, { ...rules, floor: 1e-12 });
      }
      return optimum(given, "history") - expectedReturn(given, layout, policy);
    });
  for (const gap of gaps("grae.ppu.turn.reverse.m-exact.history.respond.exact", 1)) expect(gap).toBeCloseTo(0, 9);
  // Without M, and with M in [0.8, 1.2], the first turn still responds to the old second one.
  for (const m of ["joint.m-off", "reverse.m-clipped"])
    expect(Math.max(...gaps(`grae.ppu.turn.${m}.history.respond.exact`, 1)), m).toBeGreaterThan(0.01);
  for (const gap of gaps("grae.ppu.turn.joint.m-off.history.respond.exact", 2)) expect(gap).toBeCloseTo(0, 9);
});

test("rest is distinguished from a plateau: the policy has stopped moving, or J has", () => {
  const settings = { ...labSettingsSchema.parse({}), updates: 40 };
  const endsOf = (id: string) => {
    const { sees } = cellOf(id);
    return Array.from({ length: 8 }, (_, index) => {
      const given = caseOf({ seed: 0 }, { turns: 2, tokens: 1, vocabulary: 2, contexts: 1, answers: 2 }, index, sees);
      return follow(cellOf(id), given, settings, [index]);
    });
  };
  const exact = endsOf("grae.ppu.turn.reverse.m-exact.index.respond.exact");
  expect(new Set(exact.map(({ reach }) => reach))).toEqual(new Set(["reached", "resting"]));
  expect(exact.every(({ returns }) => returns.length < 41)).toBe(true); // what is at rest is not updated further
  const sampled = endsOf("grae.ppu.turn.reverse.m-exact.index.respond.groups");
  expect(sampled.every(({ reach }) => reach !== "resting")).toBe(true);
  for (const { reach, reachedAt, returns, best } of exact)
    if (reach === "reached") expect(best - returns[reachedAt ?? -1]).toBeLessThan(0.05);
});
