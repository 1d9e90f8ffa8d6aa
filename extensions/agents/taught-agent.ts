import { existsSync, readFileSync } from "node:fs";
import { ConfigError, RunError } from "../../src/core/errors.ts";
import type { TaskRequest } from "../../src/environments/define.ts";
import { layout } from "../../src/runs/layout.ts";
import { readSummary } from "../../src/runs/read.ts";
import { type CodeOptions, checkPlan, planRun, type RunPlan, runPrinted, type TrainedRun, train } from "../../src/sdk/train.ts";
import { count, duration, plural } from "../../src/terminal/format.ts";
import { interruptible } from "../../src/terminal/interrupt.ts";
import { shownPath } from "../../src/terminal/invocation.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import { concurrentAttempts } from "./measure.ts";
import { costText } from "./prices.ts";
import { type AgentRecord, recordAgent } from "./record-agent.ts";
import { attemptsFile } from "./record-file.ts";
import type { AgentTeacher } from "./scripted-teacher.ts";
import { answerLimit, costsOf, firstAttempts, firstLine } from "./taught-costs.ts";
import { type DemonstrationSettings, planTaught, type RunSettings, type TaughtPlan, type TaughtTraining } from "./taught-plan.ts";
import { trainedAgent } from "./train-agent.ts";

/** The result of a training with a teacher: of its last run, and of what led to it. */
export interface TaughtRun extends TrainedRun {
  readonly record: AgentRecord<object>;
  /** The run on demonstrations: its evaluations are those before and after it. */
  readonly supervised: TrainedRun;
}

/** Runs a stage, or continues it. @returns false if it was interrupted */
export type RunStage = (plan: RunPlan) => Promise<boolean>;

/**
 * Trains the model of an agent that exists. While the run lasts, this process's clients of OpenAI, Anthropic and Google that take their address
 * from the environment, and string model ids of the AI SDK, reach the model that is trained. An agent that makes its clients otherwise takes
 * `baseUrl` and `apiKey` from its second argument.
 * @example
 * await trainAgent({
 *   agent: "./agent.ts", // export default async (prompt) => (await generateText({ model: "openai/gpt-5-mini", prompt, tools })).text;
 *   tasks: [{ prompt: "When do I have Demo?", time: "14:30" }],
 *   reward: ({ task, answer }) => (String(answer).includes(task.time) ? 1 : 0),
 *   model: "Qwen/Qwen3-0.6B",
 * });
 * @throws as `train`; ConfigError for an agent, tasks, a reward or a teacher that cannot be used; RunError where no demonstration is kept
 */
export function trainAgent<T extends TaskRequest>(
  training: TaughtTraining<T> & { readonly teacher: AgentTeacher },
  options?: CodeOptions,
): Promise<TaughtRun>;
export function trainAgent<T extends TaskRequest>(training: TaughtTraining<T>, options?: CodeOptions): Promise<TrainedRun>;
export async function trainAgent<T extends TaskRequest>(
  training: TaughtTraining<T>,
  options: CodeOptions = {},
): Promise<TrainedRun | TaughtRun> {
  if ("environment" in training)
    throw new ConfigError("environment", training.environment, {
      expected: "none: the agent is the environment",
      hint: "Use `train` for an environment of your own.",
    });
  const { teacher, ...given } = training;
  if (teacher === undefined) {
    if (given.demonstrations !== undefined)
      throw new ConfigError("demonstrations", given.demonstrations, { expected: "a teacher that gives them" });
    return train({ ...settingsOf(given), environment: trainedAgent(given) }, options);
  }
  for (const name of ["resume", "flags"] as const)
    if (options[name] !== undefined && options[name] !== false)
      throw new ConfigError(name, options[name], { expected: "none with a teacher: the same call continues" });
  const screen = createScreen(options.print === true ? process.stdout : { write: () => true });
  const run: RunStage = async (plan) => {
    await runPrinted(plan, options);
    return true;
  };
  const taught = await teach({ ...given, teacher }, { say: (line) => screen.line(line), run });
  if (taught === undefined) throw new RunError("the training", "interrupted", { expected: "another call, which continues it" });
  return taught;
}

interface Stages {
  readonly say: (line: string) => void;
  readonly run: RunStage;
  readonly onDownload?: CodeOptions["onDownload"];
}

/**
 * Records demonstrations, learns from them, then trains by reinforcement. Each stage that is done is left as it is.
 * @returns undefined if it was interrupted
 */
