import type { StopReason } from "../../../src/core/trajectory.ts";
import type { IndexEntry } from "../../../src/runs/index-file.ts";
import type { LiveStatus, RunMessage } from "../../../src/runs/live.ts";
import type { EvaluationRecord, StepRecord, Summary, TimingRecord } from "../../../src/runs/records.ts";
import type { Comparison } from "../../inspect/compare.ts";
import type { Facets } from "../../inspect/filter.ts";
import type { Phrase } from "../../inspect/phrases.ts";
import type { RemarkRecord } from "../../inspect/remarks.ts";
import type { TreeNode } from "../../inspect/tree.ts";

/** The messages between the dashboard's server and its page: types alone. */

export type RunState = "running" | "finished" | "stopped";

export interface RunRow {
  readonly id: string;
  readonly folder: string;
  readonly created: string;
  readonly state: RunState;
  readonly environment: string;
  readonly algorithm: string;
  readonly model: string;
  readonly seed: number;
  readonly steps: number;
  readonly stepsDone: number;
  /** The split of the run's own evaluations; `before` and `after` are of it, of sampled attempts where there are any. */
  readonly split: string;
  /** The measure of its evaluations: the reward where the environment has no success. */
  readonly measure: "success" | "reward";
  readonly before: number | null;
  readonly after: number | null;
  /** Success by step, at most 60 values. */
  readonly curve: readonly (number | null)[];
  /** The same for runs whose configurations differ in the seed alone. */
  readonly configuration: string;
  readonly warnings: number;
}

/** A folder that looks like a run and cannot be read. */
export interface BrokenRun {
  readonly id: string;
  readonly folder: string;
  readonly error: string;
}

export interface RunList {
  readonly root: string;
  readonly runs: readonly RunRow[];
  readonly broken: readonly BrokenRun[];
}

/** Notes on a run, and marks of its episodes. */
export type Remarks = readonly RemarkRecord[];

/** Everything about a run but its trajectories. */
export interface RunDetail {
  readonly row: RunRow;
  readonly config: Readonly<Record<string, unknown>>;
  readonly version: string;
  readonly node: string;
  readonly device?: string;
  readonly steps: readonly StepRecord[];
  readonly timings: readonly TimingRecord[];
  readonly evaluations: readonly EvaluationRecord[];
  readonly summary?: Summary;
  readonly messages: readonly RunMessage[];
  readonly live?: LiveStatus;
  readonly creditSteps: readonly number[];
}

/** The additions since a page asked last; sent as a server-sent event. */
export interface RunUpdate
  extends Pick<RunDetail, "row" | "summary" | "live" | "steps" | "timings" | "evaluations" | "messages" | "creditSteps"> {
  /** True where lines were taken back, as by a resumed run: the page asks for everything again. */
  readonly restarted: boolean;
}

/** Sent instead where a run's files cannot be read any more. */
export interface StreamProblem {
  readonly problem: string;
}

/** A row of the list, with the beginning of what the user asked first. */
export interface TrajectoryRow extends IndexEntry {
  readonly prompt?: string;
}

export interface TrajectoryPage {
  readonly facets: Facets;
  readonly total: number;
  readonly rows: readonly TrajectoryRow[];
  /** The time that the filter took, in milliseconds. */
  readonly took: number;
  /** The number of trajectories that a search of text looked at before the limit. */
  readonly searched?: number;
  /** Damaged files, which a search of text left out. */
  readonly problems: readonly string[];
}

/** One update of a turn. Null where nothing was computed. */
export interface UpdateView {
  readonly optimiserStep: number;
  readonly advantage: number | null;
  readonly factor: number | null;
  readonly ratio: number | null;
  readonly learningRate: number;
  /** Learning rate as a share of the largest of the step. */
  readonly rateShare: number;
  readonly weights: readonly number[];
  readonly before: readonly (number | null)[];
  /** Once the whole update was made; of the turn's last update. */
  readonly end: readonly (number | null)[];
  readonly ratios: readonly (number | null)[];
}

export interface TurnView {
  readonly turn: number;
  /** The role that acted, where the environment has roles. */
  readonly role?: string;
  /** The new part of the context, as text. */
  readonly context: string;
  /** Text of each action token. */
  readonly texts: readonly string[];
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
  readonly entropies: readonly number[];
  readonly truncated: boolean;
  readonly rewritten: boolean;
  readonly toolCalls: number;
  readonly invalidToolCalls: number;
  readonly rise?: number;
  readonly forks?: number;
  readonly updates: readonly UpdateView[];
}

export interface MessageView {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
  readonly name?: string;
  readonly reasoning?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: string }[];
  /** The turn that wrote an assistant message. */
  readonly turn?: number;
}

export interface TrajectoryView {
  readonly entry: IndexEntry;
  readonly scores: Readonly<Record<string, number>>;
  readonly stop: StopReason;
  readonly error?: string;
  readonly branch?: { readonly from: string; readonly turn: number; readonly kept?: number | undefined };
  readonly messages: readonly MessageView[];
  readonly turns: readonly TurnView[];
  /** The others of its group, in order. */
  readonly group: readonly IndexEntry[];
  /** Mean of the group's rewards. */
  readonly groupMean: number;
  /** Most updates of the step. */
  readonly hasCredits: boolean;
}

export interface PhraseList {
  readonly step: number;
  readonly up: readonly Phrase[];
  readonly down: readonly Phrase[];
}

export interface TreeView {
  readonly group: string;
  readonly step: number;
  readonly task: string;
  readonly root: TreeNode;
  readonly groups: readonly {
    readonly group: string;
    readonly task: string;
    readonly reward: number;
    readonly branched: boolean;
  }[];
}

export type ComparisonView = readonly Comparison[];
