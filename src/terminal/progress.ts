import type { Estimate, EvaluationRecord, StepRecord, TimingRecord } from "../runs/records.ts";
import type { Phase, TrainingEvent } from "../training/record/events.ts";
import { bar, count, duration, interval, number, plural } from "./format.ts";

/** The known state of a running training run. Times are seconds of any clock. */
export interface Progress {
  /** The number of steps of the run; 0 where there is none, as in a bare evaluation. */
  readonly steps: number;
  /** The step that is being made; 0 before the first. */
  readonly step: number;
  readonly phase: Phase | undefined;
  readonly done: number;
  readonly total: number;
  readonly tokens: number;
  readonly phaseStarted: number;
  readonly stepStarted: number;
  /** The times of the last steps, newest last. */
  readonly stepSeconds: readonly number[];
  /** The time of the last update: the next one will probably take as long. 0 before the first. */
  readonly updateSeconds: number;
  /** The time of the evaluations at the start, once there were some: those at the end will probably take as long. */
  readonly evaluationSeconds: number;
}

export const nothingYet: Progress = {
  steps: 0,
  step: 0,
  phase: undefined,
  done: 0,
  total: 0,
  tokens: 0,
  phaseStarted: 0,
  stepStarted: 0,
  stepSeconds: [],
  updateSeconds: 0,
  evaluationSeconds: 0,
};

const rememberedSteps = 10;

/** The progress after an event. */
export function advance(progress: Progress, event: TrainingEvent, now: number): Progress {
  switch (event.type) {
    case "run-started":
      return { ...progress, steps: event.steps, step: event.resumedAt };
    case "phase":
      return {
        ...progress,
        phase: event.phase,
        step: event.step,
        done: 0,
        total: event.total,
        tokens: 0,
        phaseStarted: now,
        stepStarted:
          event.phase === "rollout" || (event.phase === "update" && progress.step < event.step) ? now : progress.stepStarted,
      };
    case "progress":
      return { ...progress, done: event.done, total: event.total, tokens: event.tokens };
    case "evaluated":
      return {
        ...progress,
        evaluationSeconds:
          event.record.when === "before" ? progress.evaluationSeconds + now - progress.phaseStarted : progress.evaluationSeconds,
      };
    case "stepped":
      return {
        ...progress,
        stepSeconds: [...progress.stepSeconds, now - progress.stepStarted].slice(-rememberedSteps),
        updateSeconds: event.timing.updateSeconds,
      };
    default:
      return progress;
  }
}

const words: Readonly<Record<Phase, string>> = {
  evaluate: "evaluating",
  rollout: "sampling",
  reward: "scoring",
  update: "training",
  checkpoint: "saving",
};

/** The line that a terminal shows while a run works: "step 12/60  sampling  ██████░░░░  48/128 episodes  2,310 tokens/s  4 min 10 s left". */
export function statusLine(progress: Progress, now: number): string {
  if (progress.phase === undefined) return "loading the model …";
  const { step, steps, phase, done, total, tokens, phaseStarted } = progress;
  const seconds = now - phaseStarted;
  const left = secondsLeft(progress, now);
  const parts = [
    ...(steps === 0 ? [] : [step === 0 ? "before training" : `step ${step}/${steps}`]),
    words[phase],
    ...(phase === "update" ? updateParts(seconds, progress.updateSeconds) : []),
    ...(total > 1 ? [bar(done / total, 20), `${count(done)}/${plural(total, "episode")}`] : []),
    ...(tokens > 0 && seconds > 0 ? [`${count(tokens / seconds)} tokens/s`] : []),
    ...(left === undefined ? [] : [`${duration(left)} left`]),
  ];
  return parts.join("  ");
}

/** How far an update is, by the time that the one before took. */
function updateParts(seconds: number, expected: number): string[] {
  if (expected < 2) return seconds < 2 ? [] : [duration(seconds)];
  return [bar(seconds / expected, 20), `${duration(seconds)} of about ${duration(expected)}`];
}

/** Returns the seconds left of the run once a step's time is known, before that of the phase. Undefined where neither is known. */
export function secondsLeft(progress: Progress, now: number): number | undefined {
  const { phase, step, steps, done, total, phaseStarted, stepStarted, stepSeconds, evaluationSeconds } = progress;
  const phaseLeft = done === 0 ? undefined : Math.max(0, ((now - phaseStarted) / done) * (total - done));
  if (phase === "evaluate" && (step === 0 || step === steps)) return phaseLeft;
  if (stepSeconds.length === 0) return undefined;
  const perStep = stepSeconds.reduce((sum, seconds) => sum + seconds, 0) / stepSeconds.length;
  const spent = Math.min(perStep, now - stepStarted);
  return perStep * (steps - step + 1) - spent + evaluationSeconds;
}

/** A column of a step's line. `optional` ones are left out of narrow terminals, the highest first. */
interface Column {
  readonly heading: string;
  readonly width: number;
  readonly optional?: number;
  readonly text: (record: StepRecord, timing: TimingRecord) => string;
}

const time: Column = { heading: "time", width: 11, text: (_, timing) => duration(timing.rolloutSeconds + timing.updateSeconds) };
const step: Column = { heading: "step", width: 5, text: ({ step }) => String(step) };
const trained: Column = {
  heading: "trained/s",
  width: 10,
  optional: 2,
  text: (_, timing) => count(timing.trainedTokensPerSecond),
};

/** The columns of a step on demonstrations. */
const supervisedColumns: readonly Column[] = [
  step,
  { heading: "loss", width: 8, text: ({ metrics }) => fixed(metrics.loss) },
  { heading: "conversations", width: 15, text: ({ metrics }) => number(metrics.demonstrations) },
  { heading: "gradient", width: 10, text: ({ metrics }) => number(metrics.gradientNorm, 2) },
  trained,
  time,
];

