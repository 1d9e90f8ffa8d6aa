import type { Trajectory } from "../core/trajectory.ts";
import type { Behaviour, Breakdown, EvaluationRecord, Summary } from "../runs/records.ts";
import { episodeLines } from "./conversation.ts";
import { bar, count, duration, interval, percent, plural, table } from "./format.ts";
import type { Paint } from "./paint.ts";
import { rewardText } from "./progress.ts";

/** What the last screen of a run shows. */
export interface Report {
  readonly folder: string;
  readonly summary: Summary;
  /** Evaluations at the start and at the end, the main split first. */
  readonly evaluations: readonly { readonly before: EvaluationRecord; readonly after: EvaluationRecord }[];
  /** Of the evaluation at the end. */
  readonly solved: Trajectory | undefined;
  readonly failed: Trajectory | undefined;
  /** Commands to try, each with what it does. */
  readonly next: readonly (readonly [command: string, purpose: string])[];
}

const longestShown = 24;

/** The last screen: what training changed, two episodes to read, where everything is, what to try next. */
export function reportLines(report: Report, paint: Paint, width: number): string[] {
  const { evaluations, summary, solved, failed, folder, next } = report;
  const heading = (text: string) => ["", paint.bold(text)];
  const episode = (title: string, trajectory: Trajectory | undefined) =>
    trajectory === undefined
      ? []
      : [...heading(`${title} (${trajectory.id})`), ...episodeLines(trajectory, paint, width, longestShown)];
  return [
    ...evaluations.flatMap(({ before, after }) => [
      ...heading(evaluationTitle(after, hasSuccess(before, after) ? "Success" : "Mean reward")),
      ...changeLines(before, after, paint),
    ]),
    ...warningLines(summary, paint),
    ...episode("An episode that it solves", solved),
    ...episode("An episode that it fails", failed),
    ...heading("The run"),
    `${plural(summary.steps, "step")}, ${plural(summary.episodes, "episode")}, ${plural(summary.toolCalls, "tool call")}, ` +
      `${count(summary.sampledTokens)} tokens sampled, in ${duration(summary.wallSeconds)}, at most ${count(summary.peakRssMb)} MB`,
    folder,
    ...heading("Next"),
    ...aligned(next).map((line) => `  ${line}`),
  ];
}

function evaluationTitle({ split, tasks, k }: EvaluationRecord, what: string): string {
  return `${what} on ${plural(tasks, `${split} task`)}, ${plural(k, "attempt")} each, with 95 % intervals`;
}

function changeLines(before: EvaluationRecord, after: EvaluationRecord, paint: Paint): string[] {
  const row = (name: string, record: EvaluationRecord, colour: (text: string) => string) =>
    `  ${name.padEnd(7)} ${colour(bar(record.mean, 30))} ${interval(record)}`;
  const rewards = [`  reward  before ${rewardText(before.reward)}`, `          after  ${rewardText(after.reward)}`];
  if (!hasSuccess(before, after)) return rewards;
  const differs = [before, after].some(({ mean, reward }) => Math.abs(mean - reward.mean) > 1e-9);
  return [
    row("before", before, paint.yellow),
    row("after", after, paint.green),
    ...(differs ? rewards : []),
    ...breakdownLines("requests", before.byRequests, after.byRequests),
    ...breakdownLines("turns taken", byTurns(before.byTurns), byTurns(after.byTurns)),
    ...behaviourLines(before.behaviours, after.behaviours, paint),
  ];
}

/** How often each behaviour was done where it was called for, before and after. What fell by more than 5 points is marked. */
export function behaviourLines(before: readonly Behaviour[], after: readonly Behaviour[], paint: Paint): string[] {
  const names = [...new Set([...before, ...after].map(({ name }) => name))].sort((a, b) => a.localeCompare(b, "en"));
  if (names.length === 0) return [];
  const find = (all: readonly Behaviour[], wanted: string) => all.find(({ name, called }) => name === wanted && called > 0);
  const cells = (behaviour: Behaviour | undefined) =>
    behaviour === undefined
      ? ["–", "0"]
      : [percent(behaviour.done / behaviour.called), `${count(behaviour.done)} of ${count(behaviour.called)}`];
  const fell = (name: string) => {
    const [old, now] = [find(before, name), find(after, name)];
    return old !== undefined && now !== undefined && old.done / old.called - now.done / now.called > 0.05;
  };
  const rows = names.map((name) => [name, ...cells(find(before, name)), ...cells(find(after, name))]);
  const [heading, ...lines] = table([["behaviour", "before", "done", "after", "done"], ...rows]);
  return ["", `  ${heading}`, ...lines.map((line, i) => (fell(names[i]) ? paint.yellow(`  ${line}  fell`) : `  ${line}`))];
}

/** False where rewards are given and none of them is a success. */
function hasSuccess(...records: readonly EvaluationRecord[]): boolean {
  return records.some(({ mean, reward }) => mean > 0 || reward.mean === 0);
}

function warningLines({ warnings }: Summary, paint: Paint): string[] {
  if (warnings === undefined) return [];
  const counts = Object.entries(warnings).map(([rule, times]) => `${rule} (${plural(times, "time")})`);
  return ["", paint.yellow(`Warnings: ${counts.join(", ")}`)];
}

/** A part that is missing on one side had no attempt there. */
export function breakdownLines(name: string, before: readonly Breakdown[], after: readonly Breakdown[]): string[] {
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
  const index = turnBounds.findIndex((bound) => turns <= bound);
  if (index === -1) return `${turnBounds[turnBounds.length - 1] + 1} or more`;
  return `${index === 0 ? 1 : turnBounds[index - 1] + 1}–${turnBounds[index]}`;
}

function aligned(pairs: readonly (readonly [string, string])[]): string[] {
  const widest = Math.max(...pairs.map(([left]) => left.length));
  return pairs.map(([left, right]) => `${left.padEnd(widest)}   ${right}`);
}
