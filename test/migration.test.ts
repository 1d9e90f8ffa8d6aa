import { expect, test } from "vitest";
import { z } from "zod";
import {
  type AssistantMessage,
  defineEnvironment,
  defineReward,
  defineTool,
  type Environment,
  type EpisodeEnd,
  type Message,
  type Score,
  type Tool,
} from "../entries/index.ts";
import { Context } from "../src/core/context.ts";
import { ConfigError } from "../src/core/errors.ts";
import { type RolloutOptions, rollout } from "../src/rollouts/rollout.ts";
import { planRun } from "../src/sdk/train.ts";
import { resolveConfig, type UserConfig } from "../src/training/config.ts";
import { testChat } from "./fixtures/chats.ts";

/** Configurations and environments as version 0.1 took them: each works, or its error says what to write instead. */

const message = (action: () => unknown): string => {
  try {
    action();
    return "no error";
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
};

const pages: readonly UserConfig[] = [
  // The pages of version 0.1: the configuration's first example, every setting of the run, and the two adapters of its page.
  { algorithm: { kind: "grpo", klCoef: 0.01 }, rollout: { tasksPerStep: 8 }, steps: 20 },
  {
    ...{
      model: "default",
      steps: 60,
      seed: 1,
      device: "cpu",
      threads: 2,
      out: "runs/mine",
      environment: { name: "office", settings: {} },
    },
    rollout: {
      ...{ tasksPerStep: 16, groupSize: 8, branching: "off", maxTurns: 20, maxTokens: 96, temperature: 1, topP: 1, topK: 0 },
      ...{ concurrency: 64, ahead: 0, episodeTimeoutMs: 120_000 },
    },
    correction: "off",
    optimizer: {
      ...{ learningRate: 2e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 },
      ...{ schedule: "linear", warmupSteps: 0 },
    },
    evaluation: {
      ...{ split: "test", tasks: 256, k: 4, temperature: 1, challenge: false },
      during: { every: 0, split: "validation", tasks: 64 },
    },
    checkpoint: { every: 10, keep: 2 },
    limits: { logprobGap: 0.02 },
  },
  { lora: {} },
  { lora: { rank: 32, alpha: 32, targets: "all-linear" }, device: "webgpu" },
  { rollout: { ahead: 1 }, correction: { level: "token", beyond: "truncate", low: 0, high: 2 } },
  {
    algorithm: {
      ...{ kind: "seeupo", order: "reverse", form: "fused", advantage: "trajectory", normalisation: "batch", advantageBound: 3 },
      ...{ singletonGroups: "zero", advantageFactor: true, clip: { low: 0.2, high: 0.2 }, carryClip: { low: 0.2, high: 0.2 } },
      ...{ level: "turn", klCoef: 0.002, klEstimator: "k3", epochs: 1, visitScale: "rows", minimumRows: 8 },
    },
  },
  { algorithm: { kind: "seeupo", order: [2, 1, 0], dualClip: 3 } },
  {
    algorithm: {
      kind: "ppo",
      advantage: { over: "token", gamma: 1, lambda: 1, critic: { learningRateScale: 1, valueClip: 0.5 } },
      aggregation: "token-mean",
      miniBatches: 4,
    },
  },
  { algorithm: { kind: "grpo", advantage: { singletonGroups: "raw" }, update: { clip: { low: 0.2, high: 0.2 }, dualClip: 3 } } },
  { algorithm: { kind: "dr-grpo", aggregation: { tokenSumOver: 1000 } } },
  { algorithm: { kind: "dapo", dynamicSampling: { maxBatches: 10 }, overlong: { limit: 512, buffer: 64, penalty: 1 } } },
  { algorithm: { kind: "rloo", klIn: "reward", entropyCoef: 0.01 } },
  { algorithm: { kind: "reinforce++", advantage: { gamma: 1 } } },
  { algorithm: { kind: "gspo", miniBatches: 1, update: { clip: { low: 3e-4, high: 4e-4 } } } },
  { algorithm: { kind: "gigpo", advantage: { omega: 1, gamma: 0.95, mode: "mean_norm", episodeBaseline: "trajectories" } } },
  { algorithm: { kind: "arpo", attribution: "soft", aggregation: "token-mean" } },
  {
    rewards: [
      { kind: "environment" },
      { kind: "format", toolCalls: true, tags: [] },
      { kind: "tool-cost", perCall: 0.1, tools: {} },
    ],
  },
  { rewards: [{ kind: "environment" }, { kind: "length", free: 100, perToken: 0.001, cap: 1, weight: 2, name: "short" }] },
];

test.each(pages.map((config, i) => [i, config] as const))("configuration %i of the pages of 0.1 is taken", (_, config) => {
  const { threads, device, lora, algorithm, ...rest } = config;
  const resolved = resolveConfig(config);
  expect(resolved).toMatchObject(typeof algorithm === "object" ? { algorithm } : {});
  expect(resolved).toMatchObject({ ...rest, ...(rest.rewards === undefined ? {} : { rewards: resolved.rewards }) });
  const given = Object.fromEntries(Object.entries({ threads, device, lora }).filter(([, value]) => value !== undefined));
  expect(resolved.engine).toMatchObject(given);
});

test.each([
  [{ clip: { low: 0.1, high: 0.3 } }, 'Write algorithm.update.clip: {"low":0.1,"high":0.3}.'],
  [{ dualClip: 3 }, "Write algorithm.update.dualClip: 3."],
  [{ singletonGroups: "raw" }, 'Write algorithm.advantage.singletonGroups: "raw".'],
  [{ divideByStd: false }, 'Write algorithm: "dr-grpo"'],
  [{ divideByStd: true }, "Write nothing"],
])("grpo's setting %j of the first pages is refused with the one of today", (setting, hint) => {
  expect(message(() => resolveConfig({ algorithm: { kind: "grpo", ...setting } } as UserConfig))).toContain(hint);
});

test.each([
  ['Write algorithm.update.clip: {"low":0.1,"high":0.3}.', { update: { clip: { low: 0.1, high: 0.3 } } }],
  ['Write algorithm.advantage.singletonGroups: "raw".', { advantage: { singletonGroups: "raw" } }],
])("what is written instead, %s, is taken", (_, setting) => {
  expect(resolveConfig({ algorithm: { kind: "grpo", ...setting } } as UserConfig).algorithm).toMatchObject(setting);
});

test("a group of one, two engines at once and an own environment's default model say what to write", async () => {
  expect(message(() => resolveConfig({ rollout: { groupSize: 1 } }))).toMatch(/at least 2 .*ppo and reinforce\+\+/);
  expect(message(() => resolveConfig({ threads: 1, engine: { threads: 2 } }))).toContain('"threads" has moved into "engine"');
  await expect(planRun({ environment: calendar })).rejects.toThrow(/bundled:office-classic/);
});

/** The example of version 0.1, as its users have it. */
const parameters = z.object({ title: z.string() });
const calendar = defineEnvironment({
  name: "calendar",
  system: "You are an office assistant.",
  tasks: (random) => ({ prompt: "When do I have Demo?", time: `${10 + random.integer(8)}:30` }),
  start: ({ time }) => {
    const execute = (asked: { title: string }) => (asked.title === "Demo" ? [{ id: "e10", day: "Friday", time }] : []);
    return {
      tools: [defineTool({ name: "find_event", description: "Events of this title.", parameters, execute })],
      reward: ({ answer }) => (answer.includes("30") ? 1 : 0),
    };
  },
});

/** An environment without `defineEnvironment`: a number of tasks that is no promise, a reply that only ends or continues, a copy. */
function counter(): Environment {
  const episode = (count: number): ReturnType<Environment["start"]> => {
    let asked = count;
    const tool: Tool = {
      ...{ name: "count", description: "Counts.", parameters: { type: "object", properties: {} }, replayable: true },
      execute: () => ++asked,
    };
    return {
      messages: [{ role: "user", content: "Count twice." }],
      tools: [tool],
      reply: (_: AssistantMessage) =>
        asked < 2 ? { done: false, messages: [{ role: "user", content: "More." }] } : { done: true },
      score: (conversation: readonly Message[]): Score => ({ reward: asked, scores: { messages: conversation.length } }),
      clone: () => episode(asked) as never,
    };
  };
  return { name: "counter", size: () => 3, task: (split, index) => ({ id: `${split}/${index}` }), start: () => episode(0) };
}

const options: RolloutOptions = { id: "r/0", group: "r", seed: 1, maxTurns: 8, maxTokens: 500, episodeTimeoutMs: 60_000 };
const chat = testChat("plain");

/** Plays an episode in which the model writes these messages. */
async function played(environment: Environment, texts: readonly string[]) {
  const left = [...texts];
  const info = { name: "written", parameters: 0, vocabularySize: 306, maxLength: 100_000, capabilities: [] };
  const sample = async () => {
    const tokens = chat.tokenizer.encode(`${left.shift()}<|im_end|>`);
    const each = (value: number) => tokens.map(() => value);
    return {
      tokens,
      logprobs: each(-1),
      modelLogprobs: each(-1),
      entropies: each(0.5),
      finish: "stop" as const,
      weightVersion: 0,
    };
  };
  return rollout(
    { info, weightVersion: 0, sample, release: () => {} },
    chat,
    environment,
    await environment.task("train", 0),
    options,
  );
}

const call = (name: string, args: object) => `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;

test("the own environment of 0.1's example is played as it was", async () => {
  const { reward, turns, error } = await played(calendar, [call("find_event", { title: "Demo" }), "It is at 12:30."]);
  expect({ reward, error, calls: turns.map(({ toolCalls }) => toolCalls) }).toEqual({
    reward: 1,
    error: undefined,
    calls: [1, 0],
  });
});

test("an environment object of 0.1 is played as it was", async () => {
  const { reward, scores, stopReason } = await played(counter(), [call("count", {}), "One.", call("count", {}), "Two."]);
  expect({ reward, scores, stopReason }).toEqual({ reward: 2, scores: { messages: 8 }, stopReason: "done" });
});

test("a text protocol of 0.1 is refused with the form of today", async () => {
  const read = (content: string) => ({ message: { role: "assistant", content }, calls: [] });
  const protocol = { stopStrings: ["</search>"], maxResponseTokens: 100, read, write: () => "" };
  const reward = ({ response }: EpisodeEnd) => Number(response.length > 0);
  const old = defineEnvironment({
    name: "peaks",
    tasks: { train: [{ prompt: "?" }] },
    start: () => ({ tools: [], protocol: protocol as never, reward }),
  });
  await expect(played(old, ["<answer>1</answer>"])).rejects.toThrow(
    /actions: { stopStrings, read }, continuation: oneMessage\(write/,
  );
});

test("a reward from code of 0.1 that takes a context for an array is told to slice it", async () => {
  const trajectory = await played(calendar, ["At 12:30."]);
  const reward = defineReward({ name: "first", verify: (episode) => Number((episode.trajectory.turns[0].context as never)[0]) });
  const episode = {
    task: { id: "t" },
    answer: "",
    conversation: [],
    reward: 1,
    scores: {},
    stopReason: "done" as const,
    trajectory,
  };
  if (!("verify" in reward)) return expect.unreachable();
  expect(() => reward.verify(episode, {})).toThrow("Write context.slice()[0].");
  expect(() => (Context.of([1]) as never as number[]).map((id) => id)).toThrow("Write context.slice().map.");
  expect(Context.of([1, 2]).slice()[0]).toBe(1);
});
