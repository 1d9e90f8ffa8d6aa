import { randomStream } from "../core/random.ts";
import type { IndexLine } from "./index-file.ts";

/** One task in the evaluations of two runs. */
export interface TaskPair {
  readonly task: string;
  readonly kind: string;
  /** Share of attempts that succeeded. */
  readonly a: number;
  readonly b: number;
  /** A trajectory of each. */
  readonly exampleA: string;
  readonly exampleB: string;
}

export interface Comparison {
  readonly split: string;
  /** The steps of the evaluations. */
  readonly stepA: number;
  readonly stepB: number;
  readonly tasks: number;
  readonly meanA: number;
  readonly meanB: number;
  /** b − a over the same tasks, with its 95 % bootstrap interval. */
  readonly difference: { readonly mean: number; readonly low: number; readonly high: number };
  /** Tasks that differ, largest difference first. */
  readonly pairs: readonly TaskPair[];
}

/** Compares two runs task by task: their last evaluations of every split that both were evaluated on. */
export function compareRuns(a: readonly IndexLine[], b: readonly IndexLine[]): Comparison[] {
  const splits = new Set(a.flatMap(({ split }) => (split === undefined ? [] : [split])));
  return [...splits].flatMap((split) => {
    const [lineA, lineB] = [lastEvaluation(a, split), lastEvaluation(b, split)];
    return lineA === undefined || lineB === undefined ? [] : [compared(split, lineA, lineB)];
  });
}

function lastEvaluation(lines: readonly IndexLine[], split: string): IndexLine | undefined {
  const rank = { train: -1, before: 0, during: 1, after: 2 };
  return lines
    .filter((line) => line.split === split)
    .sort((x, y) => x.step - y.step || rank[x.source] - rank[y.source])
    .at(-1);
}

function compared(split: string, a: IndexLine, b: IndexLine): Comparison {
  const [ofA, ofB] = [byTask(a), byTask(b)];
  const pairs = [...ofA].flatMap(([task, one]) => {
    const other = ofB.get(task);
    return other === undefined
      ? []
      : [{ task, kind: one.kind, a: one.success, b: other.success, exampleA: one.example, exampleB: other.example }];
  });
  const differences = pairs.map((pair) => pair.b - pair.a);
  return {
    split,
    stepA: a.step,
    stepB: b.step,
    tasks: pairs.length,
    meanA: mean(pairs.map((pair) => pair.a)),
    meanB: mean(pairs.map((pair) => pair.b)),
    difference: { mean: mean(differences), ...bootstrap(differences) },
    pairs: pairs.filter((pair) => pair.a !== pair.b).sort((x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a)),
  };
}

function byTask(line: IndexLine): Map<string, { success: number; kind: string; example: string }> {
  const sums = new Map<string, { sum: number; count: number; kind: string; example: string }>();
  for (let at = 0; at < line.id.length; at++) {
    const task = line.tasks[line.task[at]];
    const known = sums.get(task) ?? { sum: 0, count: 0, kind: line.kinds[line.kind[at]], example: line.id[at] };
    sums.set(task, { ...known, sum: known.sum + line.success[at], count: known.count + 1 });
  }
  return new Map([...sums].map(([task, { sum, count, ...rest }]) => [task, { success: sum / count, ...rest }]));
}

const resamples = 1000;

function bootstrap(values: readonly number[]): { low: number; high: number } {
  if (values.length === 0) return { low: Number.NaN, high: Number.NaN };
  const random = randomStream(0, "compare");
  const means = Array.from({ length: resamples }, () => mean(values.map(() => values[random.integer(values.length)])));
  means.sort((x, y) => x - y);
  return { low: means[Math.floor(resamples * 0.025)], high: means[Math.floor(resamples * 0.975)] };
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0) / values.length;
}
