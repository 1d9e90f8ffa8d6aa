import { type Cell, idOf } from "./cell.ts";
import type { LabSettings } from "./config.ts";
import { exampleLines, short } from "./example-text.ts";
import { dropTolerance, reachTolerance } from "./experiment.ts";
import type { CellResult, Verdict } from "./grid.ts";
import { circumstances, type PaperRow, paperTable } from "./paper.ts";
import { answersTo, questions } from "./questions.ts";

/**
 * J over updates, then the per cent of problems that came within 1 % of J*, and after how many updates half of them had: "↑100·3".
 * Problems that did not get there are distinguished by the last sign, where it is the same for most of them.
 */
export function sign(verdict: Verdict | undefined): string {
  if (verdict === undefined) return "–";
  const { shares, updatesToReach } = verdict;
  const rest = [
    ["…", shares.rising],
    ["✗", shares.resting],
    ["~", shares.plateau],
  ] as const;
  const most = rest.reduce((a, b) => (b[1] > a[1] ? b : a));
  const end = updatesToReach !== null ? `·${updatesToReach}` : most[1] > 0 ? most[0] : "";
  return `${course(verdict)}${Math.round(shares.reached * 100)}${end}`;
}

function course({ monotone, fallsInExpectation }: Verdict): string {
  if (monotone) return "↑";
  return fallsInExpectation === false ? "≈" : "↓";
}

export const legend = [
  "↑ no update lowered J   ≈ groups: updates lowered J, but not on average   ↓ updates lowered J (groups: on average, for some problem)   – void",
  `Then: per cent of problems that came within ${reachTolerance * 100} % of J*, and ·N the updates after which half of them had; else what most of the others do:`,
  "… rising still   ✗ at rest: the policy moves no more   ~ on a plateau: it moves, and J hardly does",
];

type Column = Pick<Cell, "sees" | "optimise" | "knows">;

const headOf = ({ sees, optimise, knows }: Column) => [sees, optimise === "maximise" ? "max" : optimise, knows];

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
      ...circumstances.map((circumstance) => sign(byId.get(idOf({ ...cell, ...circumstance }))?.[which])),
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
  for (const { why, status } of results) if (why !== undefined) add(`${status}: ${why}`);
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
    lines.push("", `${title}: ${sentence(verdict)}`, ...verdict.findings.map(findingLine), ...examplesOf(result.cell, verdict));
  }
  return lines;
}

function sentence(verdict: Verdict): string {
  const { monotone, fallsInExpectation, shares, updatesToReach, worstDrop } = verdict;
  const falls = monotone
    ? "no update lowered J"
    : worstDrop === 0
      ? "an update can lower J: there is a counter-example, and the random problems have none"
      : `J falls: worst drop in the random problems ${short(worstDrop)}, in ${(100 * verdict.dropRate).toFixed(1)} % of updates`;
  const average = fallsInExpectation === undefined ? "" : fallsInExpectation ? ", also on average" : ", not on average";
  const half =
    updatesToReach === null ? "" : `, half of them after ${updatesToReach} ${updatesToReach === 1 ? "update" : "updates"}`;
  const end = `J* is reached in ${Math.round(shares.reached * 100)} % of problems${half}`;
  return `${falls}${monotone ? "" : average}; ${end}`;
}

function findingLine(finding: Verdict["findings"][number]): string {
  const { turns, contexts, problems, updates, drops, worstDrop, worstAt, reached, rising, resting, plateau, worstGap } = finding;
  const at = worstAt === undefined ? "" : ` (problem ${worstAt.problem}, update ${worstAt.update})`;
  return (
    `  T = ${turns}, ${contexts} context${contexts === 1 ? "" : "s"}: ${problems} problems, ${drops} of ${updates} updates lowered J` +
    `${drops === 0 ? "" : `, worst ${short(worstDrop)}${at}`}; J* reached in ${reached}, rising ${rising}, at rest ${resting}, on a plateau ${plateau}, worst gap ${short(worstGap)}` +
    (finding.expectedChange === undefined
      ? ""
      : `; first update ${finding.expectedChange >= 0 ? "+" : ""}${short(finding.expectedChange)} on average, below 0 in ${finding.fallsInExpectation} problems`)
  );
}

export function examplesOf(cell: Cell, { drop }: Verdict): string[] {
  return drop === undefined
    ? []
    : ["", ...exampleLines(drop.size.turns === 1 ? { ...cell, order: "joint", carry: "off" } : cell, drop)];
}

/**
 * Returns what `--json` prints; docs/lab.md says what each field means.
 */
export function reportJson(settings: LabSettings, results: readonly CellResult[]) {
  return {
    format: "retrograde-lab/2",
    settings,
    tolerances: { drop: dropTolerance, reach: reachTolerance },
    cells: results,
    questions: questions.map(({ question, of }) => ({ question, answers: answersTo(results, of) })),
    paper: paperTable.map(({ cells, ...row }) => ({
      ...row,
      cells: cells.flatMap((cell) => circumstances.map((c) => idOf({ ...cell, ...c }))),
    })),
    excluded: exclusions(results),
  };
}
