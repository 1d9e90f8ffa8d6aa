import { present } from "../../src/core/present.ts";
import type { IndexEntry, IndexLine } from "../../src/runs/index-file.ts";

/** The conditions of a search among a run's trajectories. One that is undefined lets everything pass. */
export interface TrajectoryFilter {
  readonly source?: string;
  readonly split?: string;
  readonly fromStep?: number;
  readonly toStep?: number;
  /** Part of the task's id. */
  readonly task?: string;
  /** One of the kinds of a task, which are joined by "+". */
  readonly kind?: string;
  readonly group?: string;
  readonly stop?: string;
  readonly minReward?: number;
  readonly maxReward?: number;
  readonly success?: boolean;
}

/** Where a trajectory is in the index. */
export interface IndexPosition {
  readonly line: IndexLine;
  /** In the line. */
  readonly at: number;
}

/** Returns the trajectories that pass, in the index's order. Half a million of them take some tens of milliseconds. */
export function filterIndex(lines: readonly IndexLine[], filter: TrajectoryFilter): IndexPosition[] {
  const found: IndexPosition[] = [];
  for (const line of lines) {
    if (!lineMayMatch(line, filter)) continue;
    const passes = entryTest(line, filter);
    for (let at = 0; at < line.id.length; at++) if (passes(at)) found.push({ line, at });
  }
  return found;
}

function lineMayMatch({ source, split, step }: IndexLine, filter: TrajectoryFilter): boolean {
  return (
    (filter.source === undefined || source === filter.source) &&
    (filter.split === undefined || split === filter.split) &&
    (filter.fromStep === undefined || step >= filter.fromStep) &&
    (filter.toStep === undefined || step <= filter.toStep)
  );
}

function entryTest(line: IndexLine, filter: TrajectoryFilter): (at: number) => boolean {
  const { task, kind, group, stop, success, minReward = -Infinity, maxReward = Infinity } = filter;
  const allowed = <T extends string>(texts: readonly T[], is: ((text: T) => boolean) | undefined) => is && texts.map(is);
  const tasks = allowed(line.tasks, task === undefined ? undefined : (text) => text.includes(task));
  const kinds = allowed(line.kinds, kind === undefined ? undefined : (text) => text.split("+").includes(kind));
  const groups = allowed(line.groups, group === undefined ? undefined : (text) => text === group);
  const stops = allowed(line.stops, stop === undefined ? undefined : (text) => text === stop);
  const has = (allowed: readonly boolean[] | undefined, column: readonly number[], at: number) =>
    allowed === undefined || allowed[Number(column[at])] === true;
  return (at) =>
    Number(line.reward[at]) >= minReward &&
    Number(line.reward[at]) <= maxReward &&
    (success === undefined || line.success[at] === Number(success)) &&
    has(tasks, line.task, at) &&
    has(kinds, line.kind, at) &&
    has(groups, line.group, at) &&
    has(stops, line.stop, at);
}

/** Returns what the index knows of a trajectory. */
export function entryAt({ line, at }: IndexPosition): IndexEntry {
  const cell = <T>(column: readonly T[], row = at) => present(column[row], `row ${row} of the index of ${line.file}`);
  return {
    id: cell(line.id),
    source: line.source,
    split: line.split,
    step: line.step,
    task: cell(line.tasks, cell(line.task)),
    kind: cell(line.kinds, cell(line.kind)),
    group: cell(line.groups, cell(line.group)),
    stop: cell(line.stops, cell(line.stop)),
    reward: cell(line.reward),
    success: line.success[at] === 1,
    turns: cell(line.turns),
    tokens: cell(line.tokens),
    toolCalls: cell(line.toolCalls),
    entropy: cell(line.entropy),
  };
}

/** Finds a trajectory by its id, the newest first. Undefined where there is none. */
export function findPosition(lines: readonly IndexLine[], id: string): IndexPosition | undefined {
  const line = lines.findLast((each) => each.id.includes(id));
  return line && { line, at: line.id.indexOf(id) };
}

/** Values that a filter can take in a run. */
export interface Facets {
  readonly sources: readonly string[];
  readonly kinds: readonly string[];
  readonly stops: readonly string[];
  readonly trajectories: number;
}

export function facetsOf(lines: readonly IndexLine[]): Facets {
  const all = (of: (line: IndexLine) => readonly string[]) =>
    [...new Set(lines.flatMap(of))].filter((text) => text !== "").sort();
  return {
    sources: all(({ source }) => [source]),
    kinds: all(({ kinds }) => kinds.flatMap((kind) => kind.split("+"))),
    stops: all(({ stops }) => stops),
    trajectories: lines.reduce((sum, { id }) => sum + id.length, 0),
  };
}
