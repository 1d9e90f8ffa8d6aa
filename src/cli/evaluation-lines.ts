import type { Message } from "../core/messages.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { Breakdown, EvaluationRecord } from "../runs/records.ts";
import { bar, count, duration, interval, percent, plural, range, table } from "../terminal/format.ts";
import type { Paint } from "../terminal/paint.ts";
import { plain } from "../terminal/paint.ts";
import { measures } from "../terminal/progress.ts";
import type { EvaluationReport } from "../training/evaluation/folder.ts";
import { byTurns } from "./report.ts";

/** One way of decoding, on the screen. */
export function evaluationLines(record: EvaluationRecord, paint: Paint): string[] {
  const { decoding, k, passAt, passAll, meanTurns, toolCalls, sampledTokens, stopReasons, measure } = record;
  const name = decoding === "greedy" ? "greedy" : `sampled × ${k}`;
  return [
    ...measures(record).map(
      (measured, i) =>
        `${(i === 0 ? name : "").padEnd(13)}${measured.name.padEnd(8)} ` +
        `${measured.name === "success" ? `${paint.green(bar(record.mean, 24))} ` : ""}${measured.text}`,
    ),
    ...(measure === "reward" || k === 1
      ? []
      : [...passAt.slice(1).map((pass) => passLine("@", pass)), ...passAll.slice(1).map((pass) => passLine("^", pass))]),
    ...scenarioRows(record).map(([measured, text]) => `${"".padEnd(13)}${measured} ${text}`),
    ...metricRows(record).map(([measured, text]) => `${"".padEnd(13)}${measured.padEnd(8)} ${text}`),
    `${"".padEnd(13)}${meanTurns.toFixed(1)} turns on average, ${plural(toolCalls, "tool call")}, ${count(sampledTokens)} tokens`,
    ...(record.errors === undefined ? [] : [`${"".padEnd(13)}${uncounted(record.errors, record)}`]),
    `${"".padEnd(13)}ended: ${Object.entries(stopReasons)
      .map(([reason, n]) => `${reason} ${count(n)}`)
      .join(", ")}`,
  ];
}

function uncounted(errors: number, { tasks, k }: Pick<EvaluationRecord, "tasks" | "k">): string {
  return `${count(errors)} of ${plural(tasks * k, "attempt")} ended by an error: they have no score and are in no mean`;
}

/** Returns the sentences without which an evaluation's numbers mislead. */
function evaluationNotes(trajectories: readonly Trajectory[]): string[] {
  return [...unbegunNotes(trajectories), ...unreadCallNotes(trajectories)];
}

/** The written form of calls in templates of Hermes and Qwen, Mistral, Llama, and DeepSeek. */
const writtenCall = /<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|<｜tool▁calls▁begin｜>/;

/** Says so where an endpoint left all calls in the text: the model is measured as one that calls nothing. */
function unreadCallNotes(trajectories: readonly Pick<Trajectory, "turns" | "messages">[]): string[] {
  const turns = trajectories.flatMap(({ turns }) => turns);
  if (turns.some(({ action, toolCalls, invalidToolCalls }) => action.length > 0 || toolCalls + invalidToolCalls > 0)) return [];
  const isUnread = ({ role, content }: Message) => role === "assistant" && writtenCall.test(content);
  const unread = trajectories.filter(({ messages }) => messages.some(isUnread));
  if (unread.length === 0) return [];
  return [
    `${plural(unread.length, "episode")} of ${count(trajectories.length)} ${unread.length === 1 ? "has" : "have"} tool calls that the server left in the text, and none has one that was made: ` +
      "start the server with the parser of the model's calls (vLLM and SGLang: --tool-call-parser; llama.cpp: --jinja).",
  ];
}

/** Says so where episodes ended before the model wrote anything: their failures say nothing about it. */
function unbegunNotes(trajectories: readonly Pick<Trajectory, "turns" | "error">[]): string[] {
  const unbegun = trajectories.filter(({ turns, error }) => turns.length === 0 && error !== undefined);
  const [first] = unbegun;
  if (first === undefined) return [];
  return [
    `${plural(unbegun.length, "episode")} of ${count(trajectories.length)} ended before the model wrote anything: ${first.error}`,
  ];
}

