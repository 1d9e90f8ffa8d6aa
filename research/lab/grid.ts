import { ConfigError } from "../../src/core/errors.ts";
import { allCells, type Cell, idOf, sameAs, singleTurn, voidReason } from "./cell.ts";
import type { LabSettings } from "./config.ts";
import { counterexample, type Worked } from "./counterexample.ts";
import { type CaseOf, caseStore, dropTolerance, examine, type Finding, type Reach, sizesOf } from "./experiment.ts";
import { leavesOf } from "./problem.ts";

/** Shares of problems. Those of where they ended sum to 1. */
export interface Shares {
  /** An update lowered J. */
  readonly fell: number;
  readonly reached: number;
  readonly rising: number;
  readonly resting: number;
  readonly plateau: number;
}

/** The findings on a cell with one turn, or with several. */
export interface Verdict {
  /** False where any update of any problem, or the known counter-example, lowered J. */
  readonly monotone: boolean;
  /** Groups: whether the expected change of J was below 0 (by four standard errors) for any problem's first policy. */
  readonly fallsInExpectation: boolean | undefined;
  /** Shares of the random problems, of all sizes together. */
  readonly shares: Shares;
  /** Updates until J came within 1 % of J*, the median over all problems; null if fewer than half of them came there. */
  readonly updatesToReach: number | null;
  /** Share of updates that lowered J, in the random problems. */
  readonly dropRate: number;
  readonly worstDrop: number;
  readonly findings: readonly Finding[];
  /** The smallest known example of an update that lowers J. Groups: where the maximum is taken, or the random problems have no fall. */
  readonly drop: Worked | undefined;
}

export interface CellResult {
  readonly id: string;
  readonly cell: Cell;
  /** "same": the verdicts are those of the cell `sameAs`, which computes the very same thing. */
  readonly status: "run" | "same" | "void";
  readonly why: string | undefined;
  readonly sameAs: string | undefined;
  readonly single: Verdict | undefined;
  readonly multi: Verdict | undefined;
}

/** The parts of a run that one cell's verdict needs. Made once, so that cells share problems and what is the same with one turn. */
export interface Laboratory {
  readonly settings: LabSettings;
  readonly caseFor: CaseOf;
  readonly known: Map<string, Verdict>;
}

/**
 * Returns what the verdicts on cells share: the random problems, and findings that several cells have in common.
 */
export function laboratory(settings: LabSettings): Laboratory {
  return { settings, caseFor: caseStore(settings), known: new Map() };
}

/**
 * The verdicts on one cell. They depend on the settings and the cell's id alone, not on which other cells are run.
 */
export function judge(cell: Cell, lab: Laboratory): CellResult {
  const id = idOf(cell);
  const empty = { id, cell, sameAs: undefined, single: undefined, multi: undefined };
  const nothing = voidReason(cell);
  if (nothing !== undefined) return { ...empty, status: "void", why: nothing };
  const twin = sameAs(cell);
  if (twin !== undefined) return { ...judge(twin.cell, lab), id, cell, status: "same", why: twin.why, sameAs: idOf(twin.cell) };
  const { turns } = lab.settings;
  return {
    ...empty,
    status: "run",
    why: undefined,
    single: turns.includes(1) ? verdict(singleTurn(cell), "one turn", lab) : undefined,
    multi: turns.some((t) => t > 1) ? verdict(cell, "several turns", lab) : undefined,
  };
}

