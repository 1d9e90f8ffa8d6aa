import { expect, test } from "vitest";
import { cellOf } from "./cell.ts";
import { labSettingsSchema } from "./config.ts";
import { counterexample, work } from "./counterexample.ts";
import type { Reach } from "./experiment.ts";
import { checkSizes, judge, laboratory, type Verdict } from "./grid.ts";

const settings = labSettingsSchema.parse({ problems: 3, updates: 15 });
const verdictOf = (id: string, changes: object = {}) =>
  judge(cellOf(id), laboratory(labSettingsSchema.parse({ ...settings, ...changes })));

function totals({ findings }: Verdict) {
  const sum = (of: (finding: Verdict["findings"][number]) => number) => findings.reduce((all, finding) => all + of(finding), 0);
  const problems = sum((finding) => finding.problems);
  const share = (of: "fell" | Reach) => sum((finding) => finding[of]) / problems;
  const reached = findings.flatMap(({ reachedAt }) => reachedAt).map((at) => at ?? Number.POSITIVE_INFINITY);
  const lowerMedian = reached.sort((a, b) => a - b)[Math.floor((reached.length - 1) / 2)];
  return {
    dropRate: sum(({ drops }) => drops) / sum(({ updates }) => updates),
    worstDrop: Math.max(...findings.map(({ worstDrop }) => worstDrop)),
    shares: {
      ...{ fell: share("fell"), reached: share("reached"), rising: share("rising") },
      ...{ resting: share("resting"), plateau: share("plateau") },
    },
    updatesToReach: lowerMedian === Number.POSITIVE_INFINITY ? null : lowerMedian,
  };
}

test("a verdict adds the findings of its sizes up, one turn apart from several", () => {
  const id = "grae.ppu.turn.reverse.m-exact.shared.maximise.exact";
  const { single, multi, status } = verdictOf(id);
  expect([status, single?.findings.map(({ turns }) => turns), multi?.findings.map(({ turns }) => turns)]).toEqual([
    "run",
    [1, 1],
    [2, 2],
  ]);
  for (const verdict of [single, multi]) {
    if (verdict === undefined) throw new Error("no verdict");
    expect(verdict).toMatchObject(totals(verdict));
    const { fell: _, ...ends } = verdict.shares;
    expect(Object.values(ends).reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
  }
  expect(multi).toMatchObject({ monotone: false, fallsInExpectation: undefined });
  expect(multi?.shares.fell).toBeGreaterThan(0);
  expect(verdictOf(id, { turns: [2] })).toMatchObject({ single: undefined, multi: { dropRate: multi?.dropRate } });
  expect(verdictOf(id, { turns: [1] }).multi).toBeUndefined();
});

test("of sampled groups a verdict says whether J falls in expectation, and shows an example where the problems show none", () => {
  const { multi } = verdictOf("grae.ppu.turn.random.m-off.shared.steps.groups", { turns: [2] });
  if (multi === undefined) throw new Error("no verdict");
  expect(multi.fallsInExpectation).toBe(multi.findings.some(({ fallsInExpectation = 0 }) => fallsInExpectation > 0));
  expect(multi.shares.fell > 0 ? multi.drop : undefined).toBeUndefined();
});

test("a verdict that is known is not computed again", () => {
  const lab = laboratory(settings);
  const cell = cellOf("gae.ppu.token.joint.m-off.index.maximise.exact");
  expect(judge(cell, lab).multi).toBe(judge(cell, lab).multi);
  expect([...lab.known.keys()]).toEqual(["one turn", "several turns"].map((turns) => expect.stringContaining(turns)));
});

test("sizes: at most 4,096 trajectories of a problem, and 3e11 operations", () => {
  const check = (changes: object, ids: readonly string[] = []) => {
    const checked = labSettingsSchema.parse({ turns: [4], contexts: [2], problems: 1000, updates: 5000, ...changes });
    return () => checkSizes(checked, ids.map(cellOf));
  };
  // contexts · 4 actions · (4 actions · 2 answers)^3: 2 · 2,048, and 3 · 2,048.
  expect(check({})).not.toThrow();
  expect(check({ contexts: [3] })).toThrow("is 6144; expected at most 4096");
  expect(check({ actions: 3, tokens: 2, turns: [1] })).toThrow("a power of the tokens of an action (--tokens 2): 4, 9, 16");

  // (1.5 · 4,096 trajectories · 1 pass + 2 · 4,096 of J) · 4 turns · 2 tokens = 114,688 an update.
  const exact = ["grae.ppu.turn.joint.m-off.history.maximise.exact"];
  expect(check({}, exact)).toThrow("is 570000000000; expected at most 300000000000");
  expect(check({ updates: 2600 }, exact)).not.toThrow();
  expect(check({ updates: 2620 }, exact)).toThrow("is 300000000000;");
  // (2 · 8 sampled · 4 turn updates · 100 steps + 2 · 4,096) · 4 · 2 = 116,736.
  const groups = ["grae.ppu.turn.reverse.m-off.index.steps.groups"];
  expect(check({ rules: { steps: 100, groupSize: 8 } }, groups)).toThrow("is 580000000000;");
  expect(check({ rules: { steps: 100, groupSize: 8 } }, [...exact, ...groups])).toThrow("is 1200000000000;");
});

test("an example has every trajectory of its batch, with what it weighs and what its turns are credited", () => {
  // R(a a) = 1, R(a b) = R(b a) = 10, R(b b) = 0, all tables 1/2: J = 21/4.
  const example = {
    size: { turns: 2, tokens: 1, vocabulary: 2, contexts: 1 },
    rewards: [1, 10, 10, 0],
    policy: [0.5, 0.5, 0.5, 0.5],
    turnUpdates: [[0, 1]],
  };
  const cell = cellOf("grae.ppu.turn.joint.m-off.index.maximise.exact");
  const worked = work(cell, settings.rules, example);
  expect(worked).toMatchObject({ before: 5.25, best: 10 });
  expect(worked.trajectories).toEqual(
    [1, 10, 10, 0].map((reward, leaf) => ({
      context: 0,
      leaf,
      weight: 0.25,
      reward,
      advantages: [reward - 5.25, reward - 5.25],
    })),
  );
  // Two of a group: half each, credited against their mean of 5.
  const sampled = work({ ...cell, knows: "groups" }, settings.rules, { ...example, group: [1, 3] });
  expect(sampled.trajectories).toEqual([
    { context: 0, leaf: 1, weight: 0.5, reward: 10, advantages: [5, 5] },
    { context: 0, leaf: 3, weight: 0.5, reward: 0, advantages: [-5, -5] },
  ]);
});

test("the known example of a cell falls visibly under these rules, and serves where the last answer is seen", () => {
  const index = cellOf("grae.ppu.turn.joint.m-off.index.maximise.exact");
  const found = counterexample(index, settings.rules, "several turns");
  if (found === undefined) throw new Error("no example");
  expect(found.before - found.after).toBeGreaterThan(1e-6);
  const lastAnswer = counterexample({ ...index, sees: "last-answer" }, settings.rules, "several turns");
  expect(lastAnswer).toEqual(found);
  // With a step that moves nothing, nothing falls.
  expect(counterexample(index, { ...settings.rules, clip: 1e-9 }, "several turns")).toBeUndefined();
  expect(
    counterexample(cellOf("gae.ppu.turn.reverse.m-off.history.maximise.exact"), settings.rules, "several turns"),
  ).toBeUndefined();
});
