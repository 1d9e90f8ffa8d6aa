import { expect, test } from "vitest";
import { allCells, cellOf, idOf } from "./cell.ts";
import { overview } from "./cli/lab.ts";
import { labSettingsSchema } from "./config.ts";
import type { Finding } from "./experiment.ts";
import type { CellResult, Shares, Verdict } from "./grid.ts";
import { circumstances, paperTable } from "./paper.ts";
import { answersTo, questionRows, questions } from "./questions.ts";
import { cellLines, exclusions, legend, paperRows, reportJson, sign } from "./report.ts";

const shares: Shares = { fell: 0, reached: 0, rising: 0, resting: 0, plateau: 0 };
const verdictOf = (changes: Partial<Verdict> = {}): Verdict => ({
  ...{ monotone: true, fallsInExpectation: undefined, shares: { ...shares, reached: 1 }, updatesToReach: 3 },
  ...{ dropRate: 0, worstDrop: 0, findings: [], drop: undefined, ...changes },
});
const theorem = "grae.ppu.turn.reverse.m-exact.history.maximise.exact";
const cellOfTheorem = cellOf(theorem);
const resultOf = (id: string, changes: Partial<CellResult> = {}): CellResult => ({
  ...{ id, cell: cellOfTheorem, status: "run", why: undefined, sameAs: undefined, single: undefined, multi: verdictOf() },
  ...changes,
});

test.each<[string, Verdict | undefined]>([
  ["–", undefined],
  ["↑100·3", verdictOf()],
  ["↑0", verdictOf({ shares, updatesToReach: null })],
  ["↓67·1", verdictOf({ monotone: false, shares: { ...shares, reached: 2 / 3, rising: 1 / 3 }, updatesToReach: 1 })],
  [
    "≈50…",
    verdictOf({
      monotone: false,
      fallsInExpectation: false,
      shares: { ...shares, reached: 0.5, rising: 0.5 },
      updatesToReach: null,
    }),
  ],
  [
    "↓25✗",
    verdictOf({
      monotone: false,
      fallsInExpectation: true,
      shares: { ...shares, reached: 0.25, rising: 0.25, resting: 0.5 },
      updatesToReach: null,
    }),
  ],
  ["↑40~", verdictOf({ shares: { ...shares, reached: 0.4, resting: 0.2, plateau: 0.4 }, updatesToReach: null })],
  // Of equal shares the first counts.
  ["↑0…", verdictOf({ shares: { ...shares, rising: 0.5, resting: 0.5 }, updatesToReach: null })],
])("the sign %s", (text, verdict) => {
  expect(sign(verdict)).toBe(text);
});

test("the legend has every sign, and the tolerance", () => {
  expect(legend).toEqual([
    "↑ no update lowered J   ≈ groups: updates lowered J, but not on average   ↓ updates lowered J (groups: on average, for some problem)   – void",
    "Then: per cent of problems that came within 1 % of J*, and ·N the updates after which half of them had; else what most of the others do:",
    "… rising still   ✗ at rest: the policy moves no more   ~ on a plateau: it moves, and J hardly does",
  ]);
});

const results = allCells().map((cell) => resultOf(idOf(cell), { cell }));

test("the paper's table has a row for each combination and a column for each circumstance", () => {
  const [sees, optimise, knows, ppo, ...rest] = paperRows(results, "multi");
  expect(sees).toEqual(["", "", ...circumstances.map((each) => each.sees)]);
  expect(optimise?.slice(0, 6)).toEqual(["", "", "max", "max", "max", "steps"]);
  expect(knows).toEqual(["example", "paper", ...circumstances.map((each) => each.knows)]);
  expect(ppo?.slice(0, 3)).toEqual(["PPO: gae ppu token", "✓", "↑100·3"]);
  expect(rest.map(([name, claim]) => `${name} ${claim}`)).toEqual([
    "GRPO, REINFORCE++: grae-std ppu token ✗",
    "GRPO, REINFORCE++: grae ppu token ✗",
    "RLOO: grae reinforce sequence ✗",
    "GSPO: grae-std ppu sequence ✗",
    "GSPO: grae ppu sequence ✗",
    "SeeUPO: grae ppu turn, M exact ✓",
    "SeeUPO: grae ppu turn, M paper ✓",
    "SeeUPO: grae ppu turn, M clipped ✓",
  ]);
  const single = paperRows(results, "single");
  expect(single.at(-1)?.slice(1, 4)).toEqual(["–", "–", "–"]);
  expect(single[3]?.[1]).toBe("✓");
});