export async function teach<T extends TaskRequest>(
  training: TaughtTraining<T> & { readonly teacher: AgentTeacher },
  { say, run, onDownload }: Stages,
): Promise<TaughtRun | undefined> {
  const { teacher, demonstrations = {}, agent, reward } = training;
  const settings = settingsOf(training);
  // What cannot be trained is refused before a teacher is called.
  const environment = trainedAgent(training);
  const { config: reinforcement } = await checkPlan({ ...settings, out: undefined, environment });
  const supervised = { ...settings, ...supervisedSettings(settings, demonstrations) };
  const runs = { reinforcement, supervised: resolveConfig({ ...supervised, out: undefined, environment }) };
  const plan = await planTaught(training, settings);
  const costs = await costsOf(plan, demonstrations, runs, onDownload);
  for (const line of costs.lines) say(line);

  const { keep, k, prices } = demonstrations;
  const recording = { agent, reward, teacher, out: plan.file, keep, k, prices };
  const kept = () =>
    say(`Interrupted. Attempts that have ended are kept in ${shownPath(attemptsFile(plan.file))}: the same command continues`);
  const recorded = (tasks: readonly T[]) =>
    interruptible(kept, (signal) => recordAgent<T>({ ...recording, tasks: { train: tasks, test: [] }, signal }));
  const { demonstrations: shown, reinforcement: trained, test } = plan.tasks;
  const began = performance.now();
  const first = await recorded(shown.slice(0, firstAttempts));
  if (first === undefined) return undefined;
  const left = shown.length * (k ?? 1) - first.attempts;
  // The first are fewer than are made at a time.
  const seconds = (((performance.now() - began) / 1000) * left) / concurrentAttempts;
  if (first.resumed === 0 && left > 0) say(`About ${duration(seconds)} for the other ${plural(left, "attempt")}`);
  const cost = first.resumed > 0 ? undefined : firstLine(first, shown.length * (k ?? 1));
  if (cost !== undefined) say(cost);
  const record = await recorded(shown);
  if (record === undefined) return undefined;
  say(keptLine(record, first.resumed + record.resumed - first.attempts));
  requireSome(record, plan);
  const text = readFileSync(plan.file, "utf8");
  const time = costs.timeLine(text);
  if (time !== undefined) say(time);
  const maxTokens = settings.rollout?.maxTokens ?? answerLimit(text);
  if (settings.rollout?.maxTokens === undefined)
    say(`Answers: at most ${maxTokens} tokens, about four times the longest demonstration (rollout.maxTokens)`);
  const rollout = { ...settings.rollout, maxTokens };

  const { supervised: sftFolder, reinforced } = plan.folders;
  const stage = async (tasks: readonly T[], config: UserConfig, folder: string, measured?: string): Promise<boolean> => {
    const resume = existsSync(layout.run(folder));
    if (resume && readSummary(folder) !== undefined) return true;
    const environment = trainedAgent({ ...training, tasks: { train: tasks, test } });
    // A run that continues has its other settings in its record.
    const user = resume ? { rewards: config.rewards } : config;
    return run({ ...(await planRun({ ...user, environment, out: folder }, { resume })), measured });
  };
  const sft = { ...supervised, rollout, algorithm: { ...supervised.algorithm, data: plan.file } } as const;
  if (!(await stage(shown, sft, sftFolder))) return undefined;
  if (!(await stage(trained, { ...settings, rollout, model: sftFolder }, reinforced, sftFolder))) return undefined;
  return { ...finished(reinforced), record, supervised: finished(sftFolder) };
}

const ofTheAgent: readonly string[] = [
  ...(["agent", "tasks", "reward", "name", "sampling", "auxiliary", "concurrency", "teacher", "demonstrations"] as const),
] satisfies readonly (keyof TaughtTraining)[];

/** The settings of a run, without what is the agent's. */
function settingsOf<T extends TaskRequest>(training: TaughtTraining<T>): RunSettings {
  return Object.fromEntries(Object.entries(training).filter(([name]) => !ofTheAgent.includes(name)));
}

function supervisedSettings(
  { optimizer }: RunSettings,
  { steps = 40, tokensPerStep, learningRate }: DemonstrationSettings,
): Pick<UserConfig, "steps" | "optimizer"> & { readonly algorithm: { readonly kind: "sft"; readonly tokensPerStep?: number } } {
  return {
    algorithm: { kind: "sft", tokensPerStep },
    steps,
    ...(learningRate === undefined ? {} : { optimizer: { ...optimizer, learningRate } }),
  };
}

function requireSome(
  { kept, rows, attempts, errors, errorCounts, unreadable }: AgentRecord<object>,
  { file, teacher }: TaughtPlan<TaskRequest>,
): void {
  if (rows > 0) return;
  const [reason] = [...Object.keys(errorCounts), ...Object.keys(unreadable)];
  throw new RunError(`the demonstrations of ${teacher.name}`, `${kept} of ${attempts - errors} attempts are kept`, {
    expected: "at least one episode that the rule keeps",
    hint: `Nothing was trained. ${reason === undefined ? "" : `The first reason: ${reason}. `}Read ${shownPath(attemptsFile(file))}, then repair the teacher or the reward, or lower the rule (--keep), which plays nothing again.`,
  });
}

/** How many episodes of the teacher are learned from. @param resumed attempts of an earlier call */
function keptLine({ attempts, errors, kept, rows, usage, cost }: AgentRecord<object>, resumed: number): string {
  const spent = cost === undefined ? "" : `, ${costText(cost)}`;
  const known = resumed === 0 ? "" : ` (${count(resumed)} had been played already)`;
  return `Demonstrations: ${count(kept)} of ${plural(attempts - errors, "attempt")} kept${known}, ${plural(rows, "conversation")}; ${plural(usage.requests, "call")}${spent}`;
}

function finished(folder: string): TrainedRun {
  const summary = readSummary(folder);
  if (summary === undefined) throw new RunError(folder, "not finished", { expected: "a finished run" });
  return { folder, summary };
}
