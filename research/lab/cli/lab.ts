import { ConfigError } from "../../../src/core/errors.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import { bar, count, duration, table } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { cellOf, idOf } from "../cell.ts";
import { fullSizes, type LabSettings, labRulesSchema, labSettingsSchema } from "../config.ts";
import { type CellResult, checkSizes, judge, type Laboratory, laboratory, type Progress, runGrid } from "../grid.ts";
import { circumstances, paperTable } from "../paper.ts";
import { questionRows, questions } from "../questions.ts";
import { cellLines, examplesOf, exclusions, legend, paperRows, reportJson } from "../report.ts";

export interface LabFlags {
  readonly json?: boolean;
  readonly full?: boolean;
  readonly cell?: string;
  readonly [setting: string]: unknown;
}

/** Runs the grid or one cell of it. @param progress where progress goes; with `--json` not where the result goes */
export function labCommand(flags: LabFlags, screen: Screen, progress: Screen): void {
  const settings = labSettingsOf(flags);
  const lab = laboratory(settings);
  const results = flags.cell === undefined ? runAll(lab, progress) : [runOne(flags.cell, lab)];
  if (flags.json === true) screen.line(JSON.stringify(reportJson(settings, results), (_, value: unknown) => value ?? null));
  else for (const line of flags.cell === undefined ? overview(settings, results) : cellLines(results[0])) screen.line(line);
}

/** @throws ConfigError naming the flag */
export function labSettingsOf({ full, ratio, ...flags }: LabFlags): LabSettings {
  const number = (name: string, value: unknown) => {
    if (String(value).trim() === "" || Number.isNaN(Number(value))) throw new ConfigError(name, value, { expected: "a number" });
    return Number(value);
  };
  const given = Object.entries(flags)
    .filter(([name]) => name in labSettingsSchema.shape || name in labRulesSchema.shape)
    .map(([name, value]): [string, unknown] => [
      name,
      lists.has(name)
        ? String(value)
            .split(",")
            .map((part) => number(name, part))
        : number(name, value),
    ]);
  const rules = given.filter(([name]) => name in labRulesSchema.shape);
  const others = given.filter(([name]) => !(name in labRulesSchema.shape));
  return parseSettings(labSettingsSchema, {
    ...(full === true ? fullSizes : {}),
    ...Object.fromEntries(others),
    rules: { ...Object.fromEntries(rules), ...(ratio === undefined ? {} : { ratio }) },
  });
}

const lists = new Set(["turns", "contexts"]);

function runOne(id: string, lab: Laboratory): CellResult {
  const cell = cellOf(id);
  checkSizes(lab.settings, [cell]);
  return judge(cell, lab);
}

function runAll(lab: Laboratory, screen: Screen): CellResult[] {
  try {
    return runGrid(lab, progressOn(screen));
  } finally {
    screen.clear();
  }
}

/** Shows how far a run is: in place on a terminal, else a line for each tenth. */
export function progressOn(screen: Screen): (progress: Progress) => void {
  const started = performance.now();
  let tenths = 0;
  return ({ done, total }) => {
    const seconds = (performance.now() - started) / 1000;
    const left = duration((seconds / done) * (total - done));
    screen.status(`${bar(done / total, 20)}  ${count(done)}/${count(total)} cells  ${left} left`);
    if (screen.live || Math.floor((10 * done) / total) <= tenths) return;
    tenths = Math.floor((10 * done) / total);
    screen.line(`${tenths * 10} % of ${count(total)} cells, ${duration(seconds)}`);
  };
}

/** What a run of the whole grid prints. */
export function overview(settings: LabSettings, results: readonly CellResult[]): string[] {
  const { seed, turns, contexts, actions, tokens, answers, problems, updates } = settings;
  const run = results.filter(({ status }) => status === "run").length;
  return [
    `${count(results.length)} combinations, ${count(run)} run. Seed ${seed}; turns ${turns.join(", ")}; contexts ${contexts.join(", ")}; ` +
      `${actions} actions of ${tokens} tokens, ${answers} answers between turns; ${problems} problems of each size, ${updates} updates`,
    ...(turns.some((t) => t > 1)
      ? ["Turn by turn, advantages R − J, exact expectations, several turns:", ...questionLines(results)]
      : []),
    "",
    ...legend,
    "",
    "BESIDE THE PAPER'S TABLE, several turns (paper ✓: convergence is claimed)",
    ...table(paperRows(results, "multi")),
    ...(turns.includes(1) ? ["", "BESIDE THE PAPER'S TABLE, one turn", ...table(paperRows(results, "single"))] : []),
    "",
    "NOT RUN",
    ...exclusions(results).map(({ why, cells }) => `${String(cells).padStart(5)}  ${why}`),
    "",
    "SMALLEST COUNTER-EXAMPLES of the paper's rows, where the maximiser has exact advantages (--cell ID prints any other)",
    ...paperExamples(results),
  ];
}

function questionLines(results: readonly CellResult[]): string[] {
  return questions.flatMap((question) => ["", question.question, ...table(questionRows(results, question))]);
}

function paperExamples(results: readonly CellResult[]): string[] {
  const byId = new Map(results.map((result) => [result.id, result]));
  const exact = circumstances.filter(({ optimise, knows }) => optimise === "maximise" && knows === "exact");
  return paperTable.flatMap(({ cells }) =>
    cells.flatMap((cell) =>
      exact.flatMap((circumstance) => {
        const result = byId.get(idOf({ ...cell, ...circumstance }));
        return result?.multi === undefined ? [] : examplesOf(result.cell, result.multi);
      }),
    ),
  );
}
