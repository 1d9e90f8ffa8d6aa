import { expect, test } from "vitest";
import { randomStream } from "../../src/core/random.ts";
import { advantagesOf, exactBatch, groupBatch, sampledBatch } from "./batch.ts";
import { allCells, type Cell, columns, idOf, optimisers, rows } from "./cell.ts";
import { labLines } from "./cli/lab.ts";
import { rules, settings } from "./config.ts";
import { caseOf, follow, judge } from "./experiment.ts";
import { objective } from "./objective.ts";
import { optimum } from "./optimum.ts";
import {
  chancesFor,
  expectedReturn,
  layoutOf,
  leafProbabilities,
  type Policy,
  randomPolicy,
  type Sees,
  sights,
} from "./policy.ts";
import { drawProblem, type Problem, type Size } from "./problem.ts";
import { turnUpdatesOf, update } from "./update.ts";

const size: Size = { turns: 2, tokens: 1, vocabulary: 3, contexts: 2, answers: 2 };
const problem = drawProblem(size, 0, randomStream(5, "answers"));
const few = { ...settings, problems: 4 };

const theorem: Cell = {
  ...{ advantage: "grae", order: "reverse", carry: "exact" },
  ...{ sees: "history", optimise: "maximise", knows: "exact" },
};

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
  const rowOf: Record<Sees, (turn: number, x: number, a: number, o: number) => number> = {
    history: (turn, x, a, o) => x * 7 + (turn === 0 ? 0 : 1 + a * 2 + o),
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
  }
});

