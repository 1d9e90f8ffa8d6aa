import type { Trajectory } from "../core/trajectory.ts";
import type { Behaviour, Breakdown, Difference, EvaluationRecord, Summary } from "../runs/records.ts";
import { bar, count, detectable, duration, interval, percent, plural, points, pText, table } from "../terminal/format.ts";
import type { Paint } from "../terminal/paint.ts";
import { rewardText } from "../terminal/progress.ts";
import { measureOf } from "../training/evaluation/scores.ts";
import { episodeLines, longestShown } from "./conversation.ts";

/** The content of the last screen of a run shows. */
export interface Report {
  readonly folder: string;
  readonly summary: Summary;
  /** Evaluations at the start and at the end, the main split first. */
  readonly evaluations: readonly EvaluatedSplit[];
  /** Lines about more moments than these two, instead of theirs. */
  readonly comparison?: readonly string[];
  /** A trajectory of the evaluation at the end. */
  readonly solved: Trajectory | undefined;
  readonly failed: Trajectory | undefined;
  /** Commands to try, each with what it does. */
  readonly next: readonly (readonly [command: string, purpose: string])[];
}

/** The measurements on one split: for each way of decoding the start, the end, and the difference, sampled attempts first. */
export type EvaluatedSplit = readonly [EvaluatedChange, ...EvaluatedChange[]];

export interface EvaluatedChange {
  readonly before: EvaluationRecord;
  readonly after: EvaluationRecord;
  /** The difference of success. */
  readonly difference?: Difference;
  readonly rewardDifference?: Difference;
  /** Why there is no difference. */
  readonly withheld?: string;
}

/** The last screen: what training changed, two episodes to read, where everything is, what to try next. */
export function reportLines(report: Report, paint: Paint, width: number): string[] {
  const { evaluations, comparison, summary, solved, failed, folder, next } = report;
  const heading = (text: string) => ["", paint.bold(text)];
  const episode = (title: string, trajectory: Trajectory | undefined) =>
    trajectory === undefined
      ? []
      : [...heading(`${title} (${trajectory.id})`), ...episodeLines(trajectory, paint, width, longestShown)];
  return [
    ...(comparison === undefined
      ? evaluations.flatMap((changes) => [...heading(evaluationTitle(changes)), ...changeLines(changes, paint, width)])
      : ["", ...comparison]),
    ...warningLines(summary, paint),
    ...episode("An episode that it solves", solved),
    ...episode(evaluations.some(showsSuccess) ? "An episode that it fails" : "An episode", failed),
    ...heading("The run"),
    `${plural(summary.steps, "step")}, ${plural(summary.episodes, "episode")}, ${plural(summary.toolCalls, "tool call")}, ` +
      `${count(summary.sampledTokens)} tokens sampled, in ${duration(summary.wallSeconds)}, at most ${count(summary.peakRssMb)} MB`,
    folder,
    ...heading("Next"),
    ...nextLines(next, width),
  ];
}

function evaluationTitle(changes: EvaluatedSplit): string {
  const { split, tasks } = changes[0].after;
  return `${showsSuccess(changes) ? "Success" : "Mean reward"} on ${plural(tasks, `${split} task`)}, with 95 % intervals`;
}

/** False where the environment gives rewards and no success. */
function showsSuccess(changes: EvaluatedSplit): boolean {
  return measureOf(changes.flatMap(({ before, after }) => [before, after])) !== "reward";
}

/** Greedy first: it has no luck in it. */
function changeLines(changes: EvaluatedSplit, paint: Paint, width: number): string[] {
  const success = showsSuccess(changes);
  const greedyFirst = changes.toSorted((a, b) => a.after.decoding.localeCompare(b.after.decoding));
  const [main] = changes;
  return [
    ...greedyFirst.flatMap((change) => decodingLines(change, success, paint, width)),
    ...(success
      ? [
          ...breakdownLines("requests", main.before.byRequests, main.after.byRequests),
          ...breakdownLines("turns taken", byTurns(main.before.byTurns), byTurns(main.after.byTurns)),
        ]
      : []),
    ...behaviourLines(greedyFirst, paint, width),
  ];
}

/** Before, after and the change of one way of decoding. */
function decodingLines(
  { before, after, difference, rewardDifference, withheld }: EvaluatedChange,
  success: boolean,
  paint: Paint,
  width: number,
): string[] {
  const name = after.decoding === "greedy" ? "greedy" : `sampled × ${after.k}`;
  const row = (when: string, text: string) => `  ${(when === "before" ? name : "").padEnd(12)}${when.padEnd(7)} ${text}`;
  const share = (record: EvaluationRecord, colour: (text: string) => string) =>
    `${colour(bar(record.mean, Math.max(10, Math.min(30, width - 46))))} ${interval(record)}`;
  const rewardDiffers = [before, after].some(({ mean, reward }) => Math.abs(mean - reward.mean) > 1e-9);
  const [rewardBefore, rewardAfter] = [rewardText(before.reward), rewardText(after.reward)];
  const verdict = withheld === undefined ? [] : [row("change", withheld)];
  if (!success)
    return [row("before", rewardBefore), row("after", rewardAfter), ...differenceRows(rewardDifference, row, false), ...verdict];
  return [
    row("before", share(before, paint.yellow)),
    row("after", share(after, paint.green)),
    ...differenceRows(difference, row, true),
    ...verdict,
    ...(rewardDiffers ? [row("reward", `${rewardBefore} before`), row("", `${rewardAfter} after`)] : []),
  ];
}

