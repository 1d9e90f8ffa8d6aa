import { expect, test } from "vitest";
import { ConfigError } from "../../src/core/errors.ts";
import { allCells, type Cell, cellOf, idOf, sameAs, voidReason } from "./cell.ts";
import { labSettingsSchema } from "./config.ts";
import { type Worked, work } from "./counterexample.ts";
import { exampleLines } from "./example-text.ts";
import { caseOf, caseStore, examine, follow, sizesOf } from "./experiment.ts";
import { checkSizes, judge, laboratory, type Verdict } from "./grid.ts";

const settings = labSettingsSchema.parse({ problems: 4, updates: 60 });
const small = labSettingsSchema.parse({ problems: 2, updates: 10 });

/** J by its definition: a walk down the tree, sharing nothing with the lab's tables but the order of the rows. */
function returnByHand(worked: Worked, policy: readonly number[], sees: Cell["sees"]): number {
  const { turns, vocabulary, contexts } = worked.size;
  expect(worked.size.tokens).toBe(1);
  const histories = (vocabulary ** turns - 1) / (vocabulary - 1);
  const leaves = vocabulary ** turns;
  const below = (x: number, t: number, history: number): number => {
    if (t === turns) return worked.rewards[x * leaves + history];
    const earlier = (vocabulary ** t - 1) / (vocabulary - 1);
    const row = sees === "history" ? x * histories + earlier + history : sees === "index" ? t : 0;
    let sum = 0;
    for (let a = 0; a < vocabulary; a++) sum += policy[row * vocabulary + a] * below(x, t + 1, history * vocabulary + a);
    return sum;
  };
  let sum = 0;
  for (let x = 0; x < contexts; x++) sum += below(x, 0, 0);
  return sum / contexts;
}

function multi(id: string): Verdict {
  const { multi: verdict } = judge(cellOf(id), laboratory(settings));
  if (verdict === undefined) throw new Error(`${id} is void`);
  return verdict;
}

const theorem = [
  "grae.ppu.turn.reverse.m-exact",
  "gae.ppu.turn.reverse.m-off",
  "gae.ppu.token.joint.m-off",
  "grae.ppu.turn.reverse.m-off",
];

test.each(theorem)("full history, exact advantages, exact maximiser: %s never falls and reaches J*", (algorithm) => {
  const verdict = multi(`${algorithm}.history.maximise.exact`);
  expect(verdict).toMatchObject({ monotone: true, shares: { fell: 0, reached: 1 }, drop: undefined, worstDrop: 0 });
});

/** The change of one assumption that breaks it, and what an example of the break must be. */
const breaks: readonly (readonly [string, string])[] = [
  ["turns that see their own index only, updated together", "grae.ppu.turn.joint.m-off.index.maximise.exact"],
  ["the same with turn updates in reverse, without M", "grae.ppu.turn.reverse.m-off.index.maximise.exact"],
  [
    "the same with M, but a critic that knows nothing of the turn updates made",
    "gae.ppu.turn.reverse.m-exact.index.maximise.exact",
  ],
  ["one table shared by all turns", "grae.ppu.turn.reverse.m-exact.shared.maximise.exact"],
  ["division by σ, where contexts share a table", "grae-std.ppu.turn.reverse.m-exact.index.maximise.exact"],
  ["sampled groups", "grae.ppu.turn.reverse.m-exact.history.maximise.groups"],
];

test.each(breaks)("%s: an update lowers J, recomputed by hand", (_, id) => {
  const { drop, monotone } = multi(id);
  expect(monotone).toBe(false);
  if (drop === undefined) throw new Error("no counter-example");
  const { sees } = cellOf(id);
  const [before, after] = [returnByHand(drop, drop.policy, sees), returnByHand(drop, drop.policyAfter, sees)];
  expect(after).toBeLessThan(before - 1e-6);
  expect(drop.before).toBeCloseTo(before, 12);
  expect(drop.after).toBeCloseTo(after, 12);
});

test("by hand: two turns that pull together overshoot", () => {
  // R(a a) = 1, R(a b) = R(b a) = 10, R(b b) = 0, both tables 1/2. Each turn alone does better with a: 5.5 against 5. Both go to 0.6, the edge of
  // the clip range: J = 0.36·1 + 2·0.24·10 + 0.16·0 = 5.16, and it was 5.25.
  const id = "grae.ppu.turn.joint.m-off.index.maximise.exact";
  const example = {
    size: { turns: 2, tokens: 1, vocabulary: 2, contexts: 1 },
    rewards: [1, 10, 10, 0],
    policy: [0.5, 0.5, 0.5, 0.5],
    turnUpdates: [[0, 1]],
  };
  const worked = work(cellOf(id), settings.rules, example);
  expect(worked.before).toBe(5.25);
  expect(worked.after).toBeCloseTo(5.16, 12);
  expect(exampleLines(cellOf(id), worked).join("\n")).toMatchInlineSnapshot(`
    "An update that lowers J: grae.ppu.turn.joint.m-off.index.maximise.exact
    2 turns of 1 token, 2 tokens to choose from, 1 context; turns updated: 1 and 2
    trajectory  π        R       A
      a a       0.25     1       -4.25
      a b       0.25     10      4.75
      b a       0.25     10      4.75
      b b       0.25     0       -5.25
    tables, before → after
      turn 1  a 0.5  b 0.5  →  a 0.6  b 0.4
      turn 2  a 0.5  b 0.5  →  a 0.6  b 0.4
    J 5.25 → 5.16 (J* = 10)"
  `);
  // With M the second turn update sees that the first has moved, and J rises.
  const withM = cellOf("grae.ppu.turn.reverse.m-exact.index.maximise.exact");
  expect(work(withM, settings.rules, { ...example, turnUpdates: [[1], [0]] }).after).toBeGreaterThan(5.25);
});

