import { allCells, type Cell, idOf, knowledge, optimisers } from "./cell.ts";
import type { LabSettings } from "./config.ts";
import { exampleLines, short } from "./example-text.ts";
import { dropTolerance, reachTolerance } from "./experiment.ts";
import { type CellResult, isVerdict, type Verdict } from "./grid.ts";
import { circumstances, type PaperRow, paperTable } from "./paper.ts";
import { sights } from "./policy.ts";
import { stoppingFindings } from "./stopping-report.ts";

/** Two signs: J over updates, then whether it comes to J*. */
export function sign(result: CellResult["multi"]): string {
  if (result === undefined) return "";
  if (!isVerdict(result)) return "–";
  return `${course(result)}${{ yes: "✓", slow: "…", no: "✗" }[result.reaches]}`;
}

function course({ monotone, fallsInExpectation }: Verdict): string {
  if (monotone) return "↑";
  return fallsInExpectation === false ? "≈" : "↓";
}

export const legend = [
  "↑ no update lowered J   ≈ groups: updates lowered J, but not on average   ↓ updates lowered J (groups: on average, for some problem)",
  `✓ every problem came within ${reachTolerance * 100} % of J*   … those that did not were still rising   ✗ some came to rest short of J*   – void`,
];

type Column = Pick<Cell, "sees" | "optimise" | "knows">;

const columns: readonly Column[] = sights.flatMap((sees) =>
  optimisers.flatMap((optimise) => knowledge.map((knows) => ({ sees, optimise, knows }))),
);

const headOf = ({ sees, optimise, knows }: Column) => [sees, optimise === "maximise" ? "max" : "steps", knows];

/** The grid: a row for each algorithm, a column for each circumstance. Three lines of heading. */
export function gridRows(results: readonly CellResult[], which: "single" | "multi"): string[][] {
  const byId = new Map(results.map((result) => [result.id, result]));
  const heads = [0, 1, 2].map((i) => [
    i === 2 ? "advantage update level order M" : "",
    ...columns.map((column) => headOf(column)[i]),
  ]);
  const seen = new Set<string>();
  const rows = allCells().flatMap((cell) => {
    const { advantage, update, level, order, carry } = cell;
    const name = [advantage, update, level, order, carry === "off" ? "–" : carry].join(" ");
    if (seen.has(name) || (which === "single" && (order !== "joint" || carry !== "off"))) return [];
    seen.add(name);
    const row = columns.map((column) => {
      const result = byId.get(idOf({ ...cell, ...column }));
      return result === undefined || result.status === "void" ? "–" : sign(result[which]);
    });
    return row.every((entry) => entry === "–" || entry === "") ? [] : [[name, ...row]];
  });
  return [...heads, ...rows];
}

/** The paper's table beside the findings: for each combination, the signs under each circumstance. */
export function paperRows(results: readonly CellResult[], which: "single" | "multi"): string[][] {
  const byId = new Map(results.map((result) => [result.id, result]));
  const heads = [0, 1, 2].map((i) => [
    i === 2 ? "example" : "",
    i === 2 ? "paper" : "",
    ...circumstances.map((c) => headOf(c)[i]),
  ]);
  const rows = paperTable.flatMap((row) =>
    row.cells.map((cell) => [
      nameOf(row, cell),
      claim(row[which]),
      ...circumstances.map((circumstance) => {
        const result = byId.get(idOf({ ...cell, ...circumstance }));
        return result === undefined || result.status === "void" ? "–" : sign(result[which]);
      }),
    ]),
  );
  return [...heads, ...rows];
}

function nameOf({ example }: PaperRow, { advantage, carry, level, update }: PaperRow["cells"][number]): string {
  const m = carry === "off" ? "" : `, M ${carry}`;
  return `${example}: ${advantage} ${update} ${level}${m}`;
}

function claim(value: boolean | undefined): string {
  return value === undefined ? "–" : value ? "✓" : "✗";
}