function differenceRows(
  difference: Difference | undefined,
  row: (when: string, text: string) => string,
  shares: boolean,
): string[] {
  if (difference === undefined) return [];
  const { pValue, better, worse, smallest, mean } = difference;
  const change = shares ? points(difference) : `${mean < 0 ? "" : "+"}${rewardText(difference)}`;
  return [
    row("change", `${change}, ${pText(pValue)}`),
    row("", `${plural(better, "task")} better, ${count(worse)} worse; ${detectable(smallest, shares)}`),
  ];
}

/**
 * How often each behaviour was done of the times that it was called for, before and after, of each way of decoding. What fell by more than 5 points is
 * marked. On a narrow screen of the first way of decoding alone.
 */
export function behaviourLines(
  changes: readonly Pick<EvaluatedChange, "before" | "after">[],
  paint: Paint,
  width: number,
): string[] {
  const shown = width < 90 ? changes.slice(0, 1) : changes;
  const records = shown.flatMap(({ before, after }) => [before, after]);
  const names = [...new Set(records.flatMap(({ behaviours }) => behaviours.map(({ name }) => name)))].sort((a, b) =>
    a.localeCompare(b, "en"),
  );
  if (names.length === 0) return [];
  const find = ({ behaviours }: Pick<EvaluationRecord, "behaviours">, wanted: string) =>
    behaviours.find(({ name, called }) => name === wanted && called > 0);
  const share = (behaviour: Behaviour | undefined) => (behaviour === undefined ? undefined : behaviour.done / behaviour.called);
  const cell = (behaviour: Behaviour | undefined) =>
    behaviour === undefined ? "–" : `${percent(behaviour.done / behaviour.called)} of ${count(behaviour.called)}`;
  const fell = (name: string) =>
    shown.some(({ before, after }) => (share(find(before, name)) ?? 0) - (share(find(after, name)) ?? 1) > 0.05);
  const headings = records.map(({ when, decoding }) => `${decoding} ${when}`);
  const rows = names.map((name) => [name, ...records.map((record) => cell(find(record, name)))]);
  const [heading, ...lines] = table([["behaviour", ...headings], ...rows]);
  return ["", `  ${heading}`, ...lines.map((line, i) => (fell(names[i] ?? "") ? paint.yellow(`  ${line}  fell`) : `  ${line}`))];
}

function warningLines({ warnings }: Summary, paint: Paint): string[] {
  if (warnings === undefined) return [];
  const counts = Object.entries(warnings).map(([rule, times]) => `${rule} (${plural(times, "time")})`);
  return ["", paint.yellow(`Warnings: ${counts.join(", ")}`)];
}

/** A part that is missing on one side had no attempt there. */
function breakdownLines(name: string, before: readonly Breakdown[], after: readonly Breakdown[]): string[] {
  const names = [...new Set([...before, ...after].map((part) => part.name))].sort(
    (a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10),
  );
  if (names.length < 2) return [];
  const cells = (parts: readonly Breakdown[], wanted: string) => {
    const part = parts.find((candidate) => candidate.name === wanted);
    return part === undefined ? ["–", "0"] : [percent(part.success), count(part.attempts)];
  };
  const rows = names.map((wanted) => [wanted, ...cells(before, wanted), ...cells(after, wanted)]);
  return ["", ...table([[name, "before", "attempts", "after", "attempts"], ...rows]).map((line) => `  ${line}`)];
}

const turnBounds = [2, 4, 6, 8, 12];

/** By the number of assistant turns that an attempt took, in a few classes. */
export function byTurns(exact: readonly Breakdown[]): Breakdown[] {
  const classes = new Map<string, { attempts: number; successes: number }>();
  for (const { name, attempts, success } of exact) {
    const known = classes.get(turnClass(Number(name))) ?? { attempts: 0, successes: 0 };
    classes.set(turnClass(Number(name)), {
      attempts: known.attempts + attempts,
      successes: known.successes + attempts * success,
    });
  }
  return [...classes].map(([name, { attempts, successes }]) => ({ name, attempts, success: successes / attempts }));
}

function turnClass(turns: number): string {
  const above = turnBounds.find((bound) => turns <= bound);
  const below = turnBounds.findLast((bound) => turns > bound) ?? 0;
  return above === undefined ? `${below + 1} or more` : `${below + 1}–${above}`;
}

/** Commands with their purposes beside them, or below them where the terminal is too narrow. A command is never broken. */
function nextLines(pairs: readonly (readonly [string, string])[], width: number): string[] {
  const widest = Math.max(...pairs.map(([command]) => command.length));
  const fits = pairs.every(([, purpose]) => widest + purpose.length + 5 <= width);
  return pairs.flatMap(([command, purpose]) =>
    fits ? [`  ${command.padEnd(widest)}   ${purpose}`] : [`  ${command}`, `    ${purpose}`],
  );
}
