import { proportionInterval } from "../../../src/statistics/intervals.ts";
import { count, duration, interval, plural, table } from "../../../src/terminal/format.ts";
import { commandPrefix, quoted } from "../../../src/terminal/invocation.ts";
import type { TrainingConfig } from "../../../src/training/config/settings.ts";
import { gibibytes, parameterText } from "../../local/memory.ts";
import type { Chances, Fitting } from "../advice.ts";
import type { Trial } from "../cost.ts";

/** The lines of `advise`. */

export interface Speed {
  readonly gflops: number;
  readonly provider: string;
  /** The share that other programs took while it was measured. */
  readonly load: string | undefined;
}

export const holeLines = (holes: readonly string[]) => (holes.length === 0 ? [] : ["", ...holes.map((hole) => `! ${hole}`)]);

/** Which model to begin with, before any was played. */
export function choiceLines(
  fitting: readonly Timed[],
  { bytes, length, time, steps, gflops, provider, load }: Machine,
): string[] {
  if (fitting.length === 0) return noneFits(bytes);
  const rows = fitting.map((each) => [
    ...modelCells(each, duration(each.seconds), time),
    ...[each.callsTools ? "trained to" : "by demonstrations", each.licence],
  ]);
  return [
    `Published models that can be trained in ${gibibytes(bytes)}, at ${count(length)} tokens. The run: ${plural(steps, "step")}, a rough guess from ` +
      `this machine's ${count(gflops)} GFLOP/s (${provider}${load === undefined ? "" : `, with ${load}: a quiet machine is faster`}); --model NAME measures it`,
    ...table([[...modelHead, "calls tools", "licence"], ...rows]),
  ];
}

const modelHead = ["  model", "size", "what is trained", "memory", "the run"];

function modelCells({ name, parameters, form, bytes, seconds }: Timed, run: string, time: number): string[] {
  return [`  ${name}`, parameterText(parameters), form, gibibytes(bytes), `${run}${seconds > time ? ", too long" : ""}`];
}

/** The measurements of this machine, and what a run may take. */
export interface Machine extends Speed {
  readonly bytes: number;
  /** Tokens of a context. */
  readonly length: number;
  readonly time: number;
  readonly steps: number;
}

/** A command over the agent that was given. @param options with a space before them */
export type AgentCommand = (name: string, options: string) => string;

/** @param agent undefined for an environment */
export function firstTrial(
  fitting: readonly Timed[],
  time: number,
  agent: AgentCommand | undefined,
  environment: string,
): string {
  const inTime = fitting.filter(({ seconds }) => seconds <= time);
  const first = inTime.find(({ callsTools }) => callsTools) ?? fitting[0];
  if (first === undefined) return "a machine with more memory, or a model on a cluster (docs/tinker.md).";
  const options = ` --model ${first.name}`;
  if (agent === undefined) return `play a few episodes with one: ${commandPrefix()} advise --env ${environment}${options}`;
  return first.callsTools
    ? `play a few episodes with one: ${agent("advise", options)}`
    : `the smallest was not trained to call tools: ${taughtBy(agent, first.name)}`;
}

/** Demonstrations, then reinforcement. */
function taughtBy(agent: AgentCommand, model: string): string {
  const command = agent("train-agent", ` --model ${quoted(model)} --teacher gpt-5-mini@https://api.openai.com/v1`);
  return `demonstrations first, of a strong model or of a script such as ./expert.ts: ${command}`;
}

const noneFits = (bytes: number) => [`No published model that is listed here can be trained in ${gibibytes(bytes)}.`];

/** A fitting model, with the seconds of the whole run. */
export type Timed = Fitting & { readonly seconds: number };

export function trialLines(chances: Chances, { cost }: Trial, tools: boolean): string[] {
  const { episodes, calls, invalidCalls, successes, groups, withSignal, longest, failures } = chances;
  const called =
    calls === 0
      ? "none: no tool was called"
      : `${count(calls)} of tools, ${count(invalidCalls)} of them not readable or not valid`;
  const rows = [
    ...(tools ? [["  calls", called]] : []),
    ["  success", interval(proportionInterval(successes, episodes))],
    ["  signal", `${count(withSignal)} of ${plural(groups, "group")} of attempts at one task have different rewards`],
    ["  length", `${count(cost.tokensPerEpisode)} sampled tokens an episode, the longest context ${count(longest)}`],
    ["  time", `${duration(cost.samplingPerStep + cost.trainingPerStep)} a step, ${duration(cost.whole)} the run`],
    ...failures.slice(0, 2).map((failure) => ["  failed", failure]),
  ];
  return [`${plural(episodes, "episode")}, at temperature 1, before any training`, ...table(rows)];
}

export function fittingLines(
  fitting: readonly Timed[],
  time: number,
  { bytes, steps }: { readonly bytes: number; readonly steps: number },
): string[] {
  if (fitting.length === 0) return noneFits(bytes);
  const rows = fitting.map((each) => modelCells(each, `about ${duration(each.seconds)}`, time));
  return [
    `Published models that can be trained in ${gibibytes(bytes)}; ${plural(steps, "step")} without evaluations, by the episodes above and the models' sizes`,
    ...table([modelHead, ...rows]),
  ];
}

export function nextOf(
  { verdict, failures }: Chances,
  stronger: Timed | undefined,
  { model, environment }: TrainingConfig,
  agent?: AgentCommand,
): string {
  const larger =
    stronger === undefined
      ? "a stronger model on a cluster"
      : `a stronger model, of those in time ${stronger.name} (${stronger.form})`;
  const teach =
    agent === undefined
      ? `${commandPrefix()} sft --env ${environment.name} --model ${model}, on a few demonstrations`
      : taughtBy(agent, model);
  const options = model === "default" ? "" : ` --model ${quoted(model)}`;
  switch (verdict) {
    case "fails":
      return `Next: most episodes failed (${failures[0] ?? ""}). Mend that first.`;
    case "format":
      return `Next: it does not call the tools in a form that can be read, so reinforcement has nothing to begin with. Teach the form: ${teach}; or take ${larger}.`;
    case "too-hard":
      return `Next: no attempt succeeds, so nothing can be learned. Take ${larger}; or easier tasks, partial rewards, or ${teach}.`;
    case "too-easy":
      return "Next: nearly every attempt succeeds already. Take harder tasks.";
    case "no-signal":
      return "Next: attempts at one task end alike. Take larger groups (rollout.groupSize) or tasks of middle difficulty.";
    case "learns":
      return `Next: it can learn here. ${agent?.("train-agent", options) ?? `${commandPrefix()} train --env ${environment.name}${options}`}`;
  }
}