const rolloutColumns: readonly Column[] = [
  step,
  { heading: "reward", width: 7, text: ({ metrics }) => fixed(metrics.reward) },
  { heading: "success", width: 8, text: ({ metrics }) => fixed(hasSuccess(metrics) ? metrics.success : null) },
  { heading: "turns", width: 6, text: ({ metrics }) => fixed(metrics.turns, 1) },
  { heading: "cut", width: 6, text: ({ metrics }) => cutOff(metrics) },
  { heading: "entropy", width: 8, text: ({ metrics }) => fixed(metrics.entropy) },
  { heading: "kl", width: 9, optional: 4, text: ({ metrics }) => number(metrics.kl, 2) },
  { heading: "gap", width: 9, optional: 3, text: ({ metrics }) => number(metrics.samplerGapMax, 2) },
  { heading: "sampled/s", width: 10, optional: 1, text: (_, timing) => count(timing.sampledTokensPerSecond) },
  trained,
  time,
];

/** The share of the messages that a limit of tokens ended. */
function cutOff({ truncatedActions, turns, episodes }: StepRecord["metrics"]): string {
  const messages = (turns ?? 0) * (episodes ?? 0);
  return messages === 0 ? "–" : `${Math.round((100 * (truncatedActions ?? 0)) / messages)} %`;
}

/** False where no episode succeeds although there are rewards: the environment probably has no success. */
function hasSuccess({ success, reward }: StepRecord["metrics"]): boolean {
  return (success ?? 0) > 0 || (reward ?? 0) === 0;
}

/** The columns of a step, as many as a terminal of this width has room for. */
function columnsOf({ metrics }: StepRecord, width: number): readonly Column[] {
  const all = "demonstrations" in metrics ? supervisedColumns : rolloutColumns;
  const fits = (columns: readonly Column[]) => columns.reduce((sum, column) => sum + column.width, 0) <= width;
  let columns = all;
  for (let drop = 4; drop > 0 && !fits(columns); drop--) columns = columns.filter(({ optional }) => optional !== drop);
  return columns;
}

export function stepHeading(record: StepRecord, width = 100): string {
  return columnsOf(record, width)
    .map(({ heading, width }) => heading.padStart(width))
    .join("");
}

/** One line for a step, under `stepHeading`. */
export function stepLine(record: StepRecord, timing: TimingRecord, width = 100): string {
  return columnsOf(record, width)
    .map(({ text, width }) => text(record, timing).padStart(width))
    .join("");
}

/** Returns what a step exchanged with a server, and the cost of the sharing it lacks. Undefined for an engine in this process. */
export function serverLine(timing: TimingRecord): string | undefined {
  const { requests, serverWaits, sentMb, receivedMb, sharedTokens, trainedTokens } = timing;
  if (requests === undefined) return undefined;
  const cost = sharedTokens
    ? `; ${(trainedTokens / sharedTokens).toFixed(2)} × the tokens that sharing prefixes would train`
    : "";
  return (
    `      server: ${plural(requests, "request")}, ${plural(serverWaits ?? 0, "wait")}, ` +
    `${number(sentMb)} MB sent, ${number(receivedMb)} MB received${cost}`
  );
}

const moments: Readonly<Record<EvaluationRecord["when"], string>> = {
  before: "before training",
  during: "while training",
  after: "after training",
};

export function evaluationLine(record: EvaluationRecord): string {
  const { when, step, split, tasks } = record;
  // After no step at all nothing was trained: it is an evaluation alone.
  const moment = when === "after" && step === 0 ? "" : ` ${moments[when]}`;
  const measured = measures(record).map(({ name, text }, i) => (i === 0 ? `${name}${moment}: ${text}` : `${name} ${text}`));
  const errors = record.errors === undefined ? "" : `; ${plural(record.errors, "attempt")} ended by an error, not counted`;
  return `${measured.join(", ")}  (${plural(tasks, `${split} task`)}, ${decodingText(record)}${errors})`;
}

/** "greedy", or "4 attempts each". */
function decodingText({ decoding, k }: Pick<EvaluationRecord, "decoding" | "k">): string {
  return decoding === "greedy" ? "greedy" : `${plural(k, "attempt")} each`;
}

type Measured = Pick<EvaluationRecord, "mean" | "low" | "high" | "reward" | "measure">;

/** Returns what an evaluation measured: success, unless the environment has none, and the mean reward where it says more. */
export function measures({ reward, measure, ...success }: Measured) {
  const rewardDiffers = Math.abs(reward.mean - success.mean) > 1e-9;
  return [
    ...(measure === "reward" ? [] : [{ name: "success" as const, text: interval(success) }]),
    ...(rewardDiffers || measure === "reward" ? [{ name: "reward" as const, text: rewardText(reward) }] : []),
  ];
}

/** "0.412  [0.380, 0.445]" */
export function rewardText({ mean, low, high }: Estimate): string {
  return `${mean.toFixed(3)}  [${low.toFixed(3)}, ${high.toFixed(3)}]`;
}

/** Returns what a log without a terminal says when a phase begins. The step's own line reports sampling and training. */
export function phaseLine(event: Extract<TrainingEvent, { type: "phase" }>): string | undefined {
  switch (event.phase) {
    case "evaluate":
      return `evaluating ${plural(event.total, "episode")} …`;
    case "checkpoint":
      return `saving step ${event.step} …`;
    case "rollout":
    case "reward":
    case "update":
      return undefined;
    default:
      return event.phase satisfies never;
  }
}

function fixed(value: number | null | undefined, digits = 3): string {
  return value === null || value === undefined ? "–" : value.toFixed(digits);
}
