import { z } from "zod";
import { succeeded } from "../core/outcome.ts";
import { type StopReason, stopReasons, type Trajectory } from "../core/trajectory.ts";
import { layout } from "./layout.ts";
import { readLines } from "./read.ts";
import { decodings, evaluationMoments } from "./records.ts";
import { schemaVersion, versionSchema } from "./schema.ts";

/** Where the trajectories of a file come from: training, or an evaluation before, during or after it. */
export const sources = ["train", ...evaluationMoments] as const;
export type Source = (typeof sources)[number];

// Half a million entries pass here: a schema of every element would take longer than parsing them.
const numbers = z.custom<number[]>((value) => Array.isArray(value) && value.every((item) => typeof item === "number"));
const strings = z.custom<string[]>((value) => Array.isArray(value) && value.every((item) => typeof item === "string"));

/**
 * One line of `index.jsonl`: a file of trajectories, one column for each thing that a filter asks. Columns instead of one object a
 * trajectory, because half a million of them are read in well under a second. Texts that repeat are numbered: `tasks[task[i]]`.
 */
export const indexLineSchema = z.object({
  schema: versionSchema,
  /** Relative to the run's folder. */
  file: z.string(),
  source: z.enum(sources),
  split: z.string().optional(),
  /** The decoding of an evaluation. */
  decoding: z.enum(decodings).optional(),
  step: z.int(),
  id: strings,
  /** Bytes in the uncompressed file; one more than trajectories. */
  offsets: numbers,
  tasks: strings,
  task: numbers,
  kinds: strings,
  kind: numbers,
  groups: strings,
  group: numbers,
  stops: z.array(z.enum(stopReasons)),
  stop: numbers,
  reward: numbers,
  success: numbers,
  turns: numbers,
  /** Sampled tokens. */
  tokens: numbers,
  toolCalls: numbers,
  /** Nats, mean over the sampled tokens. */
  entropy: numbers,
});
export type IndexLine = z.infer<typeof indexLineSchema>;

/** One trajectory as the index knows it. */
export interface IndexEntry {
  readonly id: string;
  readonly source: Source;
  readonly split?: string;
  readonly step: number;
  readonly task: string;
  readonly kind: string;
  readonly group: string;
  readonly stop: StopReason;
  readonly reward: number;
  readonly success: boolean;
  readonly turns: number;
  readonly tokens: number;
  readonly toolCalls: number;
  readonly entropy: number;
}

/** Makes the line of a file. @param offsets of `encodeTrajectories` */
export function indexLine(
  of: Pick<IndexLine, "file" | "source" | "split" | "decoding" | "step">,
  trajectories: readonly Trajectory[],
  offsets: readonly number[],
): IndexLine {
  const tasks = numbered(trajectories.map(({ task }) => task));
  const kinds = numbered(trajectories.map(({ kind }) => kind ?? ""));
  const groups = numbered(trajectories.map(({ group }) => group));
  const stops = numbered(trajectories.map(({ stopReason }) => stopReason));
  const sum = ({ turns }: Trajectory, value: (turn: Trajectory["turns"][number]) => number) =>
    turns.reduce((total, turn) => total + value(turn), 0);
  const tokensOf = (trajectory: Trajectory) => sum(trajectory, ({ action }) => action.length);
  return {
    schema: schemaVersion,
    ...of,
    id: trajectories.map(({ id }) => id),
    offsets: [...offsets],
    tasks: tasks.texts,
    task: tasks.numbers,
    kinds: kinds.texts,
    kind: kinds.numbers,
    groups: groups.texts,
    group: groups.numbers,
    stops: stops.texts,
    stop: stops.numbers,
    reward: trajectories.map(({ reward }) => reward),
    success: trajectories.map((trajectory) => Number(succeeded(trajectory))),
    turns: trajectories.map(({ turns }) => turns.length),
    tokens: trajectories.map(tokensOf),
    toolCalls: trajectories.map((trajectory) => sum(trajectory, ({ toolCalls }) => toolCalls)),
    entropy: trajectories.map((trajectory) => {
      const total = sum(trajectory, ({ entropies }) => entropies.reduce((a, b) => a + b, 0));
      return total === 0 ? 0 : Number((total / tokensOf(trajectory)).toFixed(4));
    }),
  };
}

/** Reads the index as it was written; of a file that was written twice, the last line. Empty where there is none. */
export function readIndexLines(folder: string): IndexLine[] {
  return readLines(layout.index(folder), indexLineSchema);
}

function numbered<T extends string>(texts: readonly T[]): { texts: T[]; numbers: number[] } {
  const known = new Map<T, number>();
  const numbers = texts.map((text) => {
    const number = known.get(text) ?? known.size;
    known.set(text, number);
    return number;
  });
  return { texts: [...known.keys()], numbers };
}
