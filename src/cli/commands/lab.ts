import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../../core/errors.ts";
import { parseSettings } from "../../core/settings.ts";
import { allCells, cellOf, idOf } from "../../lab/cell.ts";
import { fullEffort, fullSizes, type LabSettings, labSettingsSchema } from "../../lab/config.ts";
import { sizesOf } from "../../lab/experiment.ts";
import { type CellResult, checkSizes, isVerdict, judge, type Laboratory, laboratory, runGrid } from "../../lab/grid.ts";
import { circumstances, paperTable } from "../../lab/paper.ts";
import { cellLines, examplesOf, exclusions, gridRows, legend, paperRows, reportJson } from "../../lab/report.ts";
import { stoppingFindings, stoppingRows, stoppingSentence } from "../../lab/stopping-report.ts";
import { curvesSvg, gridSvg, tellingCurves } from "../../lab/svg.ts";
import { bar, count, duration, table } from "../format.ts";
import type { Screen } from "../screen.ts";

export interface LabFlags {
  readonly json?: boolean;
  readonly full?: boolean;
  readonly cell?: string;
  readonly svg?: string;
  readonly [setting: string]: unknown;
}

/** Runs the grid or one cell of it. @param progress where progress goes; with `--json` not where the result goes */
export function labCommand(flags: LabFlags, screen: Screen, progress: Screen): void {
  const settings = labSettingsOf(flags);
  const lab = laboratory(settings, flags.full === true ? fullEffort : 1);
  const results = flags.cell === undefined ? runAll(lab, progress) : [runOne(flags.cell, lab)];
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

function runAll(lab: Laboratory, screen: Screen): CellResult[] {
  const started = performance.now();
  let tenths = 0;
  const results = runGrid(lab, ({ done, total }) => {
    const seconds = (performance.now() - started) / 1000;
    const left = duration((seconds / done) * (total - done));
    screen.status(`${bar(done / total, 20)}  ${count(done)}/${count(total)} cells  ${left} left`);
    if (!screen.live && Math.floor((10 * done) / total) > tenths) {
      tenths = Math.floor((10 * done) / total);
      screen.line(`${tenths * 10} % of ${count(total)} cells, ${duration(seconds)}`);
    }
  });
  screen.clear();
  return results;
}

function overview(settings: LabSettings, results: readonly CellResult[]): string[] {
  const { seed, turns, contexts, actions, tokens, problems, updates } = settings;
  const run = results.filter(({ status }) => status === "run").length;
  const stopping = stoppingFindings(seed);
  return [
    `${count(results.length)} combinations, ${count(run)} run. Seed ${seed}; turns ${turns.join(", ")}; contexts ${contexts.join(", ")}; ` +
      `${actions} actions of ${tokens} tokens; ${problems} problems of each size, ${updates} updates`,
    ...legend,
    ...(turns.some((t) => t > 1) ? ["", "SEVERAL TURNS", ...table(gridRows(results, "multi"))] : []),
    ...(turns.includes(1) ? ["", "ONE TURN (orders and M are the joint update)", ...table(gridRows(results, "single"))] : []),
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
    "",
    "WHEN THE POLICY DECIDES TO STOP: expected gradient of the logits of going on, turn by turn, with infinite groups",
    ...table(stoppingRows(stopping)),
    stoppingSentence(stopping),
  ];
}

function paperExamples(results: readonly CellResult[]): string[] {
  const byId = new Map(results.map((result) => [result.id, result]));
  const exact = circumstances.filter(({ optimise, knows }) => optimise === "maximise" && knows === "exact");
  return paperTable.flatMap(({ cells }) =>
    cells.flatMap((cell) =>
      exact.flatMap((circumstance) => {
        const result = byId.get(idOf({ ...cell, ...circumstance }));
        return result === undefined || !isVerdict(result.multi) ? [] : examplesOf(result.cell, result.multi);
      }),
    ),
  );
}

function drawings(folder: string, results: readonly CellResult[], lab: Laboratory): void {
  mkdirSync(folder, { recursive: true });
  const size = sizesOf(lab.settings).reduce((a, b) => (b.turns * 10 + b.contexts > a.turns * 10 + a.contexts ? b : a));
  const words = `${size.turns} turns, ${size.contexts} contexts, ${lab.settings.problems} problems, seed ${lab.settings.seed}`;
  const curves = tellingCurves(size, lab.settings, lab.caseFor);
  writeFileSync(join(folder, "curves.svg"), curvesSvg(curves, `(J − worst) / (J* − worst) over updates: ${words}`));
  if (results.length === allCells().length)
    writeFileSync(
      join(folder, "grid.svg"),
      gridSvg(results, "↑ never falls, ≈ not on average, ↓ falls;  ✓ reaches J*, … rising, ✗ rests short; several turns"),
    );
}
