import type { TrainingEvent } from "../training/record/events.ts";
import { count, duration, plural } from "./format.ts";
import { commandPrefix, quoted, shownPath } from "./invocation.ts";
import {
  advance,
  evaluationLine,
  nothingYet,
  type Progress,
  phaseLine,
  secondsLeft,
  serverLine,
  statusLine,
  stepHeading,
  stepLine,
} from "./progress.ts";
import type { Screen } from "./screen.ts";
import { wrap } from "./wrap.ts";

/** A run on a screen: lines for what happened, and on a terminal one more for what is happening. */
export interface Display {
  onEvent(event: TrainingEvent): void;
  stop(): void;
  /** True while a checkpoint is made, or an update behind which finished steps get one: an interruption lets these end. */
  isSaving(): boolean;
  /** Steps that are in a checkpoint. */
  saved(): number;
  /** Steps that are kept, if the run was interrupted. */
  interruptedAt(): number | undefined;
}

/** @param episodesPerStep 0 if steps play none */
export function showProgress(screen: Screen, episodesPerStep: number): Display {
  let progress = nothingYet;
  let interruptedAt: number | undefined;
  let [saved, finished] = [0, 0];
  let headed = false;
  let folder = "";
  let estimated = false;
  const seconds = () => performance.now() / 1000;
  const refresh = () => screen.status(statusLine(progress, seconds()));
  const timer = screen.live ? setInterval(refresh, 200) : undefined;
  timer?.unref();
  return {
    onEvent: (event) => {
      progress = advance(progress, event, seconds());
      if (event.type === "run-started") [folder, saved, finished] = [event.folder, event.resumedAt, event.resumedAt];
      if (event.type === "stepped") finished = event.record.step;
      if (event.type === "phase" && event.phase === "checkpoint") saved = event.step;
      if (event.type === "stepped" && !headed) {
        screen.line(screen.paint.dim(stepHeading(event.record, screen.width)));
        headed = true;
      }
      const cost = estimated ? undefined : costLines(progress, episodesPerStep, seconds());
      if (cost !== undefined) estimated = true;
      const left = event.type === "stepped" ? leftText(progress, seconds()) : "";
      for (const line of [...(cost ?? []), ...eventLines(event, folder, screen, left)]) screen.line(line);
      if (event.type === "interrupted") interruptedAt = event.step;
    },
    stop: () => {
      clearInterval(timer);
      screen.clear();
    },
    isSaving: () =>
      interruptedAt === undefined && (progress.phase === "checkpoint" || (progress.phase === "update" && finished > saved)),
    saved: () => saved,
    interruptedAt: () => interruptedAt,
  };
}

/** The time that a run will still take, by the steps so far. */
function leftText(progress: Progress, now: number): string {
  const left = progress.step < progress.steps || progress.evaluationSeconds > 0 ? secondsLeft(progress, now) : undefined;
  return left === undefined ? "" : `  ${duration(left)} left`;
}

/** A pipe may be wider than it says; where it is said to be narrow, the time left has a line of its own. */
const pipeWidth = 100;

/** A step's line with the time left behind it. On a terminal the line below says it. */
function stepLines(line: string, left: string, width: number): string[] {
  return left === "" || width >= pipeWidth || line.length + left.length <= width
    ? [line + left]
    : [line, left.trimStart().padStart(line.length)];
}

/** Returns the lines of an event that stay on the screen. @param left said behind a step */
function eventLines(event: TrainingEvent, folder: string, { live, paint, width }: Screen, left: string): string[] {
  const some = (line: string | undefined) => (line === undefined ? [] : [line]);
  switch (event.type) {
    case "run-started":
      return some(
        event.resumedAt > 0
          ? `${plural(event.resumedAt, "step")} of ${count(event.steps)} ${event.resumedAt === 1 ? "is" : "are"} done already`
          : undefined,
      );
    case "phase":
      return some(live ? undefined : phaseLine(event));
    case "evaluated":
      return wrap(evaluationLine(event.record), width);
    case "stepped":
      return [
        ...stepLines(stepLine(event.record, event.timing, width), live ? "" : left, width),
        ...some(serverLine(event.timing)),
      ];
    case "notice":
      return wrap(event.message, width);
    case "warning": {
      const example = event.warning?.example;
      const read =
        example === undefined ? [] : [`  ${commandPrefix()} trajectory ${quoted(shownPath(folder))} ${quoted(example)}`];
      return [...wrap(`warning: ${event.message}`, width), ...read].map((line) => paint.yellow(line));
    }
    default:
      return [];
  }
}

/** Episodes after which an evaluation's speed is known: fewer would count the time of those that are still open. */
const enoughEpisodes = 64;
const longEvaluation = 600;

/**
 * Returns what a run will cost, once its first evaluation has run long enough to show it. A long one says how to shorten it.
 * @returns undefined if it is too early
 */
export function costLines(progress: Progress, episodesPerStep: number, now: number): string[] | undefined {
  const { phase, step, steps, done, total, phaseStarted } = progress;
  if (phase !== "evaluate" || step !== 0 || steps === 0 || done < Math.min(enoughEpisodes, total / 2)) return undefined;
  const perEpisode = (now - phaseStarted) / done;
  const evaluation = perEpisode * total;
  const sampling = perEpisode * episodesPerStep;
  const whole = 2 * evaluation + 2 * steps * sampling;
  const estimate =
    `About ${duration(evaluation)} for each evaluation` +
    (episodesPerStep === 0
      ? "."
      : ` and ${duration(sampling)} to sample a step; with training roughly ${duration(whole)} in all.`);
  if (evaluation < longEvaluation) return [estimate];
  const few = Math.max(16, Math.ceil(total / 16));
  return [
    estimate,
    `Shorter: --set evaluation.tasks=${few} --set evaluation.k=1 takes ${duration(perEpisode * few)}; evaluation.tasks=0 takes none.`,
  ];
}