test("exclusions are counted by their reason", () => {
  const why = (status: "same" | "void", text: string) => resultOf(theorem, { status, why: text });
  expect(exclusions([why("void", "a"), resultOf(theorem), why("same", "a"), why("void", "a")])).toEqual([
    { why: "void: a", cells: 2 },
    { why: "same: a", cells: 1 },
  ]);
});

const finding: Finding = {
  ...({ turns: 2, contexts: 1, problems: 4, updates: 40, drops: 0, worstDrop: 0, worstAt: undefined, worstGap: 0.25 } as Finding),
  ...{ reached: 3, rising: 1, resting: 0, plateau: 0 },
};

test("one cell in full, in sentences", () => {
  expect(cellLines(resultOf(theorem, { multi: verdictOf({ findings: [finding], updatesToReach: 1 }) }))).toEqual([
    theorem,
    "",
    "several turns: no update lowered J; J* is reached in 100 % of problems, half of them after 1 update",
    "  T = 2, 1 context: 4 problems, 0 of 40 updates lowered J; J* reached in 3, rising 1, at rest 0, on a plateau 0, worst gap 0.25",
  ]);
  const fallen = {
    ...{ ...finding, contexts: 2, drops: 3, worstDrop: 0.125, worstAt: { problem: 1, update: 7 } },
    ...{ expectedChange: -0.5, fallsInExpectation: 2 },
  } as Finding;
  const falling = { monotone: false, worstDrop: 0.125, dropRate: 0.075, shares: { ...shares, reached: 0.5 } };
  const verdicts = [
    verdictOf({ ...falling, updatesToReach: null, findings: [fallen] }),
    verdictOf({
      ...falling,
      fallsInExpectation: true,
      updatesToReach: 9,
      findings: [{ ...fallen, expectedChange: 0.5 } as Finding],
    }),
    verdictOf({ ...falling, worstDrop: 0, fallsInExpectation: false }),
  ];
  const lines = verdicts.map((multi) => cellLines(resultOf(theorem, { multi })).slice(2));
  expect(lines).toEqual([
    [
      "several turns: J falls: worst drop in the random problems 0.125, in 7.5 % of updates; J* is reached in 50 % of problems",
      "  T = 2, 2 contexts: 4 problems, 3 of 40 updates lowered J, worst 0.125 (problem 1, update 7); J* reached in 3, rising 1, at rest 0, on a plateau 0, worst gap 0.25; first update -0.5 on average, below 0 in 2 problems",
    ],
    [
      "several turns: J falls: worst drop in the random problems 0.125, in 7.5 % of updates, also on average; J* is reached in 50 % of problems, half of them after 9 updates",
      expect.stringContaining("; first update +0.5 on average"),
    ],
    [
      "several turns: an update can lower J: there is a counter-example, and the random problems have none, not on average; J* is reached in 50 % of problems, half of them after 3 updates",
    ],
  ]);
  const same = resultOf(theorem, { status: "same", sameAs: "other", why: "one turn", single: verdictOf(), multi: undefined });
  expect(cellLines(same)).toEqual([
    ...[theorem, "same as other: one turn", "", expect.stringMatching(/^one turn: no update lowered J/)],
  ]);
  expect(cellLines(resultOf(theorem, { status: "void", why: "nothing", multi: undefined }))).toEqual([theorem, "void: nothing"]);
});