test("a maximiser that may give a probability of 0 throws away what is better later", () => {
  const problems = { problems: 16, updates: 200, turns: [2], contexts: [1] };
  const worst = (floor: number) => {
    const changed = labSettingsSchema.parse({ ...problems, rules: { floor } });
    const verdict = judge(cellOf("gae.ppu.token.joint.m-off.history.maximise.exact"), laboratory(changed)).multi;
    return verdict;
  };
  expect(worst(1e-3)).toMatchObject({ monotone: true, shares: { reached: 1 } });
  expect(worst(0)?.monotone).toBe(true);
  expect(worst(0)?.shares.resting).toBeGreaterThan(0);
});

test("turns that see their index only come to rest in a local optimum, though M is exact", () => {
  const verdict = multi("grae.ppu.turn.reverse.m-exact.index.maximise.exact");
  expect(verdict.monotone).toBe(true);
  expect(verdict.shares.resting).toBeGreaterThan(0);
});

test("a cell alone has the verdict that it has in the grid, and the same again with the same seed", () => {
  const ids = ["grae.ppu.turn.random.m-clipped.shared.steps.groups", "gae.ppu.token.joint.m-off.index.maximise.exact"];
  const lab = laboratory(small);
  const inGrid = new Map(
    allCells()
      .filter(({ advantage, level, sees }) => advantage !== "grae-std" && level !== "sequence" && sees !== "history")
      .filter(({ sees, order, update }) => update === "ppu" && sees === (order === "random" ? "shared" : "index"))
      .filter(({ order, carry }) => carry !== "exact" && (order === "joint" || order === "random"))
      .filter(({ order, optimise, knows }) =>
        order === "random" ? optimise === "steps" : optimise === "maximise" && knows === "exact",
      )
      .map((cell) => [idOf(cell), JSON.stringify(judge(cell, lab))]),
  );
  for (const id of ids) expect(JSON.stringify(judge(cellOf(id), laboratory(small)))).toBe(inGrid.get(id));
});

test("another seed draws other problems; every setting of the rules changes what is found", () => {
  const id = "grae-std.ppu.turn.random.m-clipped.shared.steps.groups";
  const finding = (changes: object) => {
    const changed = labSettingsSchema.parse({ problems: 2, updates: 10, ...changes });
    return JSON.stringify(examine(cellOf(id), sizesOf(changed)[3], changed, caseStore(changed)));
  };
  const plain = finding({});
  const changes = [
    { seed: 1 },
    { rules: { clip: 0.05 } },
    { rules: { carryClip: 0.02 } },
    { rules: { groupSize: 3 } },
    { rules: { steps: 2 } },
    { rules: { stepSize: 0.1 } },
    { rules: { ratio: "plain" } },
  ];
  for (const change of changes) expect(finding(change), JSON.stringify(change)).not.toBe(plain);
  const maximised = (floor: number) => {
    const given = caseOf({ seed: 0 }, { turns: 1, tokens: 2, vocabulary: 2, contexts: 1 }, 0, "history");
    const rules = { ...settings.rules, floor };
    return follow(cellOf("gae.ppu.turn.joint.m-off.history.maximise.exact"), given, { seed: 0, updates: 60, rules }, [1, 1, 0])
      .gap;
  };
  expect(maximised(0.1)).toBeGreaterThan(maximised(1e-3));
});

test("14,400 combinations: each void one says why, each repetition whose it is", () => {
  const cells = allCells();
  expect(cells).toHaveLength(14_400);
  expect(new Set(cells.map(idOf)).size).toBe(14_400);
  expect(cells.filter((_, i) => i % 97 === 0).every((cell) => idOf(cellOf(idOf(cell))) === idOf(cell))).toBe(true);
  const run = cells.filter((cell) => voidReason(cell) === undefined && sameAs(cell) === undefined);
  expect(run).toHaveLength(2310);
  const lab = laboratory(small);
  expect(judge(cellOf("grae.ppu.turn.joint.m-exact.history.maximise.exact"), lab)).toMatchObject({
    status: "void",
    multi: undefined,
  });
  expect(judge(cellOf("grae.reinforce.sequence.joint.m-off.index.steps.exact"), lab)).toMatchObject({
    status: "same",
    sameAs: "grae.reinforce.turn.joint.m-off.index.steps.exact",
  });
  expect(judge(cellOf("grae.ppu.turn.random.m-off.history.steps.exact"), lab)).toMatchObject({
    status: "same",
    sameAs: "grae.ppu.turn.joint.m-off.history.steps.exact",
  });
});

test("what cannot be run is refused before it starts", () => {
  expect(() => cellOf("grae.ppu.turn.revers.m-exact.history.maximise.exact")).toThrow(/Part 4, "revers", can be joint, reverse/);
  const check = (changes: object) => () => checkSizes(labSettingsSchema.parse(changes), allCells());
  expect(check({ actions: 5 })).toThrow(ConfigError);
  expect(check({ actions: 9, turns: [4] })).toThrow(/104976/);
  expect(check({ turns: [4], problems: 1000 })).toThrow(/operations/);
});
