import { RunError } from "../../src/core/errors.ts";
import { mean } from "../../src/core/mean.ts";
import { type AttemptCount, unscoredEnds, verdictWithheld } from "../../src/core/outcome.ts";
import { present } from "../../src/core/present.ts";
import type { IndexLine } from "../../src/runs/index-file.ts";
import { type Decoding, decodings, type RunRecord } from "../../src/runs/records.ts";
import { comparePaired, type PairedComparison } from "../../src/statistics/paired.ts";
import { entryAt } from "./filter.ts";

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
  readonly decoding: Decoding;
  readonly stepA: number;
  readonly stepB: number;
  readonly meanA: number;
  readonly meanB: number;
  /** b − a over the tasks that both attempted. */
  readonly paired: PairedComparison;
  /** Tasks that differ, largest difference first. */
  readonly pairs: readonly TaskPair[];
}

/** A run as a comparison takes it. */
export interface ComparedRun {
  readonly record: Pick<RunRecord, "config">;
  readonly index: readonly IndexLine[];
}

/**
 * Compares two runs task by task: their last evaluations of every split and decoding that both have.
 * @throws RunError if the runs are of different worlds, the same name means tasks of other kinds in them, two tasks have one id, or too many
 * attempts ended by an error
 */
export function compareRuns(
  { record: recordA, index: a }: ComparedRun,
  { record: recordB, index: b }: ComparedRun,
): Comparison[] {
  const [worldA, worldB] = [worldOf(recordA), worldOf(recordB)];
  if (worldA !== worldB)
    throw new RunError("the second run's world", worldB, {
      expected: `that of the first, "${worldA}"`,
      hint: "Tasks of the same name are different tasks in another world.",
    });
  const splits = [...new Set(a.flatMap(({ split }) => (split === undefined ? [] : [split])))];
  return splits.flatMap((split) =>
    decodings.flatMap((decoding) => {
      const [lineA, lineB] = [lastEvaluation(a, split, decoding), lastEvaluation(b, split, decoding)];
      return lineA === undefined || lineB === undefined ? [] : compared(split, decoding, lineA, lineB);
    }),
  );
}

function worldOf({ config: { environment } }: ComparedRun["record"]): string {
  const { name = environment } = Object(environment) as { readonly name?: unknown };
  return String(name);
}

function lastEvaluation(lines: readonly IndexLine[], split: string, decoding: Decoding): IndexLine | undefined {
  const rank = { train: -1, before: 0, during: 1, after: 2 };
  return lines
    .filter((line) => line.split === split && (line.decoding ?? "sampled") === decoding)
    .sort((x, y) => x.step - y.step || rank[x.source] - rank[y.source])
    .at(-1);
}

function compared(split: string, decoding: Decoding, a: IndexLine, b: IndexLine): Comparison[] {
  const withheld = verdictWithheld([countOf(a), countOf(b)], ["the first run", "the second"]);
  if (withheld !== undefined)
    throw new RunError(`the evaluations on ${split}`, withheld, {
      expected: "errors in at most a tenth of the attempts",
      hint: "An attempt that an error ended has no score. Evaluate both models again, by `retrograde-rl eval --compare`.",
    });
  const [ofA, ofB] = [byTask(a), byTask(b)];
  const pairs = [...ofA].flatMap(([task, one]) => {
    const other = ofB.get(task);
    if (other !== undefined && other.kind !== one.kind)
      throw new RunError(`the kind of task ${task} in the second run`, other.kind, {
        expected: `that of the first, "${one.kind}"`,
        hint: "The world has changed between the two runs: evaluate both models with one version, by `retrograde-rl eval --compare`.",
      });
    return other === undefined
      ? []
      : [{ task, kind: one.kind, a: one.success, b: other.success, exampleA: one.example, exampleB: other.example }];
  });
  if (pairs.length === 0) return [];
  const [first, second] = [pairs.map((pair) => pair.a), pairs.map((pair) => pair.b)];
  const attempts = Math.max(a.id.length / ofA.size, b.id.length / ofB.size);
  return [
    {
      ...{ split, decoding, stepA: a.step, stepB: b.step, meanA: mean(first), meanB: mean(second) },
      paired: comparePaired(first, second, { seed: 0, range: [0, 1], step: 1 / attempts }),
      pairs: pairs.filter((pair) => pair.a !== pair.b).sort((x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a)),
    },
  ];
}

function countOf(line: IndexLine): AttemptCount {
  const errors = line.stop.filter((stop) => unscoredEnds.has(present(line.stops[stop], "an end")));
  return { attempts: line.id.length, errors: errors.length };
}

/** The attempts with a score. */
function byTask(line: IndexLine): Map<string, { success: number; kind: string; example: string }> {
  const sums = new Map<string, { sum: number; count: number; kind: string; example: string; group: string }>();
  for (let at = 0; at < line.id.length; at++) {
    const { task, kind, group, id, success, stop } = entryAt({ line, at });
    if (unscoredEnds.has(stop)) continue;
    const known = sums.get(task) ?? { sum: 0, count: 0, kind, example: id, group };
    if (known.group !== group)
      throw new RunError("the id of two tasks of an evaluation", task, {
        expected: "another id for each task",
        hint: "Comparisons pair outcomes by the id. Give every task of the environment its own one, and evaluate again.",
      });
    sums.set(task, { ...known, sum: known.sum + Number(success), count: known.count + 1 });
  }
  return new Map([...sums].map(([task, { sum, count, kind, example }]) => [task, { success: sum / count, kind, example }]));
}