/** Scenario goal completion: a scenario counts if all of its tasks succeed. */
function scenarioRows({ scenarios, k }: EvaluationRecord): [string, string][] {
  if (scenarios === undefined) return [];
  const whole = `${interval(scenarios)}  of ${plural(scenarios.count, "scenario")}, all of whose tasks succeed`;
  if (k === 1) return [["scenarios", whole]];
  return [
    ["scenarios", whole],
    [`scenarios@${k}`, `${percent(scenarios.any)} in any of the attempts, ${percent(scenarios.all)} in all of them`],
  ];
}

/** The environment's own metrics: shares as percentages, others as they are. */
function metricRows({ metrics = [] }: EvaluationRecord): [string, string][] {
  return metrics.map(({ name, ...estimate }) => [
    name,
    estimate.low >= 0 && estimate.high <= 1
      ? interval(estimate)
      : `${estimate.mean.toFixed(1)}  [${estimate.low.toFixed(1)}, ${estimate.high.toFixed(1)}]`,
  ]);
}

function passLine(sign: string, pass: EvaluationRecord["passAt"][number]): string {
  return `${"".padEnd(13)}${`pass${sign}${pass.k}`.padEnd(8)} ${interval(pass)}`;
}

/** Success by kind, number of requests and turns, and behaviours. */
function tableLines(record: EvaluationRecord): string[] {
  const parts = ([name, all]: readonly [string, readonly Breakdown[]]) => [
    [name, "success", "interval", "attempts"],
    ...all.map(breakdownRow),
  ];
  const breakdowns = [
    ["kind of request", record.byKind],
    ["requests", record.byRequests],
    ["turns taken", byTurns(record.byTurns)],
  ] as const;
  const behaviours = record.behaviours.map(({ name, done, called }) => [
    name,
    percent(done / Math.max(1, called)),
    count(done),
    count(called),
  ]);
  const tables = [
    ...breakdowns.filter(([, all]) => all.length > 1).map(parts),
    ...(behaviours.length === 0 ? [] : [[["behaviour", "share", "done", "called for"], ...behaviours]]),
  ];
  return tables.flatMap((rows) => ["", ...table(rows)]);
}

function breakdownRow({ name, success, low, high, attempts }: Breakdown): string[] {
  return [name, percent(success), low === undefined || high === undefined ? "" : range({ low, high }), count(attempts)];
}

/** The tokens of a chat endpoint that played. */
function playedTokens(evaluations: readonly EvaluationRecord[]): string[] {
  const usages = evaluations.flatMap(({ usage }) => usage ?? []);
  if (usages.length === 0) return [];
  const sum = (of: (usage: (typeof usages)[number]) => number) => usages.reduce((total, usage) => total + of(usage), 0);
  const unreported = sum((usage) => usage.unreported);
  const tokens = `${count(sum((usage) => usage.promptTokens))} prompt and ${count(sum((usage) => usage.completionTokens))} completion tokens`;
  return [
    `${tokens}, as the server counted them. Requests that failed are not in it.`,
    ...(unreported === 0 ? [] : [`The server did not report the tokens of ${plural(unreported, "answer")}: they are not in it.`]),
  ];
}

/** An evaluation for people, but for its episodes. */
export function evaluatedLines(report: EvaluationReport, trajectories: readonly Trajectory[], paint: Paint): string[] {
  const { evaluations } = report;
  const greedyFirst = evaluations.toSorted((a, b) => a.decoding.localeCompare(b.decoding));
  const refused = trajectories.filter(({ stopReason }) => stopReason === "actor-error");
  const notes = [
    ...(refused[0] === undefined
      ? []
      : [`The server refused ${plural(refused.length, "conversation")}, which have no score: ${refused[0].error}`]),
    ...evaluationNotes(trajectories),
  ];
  return [
    ...greedyFirst.flatMap((record) => evaluationLines(record, paint)),
    // Tables are of the evaluation with the most episodes.
    ...evaluations.slice(0, 1).flatMap(tableLines),
    ...playedTokens(evaluations),
    ...notes.map((note) => paint.yellow(note)),
  ];
}

/** The same as a file that stays. */
export function reportPage(report: EvaluationReport, trajectories: readonly Trajectory[]): string {
  const { asked, seconds } = report;
  const head = [
    `${asked.model} in ${asked.environment.name}`,
    `${plural(asked.tasks, `${asked.split} task`)}, seed ${asked.seed}, retrograde ${asked.version}, ${duration(seconds)}. Intervals are of 95 %, over tasks.`,
  ];
  return [...head, "", ...evaluatedLines(report, trajectories, plain), ""].join("\n");
}
