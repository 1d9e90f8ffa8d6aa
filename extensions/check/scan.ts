import type { Chat } from "../../src/chat/chat.ts";
import { mean, median } from "../../src/core/mean.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { type Environment, splitWithTasks, type Task } from "../../src/environments/environment.ts";
import { whileEpisode } from "../../src/environments/lifetime.ts";
import { rolloutGroups } from "../../src/rollouts/rollout.ts";
import type { Estimate } from "../../src/statistics/estimate.ts";
import { meanInterval } from "../../src/statistics/intervals.ts";
import type { TrainingConfig } from "../../src/training/config/settings.ts";
import { evaluationTasks } from "../../src/training/config/tasks.ts";
import { chanceOf, inPrompt, playersOf } from "../answers/players.ts";
import type { AnswerTask, Comparison } from "../answers/tasks.ts";
import { policySuccesses, signalIn, successIn } from "./check.ts";
import { blindPolicies, chancePolicy } from "./policies.ts";

/** The facts about tasks that decide whether a small model can learn them by rewards. */
export interface ScannedTasks {
  readonly tasks: number;
  /** Tokens of a prompt, tools included: the median. */
  readonly prompt: number;
  /** The best player who reads no meaning, and its success. */
  readonly chance: { readonly player: string; readonly success: Estimate };
  /** Tokens of an answer, the median, and the share of tasks whose answer's words the prompt has; only of questions with known answers. */
  readonly answers?: { readonly tokens: number; readonly inPrompt: number };
  /** The model's success as it is. */
  readonly model?: {
    readonly greedy: Estimate;
    readonly sampled: Estimate;
    /** The share of groups whose rewards are not all equal. */
    readonly signal: Estimate;
  };
  readonly verdict: string;
}

export interface ScanOptions {
  readonly seed: number;
  /** Tasks that are looked at: the first of the training split. */
  readonly tasks: number;
  readonly chat: Chat;
  /** Without it no model plays. */
  readonly engine?: Engine;
  readonly rollout: TrainingConfig["rollout"];
  /** Where answers are known: how they are compared. */
  readonly compare?: Comparison;
}

/** Looks at an environment's tasks before any training. @throws EnvError, EngineError */
export async function scanTasks(environment: Environment, options: ScanOptions): Promise<ScannedTasks> {
  const { seed, chat, engine, rollout, compare } = options;
  const split = await splitWithTasks(environment, "train");
  if (split === undefined) throw new RangeError(`the environment "${environment.name}" has no tasks`);
  const tasks = await evaluationTasks(environment, split, options.tasks);
  const starts = [];
  for (const task of tasks) starts.push(await whileEpisode(environment, task, 0, (started) => started));
  const prompt = median(starts.map(({ messages, tools }) => chat.open(messages, tools).ids.length));
  const asked = compare === undefined ? [] : tasks.map((task) => (task as Task & { readonly request: AnswerTask }).request);
  const lengths = asked.map(({ answers: [answer = ""] }) => chat.tokenizer.encode(answer).length);
  const answers = compare === undefined ? {} : { answers: { tokens: median(lengths), inPrompt: inPrompt(asked) } };
  const chances =
    compare === undefined
      ? await playedChances(environment, tasks, rollout.episodeTimeoutMs)
      : playersOf(asked).map((player) => ({ player: player.name, successes: chanceOf(player, asked, compare) }));
  const best = chances.reduce((a, b) => (mean(b.successes) > mean(a.successes) ? b : a));
  const chance = { player: best.player, success: meanInterval(best.successes, { seed }) };
  const longest = compare === undefined ? rollout.maxTokens : Math.max(12, ...lengths.map((length) => length + 4));
  const model =
    engine === undefined
      ? {}
      : { model: await played(engine, chat, environment, tasks, { ...rollout, maxTokens: longest, seed }) };
  const facts = { tasks: tasks.length, prompt, chance, ...answers, ...model };
  return { ...facts, verdict: verdictOn(facts) };
}

async function playedChances(environment: Environment, tasks: readonly Task[], timeoutMs: number) {
  const found = [];
  for (const policy of [...blindPolicies, chancePolicy])
    found.push({ player: policy.name, successes: await policySuccesses(policy, environment, tasks, { played: [], timeoutMs }) });
  return found;
}

async function played(
  engine: Engine,
  chat: Chat,
  environment: Environment,
  tasks: readonly Task[],
  rollout: TrainingConfig["rollout"] & { readonly seed: number },
): Promise<ScannedTasks["model"]> {
  const { seed } = rollout;
  const groups = (name: string, groupSize: number, temperature: number) =>
    rolloutGroups(engine, chat, environment, tasks, { ...rollout, name, groupSize, temperature });
  const sampled = await groups("scan-sampled", rollout.groupSize, rollout.temperature);
  const greedy = await groups("scan-greedy", 1, 0);
  return { greedy: successIn(greedy, seed), sampled: successIn(sampled, seed), signal: signalIn(sampled, seed) };
}

/**
 * Bounds within which a model of 135 M parameters learned by rewards (docs/published-tasks.md): most tokens of prompts and answers, the least share of
 * answers whose words the prompt has, and a chance between these two.
 */
const learned = { prompt: 150, answer: 24, inPrompt: 0.9, chance: [0.1, 0.6] } as const;
/** Groups with a signal from which on rewards have something to compare. */
const enoughSignal = 0.2;

const percents = (share: number) => `${Math.round(100 * share)} %`;

/** The verdict in words: what to do, or what speaks against it. */
export function verdictOn({ prompt, chance, answers, model }: Omit<ScannedTasks, "verdict">): string {
  const [least, most] = learned.chance;
  const { mean: share } = chance.success;
  const against = [
    ...(prompt > learned.prompt ? ["long prompts"] : []),
    ...(answers !== undefined && answers.tokens > learned.answer ? ["long answers"] : []),
    ...(answers !== undefined && answers.inPrompt < learned.inPrompt ? ["answers that are not in the prompt"] : []),
    ...(answers !== undefined && share < least ? [`a chance below ${percents(least)}`] : []),
    ...(share > most ? [`a chance above ${percents(most)}`] : []),
  ].join(", ");
  if (model === undefined && answers === undefined) return "not known before the model plays";
  if (model === undefined) return against === "" ? "fits" : `against it: ${against}`;
  if (model.greedy.mean >= 0.9) return "solved already";
  if (model.signal.mean >= enoughSignal) return against === "" ? "train" : `rewards differ; against it: ${against}`;
  return against === "" ? "teach the form first" : `no signal; against it: ${against}`;
}