function verdict(cell: Cell, turns: "one turn" | "several turns", lab: Laboratory): Verdict {
  const { settings, caseFor, known } = lab;
  const key = `${idOf(cell)} ${turns}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const sizes = sizesOf(settings).filter((size) => (turns === "one turn" ? size.turns === 1 : size.turns > 1));
  const findings = sizes.map((size) => examine(cell, size, settings, caseFor));
  const shares = sharesOf(findings);
  const isKnown = cell.knows === "groups" && cell.optimise !== "maximise" && shares.fell > 0;
  const drop = isKnown ? undefined : counterexample(cell, settings.rules, turns);
  const total = (of: (finding: Finding) => number) => findings.reduce((sum, finding) => sum + of(finding), 0);
  const result: Verdict = {
    monotone: drop === undefined && findings.every(({ drops }) => drops === 0),
    fallsInExpectation: cell.knows === "groups" ? findings.some((finding) => (finding.fallsInExpectation ?? 0) > 0) : undefined,
    shares,
    updatesToReach: medianReach(findings),
    dropRate:
      total(({ drops }) => drops) /
      Math.max(
        1,
        total(({ updates }) => updates),
      ),
    worstDrop: Math.max(0, ...findings.map(({ worstDrop }) => (worstDrop > dropTolerance ? worstDrop : 0))),
    findings,
    drop,
  };
  known.set(key, result);
  return result;
}

function sharesOf(findings: readonly Finding[]): Shares {
  const problems = findings.reduce((sum, finding) => sum + finding.problems, 0);
  const share = (of: "fell" | Reach) => findings.reduce((sum, finding) => sum + finding[of], 0) / problems;
  return {
    fell: share("fell"),
    reached: share("reached"),
    rising: share("rising"),
    resting: share("resting"),
    plateau: share("plateau"),
  };
}

/** The lower median, so that it is the number of some problem. */
function medianReach(findings: readonly Finding[]): number | null {
  const updates = findings.flatMap(({ reachedAt }) => reachedAt.map((at) => at ?? Infinity)).sort((a, b) => a - b);
  const middle = updates[Math.ceil(updates.length / 2) - 1];
  return middle === Infinity ? null : middle;
}

export interface Progress {
  readonly done: number;
  readonly total: number;
}

/** Every cell of the grid, in its order. */
export function runGrid(lab: Laboratory, onProgress: (progress: Progress) => void = () => {}): CellResult[] {
  const cells = allCells();
  checkSizes(lab.settings, cells);
  return cells.map((cell, i) => {
    const result = judge(cell, lab);
    onProgress({ done: i + 1, total: cells.length });
    return result;
  });
}

/** Elementary operations that a run may take: about an hour on one core. */
const maxOperations = 3e11;
const maxTrajectories = 4096;

/** @throws ConfigError if the actions are no power of the tokens, or the sizes would take too long */
export function checkSizes(settings: LabSettings, cells: readonly Cell[]): void {
  const { actions, tokens } = settings;
  const vocabulary = Math.round(actions ** (1 / tokens));
  if (vocabulary < 2 || vocabulary ** tokens !== actions)
    throw new ConfigError("--actions", actions, {
      expected: `a power of the tokens of an action (--tokens ${tokens}): ${[2, 3, 4].map((v) => v ** tokens).join(", ")} …`,
      hint: "An action is a word of --tokens tokens, so there are vocabulary^tokens of them.",
    });
  const largest = Math.max(...sizesOf(settings).map((size) => size.contexts * leavesOf(size)));
  if (largest > maxTrajectories)
    throw new ConfigError("the number of trajectories of a problem, contexts · actions^turns · answers^(turns − 1),", largest, {
      expected: `at most ${maxTrajectories}`,
      hint: "Every trajectory is enumerated at every update. Choose fewer --turns, --actions or --contexts.",
    });
  const operations = estimatedOperations(settings, cells);
  if (operations > maxOperations)
    throw new ConfigError("the estimated number of operations", Number(operations.toPrecision(2)), {
      expected: `at most ${maxOperations}, about an hour on one core`,
      hint: "Choose fewer --problems, --updates, --turns or --actions, or one cell with --cell.",
    });
}

/** Trajectories × tokens × passes over them, for all updates of all cells. */
function estimatedOperations(settings: LabSettings, cells: readonly Cell[]): number {
  const { problems, updates, rules } = settings;
  const perSize = (cell: Cell) =>
    sizesOf(settings).map((size) => {
      if (size.turns === 1 && cell.order !== "joint") return 0;
      const trajectories = cell.knows === "exact" ? 1.5 * size.contexts * leavesOf(size) : size.contexts * rules.groupSize;
      const turnUpdates = cell.order === "joint" ? 1 : size.turns;
      const ascent = cell.optimise === "maximise" && cell.level === "sequence" && size.turns > 1;
      const passes = turnUpdates * (cell.optimise === "steps" ? rules.steps : ascent ? 24 : 1);
      return (trajectories * passes + 2 * size.contexts * leavesOf(size)) * size.turns * size.tokens;
    });
  const run = cells.filter((cell) => voidReason(cell) === undefined && sameAs(cell) === undefined);
  return run.flatMap(perSize).reduce((sum, cost) => sum + cost, 0) * problems * updates;
}