/** How many combinations mean nothing, or are another's, and why. */
export function exclusions(results: readonly CellResult[]): { readonly why: string; readonly cells: number }[] {
  const counts = new Map<string, number>();
  const add = (why: string) => counts.set(why, (counts.get(why) ?? 0) + 1);
  for (const { why, status, multi } of results) {
    if (why !== undefined) add(`${status}: ${why}`);
    else if (multi !== undefined && !isVerdict(multi)) add(`void with several turns: ${multi.void}`);
  }
  return [...counts].map(([why, cells]) => ({ why, cells }));
}

/** One cell in full. */
export function cellLines(result: CellResult): string[] {
  const lines = [result.id];
  if (result.status !== "run")
    lines.push(`${result.status}${result.sameAs === undefined ? "" : ` as ${result.sameAs}`}: ${result.why}`);
  for (const which of ["single", "multi"] as const) {
    const verdict = result[which];
    if (verdict === undefined) continue;
    const title = which === "single" ? "one turn" : "several turns";
    if (!isVerdict(verdict)) lines.push(`${title}: void, ${verdict.void}`);
    else
      lines.push("", `${title}: ${sentence(verdict)}`, ...verdict.findings.map(findingLine), ...examplesOf(result.cell, verdict));
  }
  return lines;
}

function sentence(verdict: Verdict): string {
  const { monotone, fallsInExpectation, reaches, worstDrop } = verdict;
  const falls = monotone
    ? "no update lowered J"
    : worstDrop === 0
      ? "an update can lower J: the search for counter-examples found one, the random problems have none"
      : `J falls: worst drop in the random problems ${short(worstDrop)}, in ${(100 * verdict.dropRate).toFixed(1)} % of updates`;
  const average = fallsInExpectation === undefined ? "" : fallsInExpectation ? ", also on average" : ", not on average";
  const end = { yes: "J* is reached", slow: "J* is not reached yet, J still rises", no: "J* is not reached" }[reaches];
  return `${falls}${monotone ? "" : average}; ${end}`;
}

function findingLine(finding: Verdict["findings"][number]): string {
  const { turns, contexts, problems, updates, drops, worstDrop, worstAt, reached, rising, stalled, worstGap } = finding;
  const at = worstAt === undefined ? "" : ` (problem ${worstAt.problem}, update ${worstAt.update})`;
  return (
    `  T = ${turns}, ${contexts} context${contexts === 1 ? "" : "s"}: ${problems} problems, ${drops} of ${updates} updates lowered J` +
    `${drops === 0 ? "" : `, worst ${short(worstDrop)}${at}`}; J* reached in ${reached}, rising ${rising}, resting ${stalled}, worst gap ${short(worstGap)}` +
    (finding.expectedChange === undefined
      ? ""
      : `; first update ${finding.expectedChange >= 0 ? "+" : ""}${short(finding.expectedChange)} on average, below 0 in ${finding.fallsInExpectation} problems`)
  );
}

export function examplesOf(cell: Cell, { drop, stall }: Verdict): string[] {
  return [drop, stall].flatMap((worked) =>
    worked === undefined
      ? []
      : ["", ...exampleLines(worked.size.turns === 1 ? { ...cell, order: "joint", carry: "off" } : cell, worked)],
  );
}

/** What `--json` prints; docs/lab.md tells what each field means. */
export function reportJson(settings: LabSettings, results: readonly CellResult[]) {
  return {
    format: "retrograde-lab/1",
    settings,
    tolerances: { drop: dropTolerance, reach: reachTolerance },
    cells: results,
    paper: paperTable.map(({ cells, ...row }) => ({
      ...row,
      cells: cells.flatMap((cell) => circumstances.map((c) => idOf({ ...cell, ...c }))),
    })),
    excluded: exclusions(results),
    stopping: stoppingFindings(settings.seed),
  };
}
