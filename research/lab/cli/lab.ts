import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { allCells, cellOf, idOf, knowledge } from "../../../extensions/lab/cell.ts";
import { fullEffort, fullSizes, type LabSettings, labSettingsSchema } from "../../../extensions/lab/config.ts";
import { sizesOf } from "../../../extensions/lab/experiment.ts";
import {
  type CellResult,
  checkSizes,
  judge,
  type Laboratory,
  laboratory,
  type Progress,
  runGrid,
} from "../../../extensions/lab/grid.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import { makeFolder } from "../../../src/files/folder.ts";
import { bar, count, duration, table } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { ownProgram } from "../../own-program.ts";
import { circumstances, paperTable } from "../paper.ts";
import { questionRows, questions } from "../questions.ts";
import { cellLines, examplesOf, exclusions, gridRows, legend, paperRows, reportJson } from "../report.ts";
import { curvesSvg, gridSvg, tellingCurves } from "../svg.ts";

export interface LabFlags {
  readonly json?: boolean;
  readonly full?: boolean;
  readonly cell?: string;
  readonly svg?: string;
  /** The second half of the grid, written to this file: how a run uses a second core. */
  readonly half?: string;
  readonly [setting: string]: unknown;
}

/** Runs the grid or one cell of it. @param progress where progress goes; with `--json` not where the result goes */
export async function labCommand(flags: LabFlags, screen: Screen, progress: Screen): Promise<void> {
  const settings = labSettingsOf(flags);
  const lab = laboratory(settings, flags.full === true ? fullEffort : 1);
  if (flags.half !== undefined) {
    writeFileSync(flags.half, JSON.stringify(runGrid(lab, () => {}, { part: 1, parts: 2 })));
    return;
  }
  if (flags.svg !== undefined) makeFolder(flags.svg); // before minutes of work
  const results = flags.cell === undefined ? await runAll(lab, progress) : [runOne(flags.cell, lab)];
  if (flags.svg !== undefined) drawings(flags.svg, results, lab);
  if (flags.json === true) screen.line(JSON.stringify(reportJson(settings, results), (_, value: unknown) => value ?? null));
  else for (const line of flags.cell === undefined ? overview(settings, results) : cellLines(results[0])) screen.line(line);
}

/** @throws ConfigError naming the flag */
export function labSettingsOf(flags: LabFlags): LabSettings {
  const one = (name: string) => numberOf(name, flags[name]);
  const list = (name: string) =>
    flags[name] === undefined
      ? undefined
      : String(flags[name])
          .split(",")
          .map((part) => numberOf(name, part));
  const given = {
    ...(flags.full === true ? fullSizes : {}),
    ...defined({
      seed: one("seed"),
      turns: list("turns"),
      contexts: list("contexts"),
      tokens: one("tokens"),
      actions: one("actions"),
      answers: one("answers"),
      problems: one("problems"),
      updates: one("updates"),
    }),
    rules: defined({
      clip: one("clip"),
      carryClip: one("carryClip"),
      groupSize: one("groupSize"),
      steps: one("steps"),
      stepSize: one("stepSize"),
      ratio: flags.ratio,
      eta: one("eta"),
      delta: one("delta"),
      floor: one("floor"),
    }),
  };
  return parseSettings(labSettingsSchema, given);
}

function numberOf(name: string, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (String(value).trim() === "" || Number.isNaN(number)) throw new ConfigError(name, value, { expected: "a number" });
  return number;
}

function defined(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function runOne(id: string, lab: Laboratory): CellResult {
  const cell = cellOf(id);
  checkSizes(lab.settings, [cell]);
  return judge(cell, lab);
}

/** The whole grid: on two cores where there are two, each a half. Cells do not depend on each other, so that the result is the same. */
async function runAll(lab: Laboratory, screen: Screen): Promise<CellResult[]> {
  const started = performance.now();
  let tenths = 0;
  const show = ({ done, total }: Progress) => {
    const seconds = (performance.now() - started) / 1000;
    const left = duration((seconds / done) * (total - done));
    screen.status(`${bar(done / total, 20)}  ${count(done)}/${count(total)} cells  ${left} left`);
    if (!screen.live && Math.floor((10 * done) / total) > tenths) {
      tenths = Math.floor((10 * done) / total);
      screen.line(`${tenths * 10} % of ${count(total)} cells, ${duration(seconds)}`);
    }
  };
  checkSizes(lab.settings, allCells());
  const second = availableParallelism() > 1 ? startSecondHalf() : undefined;
  try {
    const own = runGrid(lab, show, { part: 0, parts: second === undefined ? 1 : 2 });
    const byId = new Map([...own, ...((await second?.results) ?? [])].map((result) => [result.id, result]));
    return allCells().flatMap((cell) => byId.get(idOf(cell)) ?? []);
  } finally {
    screen.clear();
    second?.end();
  }
}

/** Runs the other half by the same command line in a process of its own. */
function startSecondHalf(): { readonly results: Promise<CellResult[]>; end(): void } {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-lab-"));
  const file = join(folder, "half.json");
  const child = spawn(process.execPath, [...process.execArgv, ...ownProgram, ...process.argv.slice(2), "--half", file], {
    stdio: "ignore",
  });
  const results = new Promise<CellResult[]>((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => {
      if (code === 0) resolve(JSON.parse(readFileSync(file, "utf8")));
      else reject(new Error(`The process for half of the grid ended with exit code ${code}.`));
    });
  });
  results.catch(() => {}); // reported where it is awaited
  return {
    results,
    end: () => {
      child.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function overview(settings: LabSettings, results: readonly CellResult[]): string[] {
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
    ...(turns.some((t) => t > 1) ? gridLines("SEVERAL TURNS", results, "multi") : []),
    ...(turns.includes(1) ? gridLines("ONE TURN (orders and M are the joint update)", results, "single") : []),
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

function gridLines(title: string, results: readonly CellResult[], which: "single" | "multi"): string[] {
  return knowledge.flatMap((knows) => ["", `${title}, ${knows}`, ...table(gridRows(results, which, knows))]);
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

function drawings(folder: string, results: readonly CellResult[], lab: Laboratory): void {
  const size = sizesOf(lab.settings).reduce((a, b) => (b.turns * 10 + b.contexts > a.turns * 10 + a.contexts ? b : a));
  const words = `${size.turns} turns, ${size.contexts} contexts, ${lab.settings.problems} problems, seed ${lab.settings.seed}`;
  const curves = tellingCurves(size, lab.settings, lab.caseFor);
  writeFileSync(join(folder, "curves.svg"), curvesSvg(curves, `(J − worst) / (J* − worst) over updates: ${words}`));
  if (results.length === allCells().length)
    writeFileSync(
      join(folder, "grid.svg"),
      gridSvg(
        results,
        "Several turns, exact. ↑ never falls, ↓ falls; per cent of problems that reach J*, and after how many updates half of them",
      ),
    );
}
