import { expect, test } from "vitest";
import { allCells, cellOf, sameAs, voidReason } from "./cell.ts";
import { labSettingsSchema } from "./config.ts";
import { caseStore, follow } from "./experiment.ts";
import { judge, laboratory } from "./grid.ts";
import { circumstances, paperTable } from "./paper.ts";
import { sign } from "./report.ts";
import { isProduct } from "./update.ts";

const settings = labSettingsSchema.parse({});
const lab = laboratory(settings);

/** Of the tables "BESIDE THE PAPER'S TABLE" of research/notes/lab.md: several turns, and one turn. */
test.each([
  ["grae-std.ppu.sequence.joint.m-off.index.maximise.exact", "↓50·36", "↓75·6"],
  ["grae.ppu.turn.reverse.m-clipped.history.maximise.groups", "≈19~", "≈81·8"],
])("%s is published as %s, and as %s with one turn", (id, several, one) => {
  const { multi, single } = judge(cellOf(id), lab);
  expect(sign(multi)).toBe(several);
  expect(sign(single)).toBe(one);
});

/** J after five updates of one problem, in every part of the grid: arithmetic that another machine or a rewrite must repeat. */
const size = { turns: 2, tokens: 2, vocabulary: 2, contexts: 2, answers: 2 };
const cases = caseStore(settings);
/** J* of that problem by what a turn sees: less of it never helps. */
const bestOf = {
  history: 0.5125302703,
  "last-step": 0.4936493211,
  "last-answer": 0.4936493211,
  index: 0.4852545611,
  shared: 0.3570291354,
};
test.each([
  ["gae.ppu.token.reverse.m-exact.history.maximise.exact", 0.4737633148],
  ["grae-std.ppu.turn.sequential.m-clipped.history.maximise.exact", 0.4460305634],
  ["grae.ppu.sequence.joint.m-off.history.maximise.exact", 0.3983267333],
  ["gae.ppu.turn.random.m-exact.history.respond.exact", 0.5122905323],
  ["grae.reinforce.turn.reverse.m-clipped.history.steps.exact", 0.3195432629],
  ["gae.ppu.sequence.joint.m-off.history.steps.groups", 0.3159612279],
  ["grae.ppu.token.random.m-clipped.history.steps.groups", 0.3201204717],
  ["grae-std.ppu.turn.joint.m-off.history.maximise.groups", 0.348362451],
  ["gae.ppu.token.reverse.m-exact.last-step.maximise.exact", 0.4472405439],
  ["grae-std.ppu.turn.sequential.m-clipped.last-step.maximise.exact", 0.3836869216],
  ["grae.ppu.sequence.joint.m-off.last-step.maximise.exact", 0.3875559024],
  ["gae.ppu.turn.random.m-exact.last-step.respond.exact", 0.4934099174],
  ["grae.reinforce.turn.reverse.m-clipped.last-step.steps.exact", 0.3188293251],
  ["gae.ppu.sequence.joint.m-off.last-step.steps.groups", 0.3008162599],
  ["grae.ppu.token.random.m-clipped.last-step.steps.groups", 0.3154654164],
  ["grae-std.ppu.turn.joint.m-off.last-step.maximise.groups", 0.3105002553],
  ["gae.ppu.token.reverse.m-exact.last-answer.maximise.exact", 0.4450252232],
  ["grae-std.ppu.turn.sequential.m-clipped.last-answer.maximise.exact", 0.4217352922],
  ["grae.ppu.sequence.joint.m-off.last-answer.maximise.exact", 0.4495442993],
  ["gae.ppu.turn.random.m-exact.last-answer.respond.exact", 0.4581588315],
  ["grae.reinforce.turn.reverse.m-clipped.last-answer.steps.exact", 0.3834824311],
  ["gae.ppu.sequence.joint.m-off.last-answer.steps.groups", 0.3681007126],
  ["grae.ppu.token.random.m-clipped.last-answer.steps.groups", 0.3765865968],
  ["grae-std.ppu.turn.joint.m-off.last-answer.maximise.groups", 0.3787938223],
  ["gae.ppu.token.reverse.m-exact.index.maximise.exact", 0.4565502985],
  ["grae-std.ppu.turn.sequential.m-clipped.index.maximise.exact", 0.3942389062],
  ["grae.ppu.sequence.joint.m-off.index.maximise.exact", 0.3941842061],
  ["gae.ppu.turn.random.m-exact.index.respond.exact", 0.4850124959],
  ["grae.reinforce.turn.reverse.m-clipped.index.steps.exact", 0.3436658007],
  ["gae.ppu.sequence.joint.m-off.index.steps.groups", 0.3335774944],
  ["grae.ppu.token.random.m-clipped.index.steps.groups", 0.3339966929],
  ["grae-std.ppu.turn.joint.m-off.index.maximise.groups", 0.3452214364],
  ["gae.ppu.token.reverse.m-exact.shared.maximise.exact", 0.3344683946],
  ["grae-std.ppu.turn.sequential.m-clipped.shared.maximise.exact", 0.3227768431],
  ["grae.ppu.sequence.joint.m-off.shared.maximise.exact", 0.3465411811],
  ["gae.ppu.turn.random.m-exact.shared.respond.exact", 0.286041983],
  ["grae.reinforce.turn.reverse.m-clipped.shared.steps.exact", 0.3276006566],
  ["gae.ppu.sequence.joint.m-off.shared.steps.groups", 0.3231551972],
  ["grae.ppu.token.random.m-clipped.shared.steps.groups", 0.3298149672],
  ["grae-std.ppu.turn.joint.m-off.shared.maximise.groups", 0.3336228026],
  ["grae.ppu.turn.reverse.m-paper.shared.maximise.exact", 0.3475631582],
  ["grae.ppu.turn.sequential.m-exact.index.kl.exact", 0.4650099986],
  ["grae.ppu.turn.reverse.m-clipped.shared.trust.exact", 0.3458401936],
  ["gae.reinforce.token.joint.m-off.shared.steps.groups", 0.3289359651],
  ["gae.ppu.turn.joint.m-off.history.steps.exact", 0.3161255343],
  ["grae-std.ppu.turn.reverse.m-paper.shared.steps.groups", 0.3309521777],
])("J of %s after five updates is %d", (id, end) => {
  const cell = cellOf(id);
  const { returns, best } = follow(cell, cases(size, 0, cell.sees), { ...settings, updates: 5 }, [2, 2, 0]);
  expect(returns.at(-1)).toBeCloseTo(end, 9);
  expect(best).toBeCloseTo(bestOf[cell.sees], 9);
});

