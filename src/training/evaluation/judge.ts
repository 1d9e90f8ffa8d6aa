import type { EndpointSettings } from "../../completions/client.ts";
import { ConfigError } from "../../core/errors.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import type { Environment, Task } from "../../environments/environment.ts";
import type { JudgedRecord } from "../../runs/records.ts";

/** A model behind an endpoint that decides which answers are right. */
export interface JudgeSettings extends EndpointSettings {
  readonly model: string;
  /** Questions in flight. Default 8. */
  readonly concurrency?: number;
}

export interface JudgingOptions {
  readonly settings: JudgeSettings;
  /** The evaluation's folder: verdicts are kept there as they come, and are not asked for again. */
  readonly folder: string;
  readonly seed: number;
  readonly signal?: AbortSignal;
  readonly onJudged?: (done: number, total: number) => void;
}

/** Asks a judge about the answers of an evaluation. @returns undefined if the environment's tasks are no questions */
export type JudgeAnswers = (
  environment: Environment,
  tasks: readonly Task[],
  trajectories: readonly Trajectory[],
  options: JudgingOptions,
) => Promise<JudgedRecord | undefined>;

let judgeAnswers: JudgeAnswers | undefined;

export function addJudge(judge: JudgeAnswers): void {
  judgeAnswers = judge;
}

/** @throws ConfigError if no extension has brought one */
export function judgeOfAnswers(): JudgeAnswers {
  if (judgeAnswers !== undefined) return judgeAnswers;
  throw new ConfigError("judge", "given", {
    expected: "none: this program did not load it",
    hint: 'Import "retrograde-rl" itself, which adds it.',
  });
}
