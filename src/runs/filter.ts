import type { IndexEntry, IndexLine } from "./index-file.ts";

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
  readonly minTurns?: number;
}

/** Where a trajectory is in the index. */
export interface IndexPosition {
  /** The line of the index. */
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
  const { task, kind, group, stop, success, minReward = -Infinity, maxReward = Infinity, minTurns = 0 } = filter;
  const allowed = <T extends string>(texts: readonly T[], is: ((text: T) => boolean) | undefined) => is && texts.map(is);
  const tasks = allowed(line.tasks, task === undefined ? undefined : (text) => text.includes(task));
  const kinds = allowed(line.kinds, kind === undefined ? undefined : (text) => text.split("+").includes(kind));
  const groups = allowed(line.groups, group === undefined ? undefined : (text) => text === group);
  const stops = allowed(line.stops, stop === undefined ? undefined : (text) => text === stop);
  return (at) =>
    line.reward[at] >= minReward &&
    line.reward[at] <= maxReward &&
    line.turns[at] >= minTurns &&
    (success === undefined || line.success[at] === Number(success)) &&
    (tasks === undefined || tasks[line.task[at]]) &&
    (kinds === undefined || kinds[line.kind[at]]) &&
    (groups === undefined || groups[line.group[at]]) &&
    (stops === undefined || stops[line.stop[at]]);
}

/** Returns what the index knows of a trajectory. */
export function entryAt({ line, at }: IndexPosition): IndexEntry {
  return {
    id: line.id[at],
    source: line.source,
    split: line.split,
    step: line.step,
    task: line.tasks[line.task[at]],
    kind: line.kinds[line.kind[at]],
    group: line.groups[line.group[at]],
    stop: line.stops[line.stop[at]],
    reward: line.reward[at],
    success: line.success[at] === 1,
    turns: line.turns[at],
    tokens: line.tokens[at],
    toolCalls: line.toolCalls[at],
    entropy: line.entropy[at],
  };
}

/** Finds a trajectory by its id, the newest first. Undefined where there is none. */
export function findPosition(lines: readonly IndexLine[], id: string): IndexPosition | undefined {
  for (let l = lines.length - 1; l >= 0; l--) {
    const at = lines[l].id.indexOf(id);
    if (at >= 0) return { line: lines[l], at };
  }
  return undefined;
}

/** Values that a filter can take in a run. */
export interface Facets {
  readonly sources: readonly string[];
  readonly splits: readonly string[];
  readonly kinds: readonly string[];
  readonly stops: readonly string[];
  readonly lastStep: number;
  readonly trajectories: number;
}

export function facetsOf(lines: readonly IndexLine[]): Facets {
  const all = (of: (line: IndexLine) => readonly string[]) =>
    [...new Set(lines.flatMap(of))].filter((text) => text !== "").sort();
  return {
    sources: all(({ source }) => [source]),
    splits: all(({ split }) => (split === undefined ? [] : [split])),
    kinds: all(({ kinds }) => kinds.flatMap((kind) => kind.split("+"))),
    stops: all(({ stops }) => stops),
    lastStep: lines.reduce((last, { step, source }) => (source === "train" ? Math.max(last, step) : last), 0),
    trajectories: lines.reduce((sum, { id }) => sum + id.length, 0),
  };
}
