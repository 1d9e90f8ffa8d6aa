import { mean } from "../../src/core/mean.ts";
import { isScored, succeeded } from "../../src/core/outcome.ts";
import type { Group, Turn } from "../../src/core/trajectory.ts";
import { publishedModels } from "../../src/hub/published.ts";
import type { TrainingConfig } from "../../src/training/config/settings.ts";
import { estimateMemory, type MemoryUse, totalBytes } from "../local/memory.ts";
import { parameterCount, parseModelConfig } from "../local/model/model-config.ts";
import { type PublishedName, publishedSizes } from "../local/published-sizes.ts";
import type { Trial } from "./cost.ts";

/** The chances of a model to learn by reinforcement, as a trial shows them. */
export interface Chances {
  readonly episodes: number;
  /** Episodes that could not be played: their errors, each once. */
  readonly failures: readonly string[];
  readonly calls: number;
  /** Calls that could not be read, or are not what a tool takes. */
  readonly invalidCalls: number;
  readonly successes: number;
  readonly groups: number;
  /** Groups whose rewards differ: the others teach nothing. */
  readonly withSignal: number;
  /** Tokens of the longest episode. */
  readonly longest: number;
  readonly verdict: "fails" | "format" | "too-hard" | "too-easy" | "no-signal" | "learns";
}

/** @param hasTools whether the environment shows tools, of which a model has to call some */
export function chancesOf(groups: readonly Group[], hasTools: boolean): Chances {
  const trajectories = groups.flatMap(({ trajectories }) => trajectories).filter(({ stopReason }) => stopReason !== "cancelled");
  const turns = trajectories.flatMap(({ turns }) => turns);
  const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const [calls, invalidCalls] = [
    total(turns.map(({ toolCalls }) => toolCalls)),
    total(turns.map(({ invalidToolCalls }) => invalidToolCalls)),
  ];
  const rewards = groups.map(({ trajectories }) => trajectories.filter(isScored).map(({ reward }) => reward));
  const chances = {
    episodes: trajectories.length,
    failures: [...new Set(trajectories.flatMap(({ error }) => error ?? []))],
    ...{ calls, invalidCalls },
    successes: trajectories.filter(succeeded).length,
    groups: groups.length,
    withSignal: rewards.filter((each) => new Set(each).size > 1).length,
    longest: Math.max(0, ...turns.map(lengthOf)),
  };
  const failed = trajectories.filter(({ error }) => error !== undefined).length;
  const verdict = () => {
    if (2 * failed > trajectories.length) return "fails";
    if (hasTools && calls <= 2 * invalidCalls) return "format";
    if (chances.withSignal > 0) return "learns";
    const solved = mean(rewards.flat());
    return solved >= 0.95 ? "too-easy" : chances.successes === 0 ? "too-hard" : "no-signal";
  };
  return { ...chances, verdict: verdict() };
}

const forms = [
  ["itself", undefined],
  ["an adapter", "float32"],
  ["an adapter, base in 8 bits", "int8"],
  ["an adapter, base in 4 bits", "int4"],
] as const;

/** A published model that can be trained here. */
export interface Fitting {
  /** As `--model` takes it. */
  readonly name: PublishedName;
  readonly licence: string;
  readonly callsTools: boolean;
  readonly parameters: number;
  /** Which weights are trained, and how the others are held. */
  readonly form: (typeof forms)[number][0];
  readonly bytes: number;
}

/** Published models that fit, by size, each in the fullest form that does. */
export function fittingModels(use: MemoryUse, available: number): Fitting[] {
  return (Object.keys(publishedSizes) as PublishedName[])
    .flatMap((name) => {
      const config = parseModelConfig(publishedSizes[name], name);
      const bytes = (base: (typeof forms)[number][1]) => {
        const lora = base === undefined ? undefined : ({ rank: 32, alpha: 32, targets: "all-linear", base } as const);
        return totalBytes(estimateMemory(config, { ...use, training: true, lora, weights: undefined }));
      };
      const found = use.length > config.maxPositionEmbeddings ? undefined : forms.find(([, base]) => bytes(base) <= available);
      if (found === undefined) return [];
      const [form, base] = found;
      const { licence, callsTools } = publishedModels[name];
      return [{ name, licence, callsTools, parameters: parameterCount(config), form, bytes: bytes(base) }];
    })
    .sort((a, b) => a.parameters - b.parameters);
}

/** The requests of an episode, the tokens of the first, and those of an answer. */
export interface Asks {
  readonly requests: number;
  readonly tokens: number;
  readonly answer?: number;
}

type StepSize = Pick<TrainingConfig["rollout"], "tasksPerStep" | "groupSize">;

/** A call with an argument or two, or a few words: the desk's have 30 (examples/desk). */
const answerTokens = 32;
/** The shares of a machine's peak that long products reach, and those of one token at a time. */
const [longShare, tokenShare] = [0.6, 0.25];

/**
 * Seconds of a step of a model that was never played, by the products that this machine makes: the prompt of a group is computed once, a pass forward
 * costs two operations a parameter and token, and one backward four.
 */
export function guessedStepSeconds(
  parameters: number,
  { requests, tokens, answer = answerTokens }: Asks,
  { tasksPerStep, groupSize }: StepSize,
  gflops: number,
): number {
  const answers = tasksPerStep * groupSize * Math.max(1, requests) * answer;
  const products = (8 * (tasksPerStep * tokens + answers)) / longShare + (2 * answers) / tokenShare;
  return (parameters * products) / (gflops * 1e9);
}

/**
 * Seconds of a step of another model on this machine, from the episodes of the one that was played. What that took beyond its products is the agent's
 * own time, which no model changes; where it took less than its products were guessed to take, so will the other.
 */
export function stepSeconds(
  { cost, groups }: Trial,
  played: number,
  parameters: number,
  rollout: StepSize,
  gflops: number,
): number {
  const prompts = groups.flatMap(({ trajectories }) => trajectories).flatMap(({ turns }) => turns.slice(0, 1));
  const tokens = prompts.length === 0 ? 0 : mean(prompts.map(({ context }) => context.length));
  const asks = { requests: 1, tokens, answer: cost.tokensPerEpisode };
  const guess = (size: number) => guessedStepSeconds(size, asks, rollout, gflops);
  const [took, guessed] = [cost.samplingPerStep + cost.trainingPerStep, guess(played)];
  return guess(parameters) * Math.min(1, took / guessed) + Math.max(0, took - guessed);
}

function lengthOf({ context, action }: Turn): number {
  return context.length + action.length;
}
