import type { Group, Trajectory } from "../../core/trajectory.ts";
import type { EvaluationRecord, StepRecord, Summary, TimingRecord, Warning } from "../../runs/records.ts";

export type Phase = "evaluate" | "rollout" | "reward" | "update" | "checkpoint";

/** The events that a run reports while it works, in this order. Listeners only look; nothing they do changes a run. */
export type TrainingEvent =
  | { readonly type: "run-started"; readonly folder: string; readonly steps: number; readonly resumedAt: number }
  /** A phase begins. `step` is the step that it belongs to; 0 for the evaluation at the start. */
  | { readonly type: "phase"; readonly phase: Phase; readonly step: number; readonly total: number }
  /** Within rollouts and evaluations: episodes that have ended, and tokens sampled in this phase. Within rewards: episodes scored. */
  | { readonly type: "progress"; readonly phase: Phase; readonly done: number; readonly total: number; readonly tokens: number }
  | { readonly type: "evaluated"; readonly record: EvaluationRecord }
  | { readonly type: "stepped"; readonly record: StepRecord; readonly timing: TimingRecord }
  | { readonly type: "checkpointed"; readonly step: number; readonly folder: string }
  /** A message that a user may want to know of a run that is as it should be. */
  | { readonly type: "notice"; readonly message: string }
  /** `warning`, where it is one of those that src/findings names. */
  | { readonly type: "warning"; readonly message: string; readonly warning?: Warning }
  /** The signal ended the run; `step` steps are kept. */
  | { readonly type: "interrupted"; readonly folder: string; readonly step: number }
  | { readonly type: "finished"; readonly folder: string; readonly summary: Summary };

export type OnEvent = (event: TrainingEvent) => void;

/** Announces a phase of episodes, and then each one that has ended. */
export function announceEpisodes(onEvent: OnEvent, phase: Phase, step: number, total: number): (trajectory: Trajectory) => void {
  onEvent({ type: "phase", phase, step, total });
  let [done, tokens] = [0, 0];
  return (trajectory) => {
    done++;
    tokens += trajectory.turns.reduce((sum, turn) => sum + turn.action.length, 0);
    onEvent({ type: "progress", phase, done, total, tokens });
  };
}

/**
 * Announces the phase of rewards, and then every episode that all their parts have scored.
 * @returns takes the number of further episodes that one part has scored
 */
export function announceScores(onEvent: OnEvent, step: number, groups: readonly Group[], parts: number): (count: number) => void {
  const episodes = groups.reduce((sum, { trajectories }) => sum + trajectories.length, 0);
  onEvent({ type: "phase", phase: "reward", step, total: episodes });
  let scores = 0;
  return (count) => {
    scores += count;
    onEvent({ type: "progress", phase: "reward", done: Math.floor(scores / parts), total: episodes, tokens: 0 });
  };
}