test("of a sampled group: the expected change of J by one update, with its standard error, over 32 groups", () => {
  const cell = cellOf("grae.ppu.turn.joint.m-off.index.maximise.groups");
  const { expected } = follow(cell, cases(size, 0, "index"), { ...settings, updates: 1 }, [2, 2, 0]);
  expect(expected).toEqual({ mean: expect.closeTo(0.00104809175, 9), error: expect.closeTo(0.00145254004, 9) });
  expect(
    follow(cellOf("grae.ppu.turn.joint.m-off.index.maximise.exact"), cases(size, 0, "index"), settings, [0]).expected,
  ).toBeUndefined();
});

test("whole trajectories are a product of tables but where one history sees all", () => {
  const of = (turns: number, answers: number) => ({ size: { ...size, turns, answers } });
  const product = (sees: "history" | "index", turns: number, answers: number, level: "sequence" | "turn" = "sequence") =>
    isProduct({ level, sees }, of(turns, answers));
  expect([product("index", 2, 1), product("history", 2, 2)]).toEqual([true, true]);
  expect([product("history", 2, 1), product("index", 1, 1), product("history", 1, 2), product("index", 2, 1, "turn")]).toEqual([
    ...[false, false, false, false],
  ]);
});

test("why combinations mean nothing, or are others'", () => {
  const reasons = (of: (cell: ReturnType<typeof cellOf>) => string | undefined) =>
    [...new Set(allCells().map(of))].filter((why) => why !== undefined);
  expect(reasons(voidReason)).toMatchInlineSnapshot(`
    [
      "A·log π has no maximum: where A < 0 it grows without bound as π goes to 0",
      "M carries what the turns updated before have moved, and a joint update changes all turns at once",
      "equations 6 and 8 have the ratio of a turn",
      "the ratio of a whole trajectory has no parts to update one by one: with an update for each turn it is the turn's ratio (level turn)",
      "HAML's other operators are run in its own form: turns, exact advantages R − J",
      "E[ρA] of whole trajectories is J itself, so its best response is J*",
    ]
  `);
  expect(reasons((cell) => sameAs(cell)?.why)).toMatchInlineSnapshot(`
    [
      "with full history turns share no table, so that updates turn by turn without M, in any order, are the joint update",
      "with a policy for each turn no other update moves it: before its own it is the one that sampled, and eq. 6 and 8 are the exact M",
      "REINFORCE has no ratio, and one advantage for the whole trajectory makes its three levels one",
    ]
  `);
});

test("the paper's table: whether convergence is claimed with one turn and with several, and our cells of each row", () => {
  const rows = paperTable.map(({ example, advantage, update, level, single, multi, cells }) =>
    [example, advantage, update, level, single, multi, ...cells.map((cell) => Object.values(cell).join("."))].join(" | "),
  );
  expect(rows).toMatchInlineSnapshot(`
    [
      "PPO | GAE | PPU | token | true | true | gae.ppu.token.joint.off",
      "GRPO, REINFORCE++ | GRAE | PPU | token | false | false | grae-std.ppu.token.joint.off | grae.ppu.token.joint.off",
      "RLOO | GRAE | REINFORCE | sequence | true | false | grae.reinforce.sequence.joint.off",
      "GSPO | GRAE | PPU | sequence | true | false | grae-std.ppu.sequence.joint.off | grae.ppu.sequence.joint.off",
      "SeeUPO | GRAE | sequential, reverse | turn |  | true | grae.ppu.turn.reverse.exact | grae.ppu.turn.reverse.paper | grae.ppu.turn.reverse.clipped",
    ]
  `);
  expect(circumstances.map(({ sees, optimise, knows }) => `${sees} ${optimise} ${knows}`)).toEqual([
    ...["history maximise exact", "index maximise exact", "shared maximise exact", "history steps exact", "index steps exact"],
    ...["shared steps exact", "history maximise groups", "history steps groups", "shared steps groups"],
  ]);
});