test("questions: a row for each sight and operator, a column for each order and M, and a dash where nothing ran", () => {
  const [first, second, third] = questions;
  if (first === undefined || second === undefined || third === undefined) throw new Error("no questions");
  const [orders, carries, ...rows] = questionRows(results, second);
  expect([orders?.[0], carries?.[0]]).toEqual(["", "a turn sees, operator; M:"]);
  expect(orders).toHaveLength(carries?.length ?? 0);
  expect(new Set(rows.flatMap((row) => row.slice(1)))).toEqual(new Set(["100"]));
  expect(rows[0]?.[0]).toMatch(/^[a-z-]+, [a-z]+$/);
  const answers = answersTo([resultOf(theorem)], third.of);
  expect(answers.filter(({ value }) => value !== null)).toEqual([
    { sees: "history", optimise: "maximise", order: "reverse", carry: "exact", value: 3 },
  ]);
  expect([first.show(null), first.show(0.666), third.show(null), third.show(7)]).toEqual(["–", "67", "–", "7"]);
  expect(
    questionRows([], first)
      .slice(2)
      .flatMap((row) => row.slice(1))
      .every((text) => text === "–"),
  ).toBe(true);
});

test("the page of a whole run: its sizes, questions, both tables, what was not run, and counter-examples", () => {
  const settings = labSettingsSchema.parse({ turns: [1, 2], contexts: [1, 2], problems: 2 });
  const given = [...results.slice(0, 2), resultOf(theorem, { status: "void", why: "no reason" })];
  const page = overview(settings, given);
  expect(page[0]).toBe(
    `3 combinations, 2 run. Seed ${settings.seed}; turns 1, 2; contexts 1, 2; ${settings.actions} actions of ${settings.tokens} tokens, ` +
      `${settings.answers} answers between turns; 2 problems of each size, ${settings.updates} updates`,
  );
  expect(page[1]).toBe("Turn by turn, advantages R − J, exact expectations, several turns:");
  const headings = page.filter((line, i) => page[i - 1] === "" && /^[A-Z]{2}/.test(line)).map((line) => line.split(",")[0]);
  expect(headings).toEqual([
    "DOES ANY ORDER LOWER J? Per cent of problems in which an update did",
    "WHO REACHES J*? Per cent of problems that ended within 1 % of it",
    "HOW FAST? Updates until half of the problems were within 1 % of J*; never: –",
    ...["BESIDE THE PAPER'S TABLE", "BESIDE THE PAPER'S TABLE", "NOT RUN", "SMALLEST COUNTER-EXAMPLES of the paper's rows"],
  ]);
  expect(page).toContain("    1  void: no reason");
  expect(page.at(-1)).toBe(
    "SMALLEST COUNTER-EXAMPLES of the paper's rows, where the maximiser has exact advantages (--cell ID prints any other)",
  );
  const one = overview(labSettingsSchema.parse({ turns: [1] }), given);
  expect(one[1]).toBe("");
  const several = overview(labSettingsSchema.parse({ turns: [2] }), given);
  expect(several.filter((line) => line.startsWith("BESIDE THE PAPER'S TABLE"))).toEqual([
    "BESIDE THE PAPER'S TABLE, several turns (paper ✓: convergence is claimed)",
  ]);
});

test("as JSON: settings, tolerances, cells, answers, the paper's rows by their cells, and what was left out", () => {
  const settings = labSettingsSchema.parse({});
  const json = reportJson(settings, [resultOf(theorem, { status: "void", why: "no reason" })]);
  expect(Object.keys(json)).toEqual(["format", "settings", "tolerances", "cells", "questions", "paper", "excluded"]);
  expect(json).toMatchObject({ format: "retrograde-lab/2", settings, excluded: [{ why: "void: no reason", cells: 1 }] });
  expect(json.questions.map(({ question }) => question)).toEqual(questions.map(({ question }) => question));
  expect(json.paper.map(({ example, cells }) => [example, cells.length])).toEqual(
    paperTable.map(({ example, cells }) => [example, cells.length * circumstances.length]),
  );
  expect(json.paper.at(-1)?.cells[0]).toBe(theorem);
});