test("J* is what the best of all deterministic tables has, where turns have tables of their own", () => {
  const small: Size = { turns: 2, tokens: 1, vocabulary: 2, contexts: 1, answers: 2 };
  for (let index = 0; index < 4; index++) {
    const given = drawProblem(small, index, randomStream(7, "tables", index));
    for (const sees of ["history", "index"] as const) {
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

test("the optimum of a shared table may be mixed, and is found", () => {
  // Two turns must differ: a b or b a. One table for both turns does best with 1/2 each, and gets 1/2.
  const differ = {
    size: { turns: 2, tokens: 1, vocabulary: 2, contexts: 1 },
    means: Float64Array.from([0, 1, 1, 0]),
    spreads: new Float64Array(4),
  };
  expect(optimum(differ, "shared")).toBeCloseTo(0.5, 9);
  expect(optimum(differ, "index")).toBe(1);
  expect(optimum(differ, "history")).toBe(1);
});

/** Central differences with respect to the logits. */
function slopes(policy: Policy, width: number, value: (policy: Policy) => number): number[] {
  const moved = (at: number, step: number) => {
    const next = policy.map((p, i) => (i === at ? p * Math.exp(step) : p));
    const from = at - (at % width);
    const sum = next.subarray(from, from + width).reduce((total, p) => total + p, 0);
    return next.map((p, i) => (i >= from && i < from + width ? p / sum : p));
  };
  return [...policy].map((_, at) => (value(moved(at, 1e-5)) - value(moved(at, -1e-5))) / 2e-5);
}

test.each(sights)("at the old policy the objective has the gradient of J, with one token a turn (%s)", (sees) => {
  const layout = layoutOf(size, sees);
  const policy = randomPolicy(layout, randomStream(5, sees));
  const batch = exactBatch(problem, layout, policy);
  const advantages = advantagesOf({ advantage: "grae" }, problem, batch);
  const turnUpdate = { turns: [0, 1], batch, advantages, carried: new Float64Array(batch.count).fill(1), old: policy };
  const gradient = new Float64Array(policy.length);
  expect(objective(layout, policy, turnUpdate, rules, gradient)).toBeCloseTo(0, 12);
  for (const [i, slope] of slopes(policy, 3, (p) => expectedReturn(problem, layout, p)).entries())
    expect(gradient[i]).toBeCloseTo(slope, 7);
});

test("the gradient of the clipped objective agrees with central differences of it, with two tokens a turn", () => {
  const two = { turns: 2, tokens: 2, vocabulary: 2, contexts: 2 };
  const given = drawProblem(two, 1, randomStream(3, "test"));
  const layout = layoutOf(two, "index");
  const old = randomPolicy(layout, randomStream(7));
  const policy = randomPolicy(layout, randomStream(8)).map((p, i) => 0.85 * old[i] + 0.15 * p);
  const batch = exactBatch(given, layout, old);
  const advantages = advantagesOf({ advantage: "grae" }, given, batch);
  const turnUpdate = { turns: [0, 1], batch, advantages, carried: new Float64Array(batch.count).fill(0.9), old };
  for (const clip of [0.2, 0.02]) {
    const gradient = new Float64Array(policy.length);
    objective(layout, policy, turnUpdate, { clip }, gradient);
    const scratch = new Float64Array(policy.length);
    for (const [i, slope] of slopes(policy, 2, (p) => objective(layout, p, turnUpdate, { clip }, scratch)).entries())
      expect(gradient[i]).toBeCloseTo(slope, 7);
  }
});

test("advantages: R − J in an exact batch, R less the mean in a group, and over σ, of a group with G − 1", () => {
  const coin: Problem = {
    size: { turns: 1, tokens: 1, vocabulary: 4, contexts: 1 },
    means: Float64Array.of(0, 1, 2, 5),
    spreads: new Float64Array(4),
  };
  const layout = layoutOf(coin.size, "history");
  const policy = Float64Array.of(0.25, 0.25, 0.25, 0.25);
  const exact = exactBatch(coin, layout, policy);
  expect([...advantagesOf({ advantage: "grae" }, coin, exact)]).toEqual([-2, -1, 0, 3]);
  // σ² = (4 + 1 + 0 + 9) / 4.
  const divided = advantagesOf({ advantage: "grae-std" }, coin, exact);
  expect(divided[3]).toBeCloseTo(3 / (Math.sqrt(3.5) + 1e-6), 12);
  const group = groupBatch(coin, layout, 2, [1, 3]);
  expect([...advantagesOf({ advantage: "grae" }, coin, group)]).toEqual([-2, 2]);
  // The sample's variance of 1 and 5 is 8.
  expect(advantagesOf({ advantage: "grae-std" }, coin, group)[1]).toBeCloseTo(2 / (Math.sqrt(8) + 1e-6), 12);
  expect([...advantagesOf({ advantage: "grae-std" }, coin, groupBatch(coin, layout, 2, [2, 2]))]).toEqual([0, 0]);
});

test("groups are drawn by the policy, and half of noisy rewards are above their mean", () => {
  const noisy: Problem = {
    size: { turns: 1, tokens: 1, vocabulary: 2, contexts: 2 },
    means: Float64Array.of(1, 2, 3, 4),
    spreads: new Float64Array(4).fill(0.5),
  };
  const layout = layoutOf(noisy.size, "shared");
  const probabilities = leafProbabilities(layout, Float64Array.of(0.8, 0.2));
  const { count, contexts, leaves, rewards, weights, groupSize } = sampledBatch(
    noisy,
    layout,
    probabilities,
    4_000,
    randomStream(1),
  );
  expect([count, groupSize, contexts[3_999], contexts[4_000], weights[0]]).toEqual([8_000, 4_000, 0, 1, 1 / 8_000]);
  expect(leaves.reduce((sum, leaf) => sum + leaf, 0) / count).toBeCloseTo(0.2, 1);
  const above = rewards.filter((reward, i) => reward > noisy.means[2 * contexts[i] + leaves[i]]).length;
  expect(above / count).toBeCloseTo(0.5, 1);
});

test("by hand: two turns that pull together overshoot, and with M the second sees that the first has moved", () => {
  // R(a a) = 1, R(a b) = R(b a) = 10, R(b b) = 0, both tables 1/2. Each turn alone does better with a: 5.5 against 5. Both go to 0.6, the edge of
  // the clip range: J = 0.36·1 + 2·0.24·10 + 0.16·0 = 5.16, and it was 5.25.
  const small = { turns: 2, tokens: 1, vocabulary: 2, contexts: 1 };
  const given = { size: small, means: Float64Array.of(1, 10, 10, 0), spreads: new Float64Array(4) };
  const layout = layoutOf(small, "index");
  const start = Float64Array.of(0.5, 0.5, 0.5, 0.5);
  const after = (cell: Partial<Cell>, turns: number[][]) => {
    const whole: Cell = { ...theorem, sees: "index", ...cell };
    return update(whole, given, layout, start, exactBatch(given, layout, start), turns, rules);
  };
  expect(expectedReturn(given, layout, start)).toBe(5.25);
  const together = after({ order: "joint", carry: "off" }, [[0, 1]]);
  expect([...together].map((p) => Number(p.toFixed(9)))).toEqual([0.6, 0.4, 0.6, 0.4]);
  expect(expectedReturn(given, layout, together)).toBeCloseTo(5.16, 12);
  expect(expectedReturn(given, layout, after({}, [[1], [0]]))).toBeGreaterThan(5.25);
});

test("orders: the turns that are updated together, one after the other", () => {
  const random = randomStream(1);
  expect(turnUpdatesOf("joint", 3, random)).toEqual([[0, 1, 2]]);
  expect(turnUpdatesOf("sequential", 3, random)).toEqual([[0], [1], [2]]);
  expect(turnUpdatesOf("reverse", 3, random)).toEqual([[2], [1], [0]]);
  const drawn = new Set(Array.from({ length: 60 }, () => turnUpdatesOf("random", 3, random).join()));
  expect(drawn.size).toBe(6);
});

test.each(["respond", "maximise", "kl"] as const)(
  "theorem 1 by the operator %s: turns with the whole history, exact: J never falls and reaches J*, in any order",
  (optimise) => {
    for (const { order, carry } of columns)
      expect(judge({ ...theorem, optimise, order, carry }, few), `${order} ${carry}`).toMatchObject({
        fell: 0,
        reached: 1,
        worstDrop: 0,
      });
  },
);

test("theorem 2: in reverse order the argmax is J* after one update; the clipped M needs two, as no M does", () => {
  const respond = { ...theorem, optimise: "respond" } as const;
  const slowest = (cell: Cell) => {
    const at = (index: number) => follow(cell, caseOf(settings, size, index, "history"), settings, [index]).reachedAt;
    return Math.max(...Array.from({ length: 8 }, (_, index) => at(index)));
  };
  expect(slowest(respond)).toBe(1);
  expect(slowest({ ...respond, carry: "clipped" })).toBe(2);
  expect(slowest({ ...respond, order: "joint", carry: "off" })).toBe(2);
});

test("without its condition: turns that do not see what was before lower J without M, and come to rest below J* with it", () => {
  const blind: Cell = { ...theorem, sees: "index", optimise: "respond" };
  expect(judge({ ...blind, order: "joint", carry: "off" }, settings).fell).toBe(0.5);
  const withM = judge(blind, settings);
  expect([withM.fell, withM.reached]).toEqual([0, 11 / 16]);
});

test("one table for all turns lowers J under every exact operator, with M or without; the paper's M is another there", () => {
  const shared: Cell = { ...theorem, sees: "shared" };
  for (const optimise of optimisers.filter((each) => each !== "steps"))
    for (const carry of ["off", "exact"] as const)
      expect(judge({ ...shared, optimise, carry }, settings).fell, `${optimise} ${carry}`).toBeGreaterThan(0.3);
  const withoutName = ({ fell, reached, worstDrop }: ReturnType<typeof judge>) => ({ fell, reached, worstDrop });
  const both = (sees: Sees) => (["exact", "paper"] as const).map((carry) => withoutName(judge({ ...theorem, sees, carry }, few)));
  expect(both("history")[0]).toEqual(both("history")[1]);
  expect(both("shared")[0]).not.toEqual(both("shared")[1]);
});

test("division by σ lowers J even with one turn, where contexts share a table; whoever sees them apart does not", () => {
  const one = { ...settings, sizes: [{ turns: 1, tokens: 2, vocabulary: 2, contexts: 2, answers: 1 }] };
  const cell: Cell = { ...theorem, order: "joint", carry: "off", sees: "index", optimise: "maximise" };
  expect(judge({ ...cell, advantage: "grae-std" }, one).fell).toBeGreaterThan(0);
  expect(judge(cell, one).fell).toBe(0);
  expect(judge({ ...cell, advantage: "grae-std", sees: "history" }, one).fell).toBe(0);
});

test("a policy that is at rest is not updated further, and another seed draws other problems", () => {
  const cell: Cell = { ...theorem, sees: "index", optimise: "respond" };
  const ofSeed = (seed: number) => follow(cell, caseOf({ seed }, size, 0, "index"), { ...settings, seed }, [0]);
  const { returns } = ofSeed(0);
  expect(returns.length).toBeLessThan(settings.updates);
  expect(returns.at(-1)).toBeCloseTo(returns.at(-2) ?? 0, 12);
  expect(ofSeed(1).returns[0]).not.toBe(returns[0]);
  const groups = follow({ ...cell, knows: "groups" }, caseOf(settings, size, 0, "index"), settings, [0]);
  expect(groups.returns).toHaveLength(settings.updates + 1);
});

test("every rule changes what is found", () => {
  const found = (cell: Partial<Cell>, changes: object) => {
    const changed = { ...settings, updates: 5, rules: { ...rules, ...changes } };
    const whole: Cell = { ...theorem, sees: "shared", ...cell };
    return follow(whole, caseOf(settings, size, 0, "shared"), changed, [0]).returns;
  };
  const cases: readonly (readonly [Partial<Cell>, object])[] = [
    [{}, { clip: 0.05 }],
    [{ carry: "clipped", optimise: "kl" }, { carryClip: 0.02 }],
    [{ knows: "groups" }, { groupSize: 3 }],
    [{ optimise: "kl" }, { eta: 0.1 }],
    [{ optimise: "trust" }, { delta: 0.001 }],
    [{ optimise: "steps" }, { steps: 2 }],
    [{ optimise: "steps" }, { stepSize: 0.1 }],
    [{ optimise: "respond" }, { floor: 0.1 }],
  ];
  for (const [cell, changes] of cases) expect(found(cell, changes), JSON.stringify(changes)).not.toEqual(found(cell, {}));
});

test("the tables have a row for each sight and operator; as JSON there is every cell with its verdict", () => {
  const small = { ...settings, problems: 2, updates: 15 };
  const lines = labLines({}, small);
  const rowsOf = (start: string) => lines.filter((line) => line.startsWith(start));
  expect(rowsOf("history, respond ")[0]).toMatch(/^history, respond( +0){11}$/);
  expect(rowsOf("history, maximise ")[1]).toMatch(/^history, maximise +\d+( +\d+){10}$/);
  expect(rowsOf("history, respond ")[2]).toMatch(/^history, respond +2 +2 +1 +2 +1 /);
  expect(rowsOf("shared, steps, groups ")).toHaveLength(3);
  const json = JSON.parse(labLines({ json: true }, small).join("")) as { format: string; cells: { id: string }[] };
  expect(json).toMatchObject({ format: "retrograde-lab/3", settings: { problems: 2 } });
  expect(json.cells.map(({ id }) => id)).toEqual(allCells().map(idOf));
  expect(json.cells.find(({ id }) => id === idOf({ ...theorem, optimise: "respond" }))).toEqual({
    ...{ id: "grae.ppu.turn.reverse.m-exact.history.respond.exact", fell: 0, reached: 1, updatesToReach: 1, worstDrop: 0 },
  });
});

test("231 combinations, each once; a joint update carries no M", () => {
  const cells = allCells();
  expect(new Set(cells.map(idOf)).size).toBe(231);
  expect([rows.length, columns.length]).toEqual([21, 11]);
  expect(cells.every(({ order, carry }) => order !== "joint" || carry === "off")).toBe(true);
  expect(idOf(theorem)).toBe("grae.ppu.turn.reverse.m-exact.history.maximise.exact");
});
