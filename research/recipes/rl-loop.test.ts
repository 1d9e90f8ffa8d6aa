import { expect, test } from "vitest";
import { z } from "zod";
import { defineEnvironment, type Message } from "../../entries/index.ts";
import type { ActionInContext } from "../../src/core/trajectory.ts";
import type { SampleRequest } from "../../src/engines/engine.ts";
import { testChat } from "../../test/fixtures/chats.ts";
import { scriptedSampler } from "../../test/scripted-sampler.ts";
import { learn } from "./rl-loop.ts";

const chat = testChat("plain");
const call = (name: string, given: object) => `<tool_call>${JSON.stringify({ name, arguments: given })}</tool_call>`;

test("episodes are sampled in groups, rewards become advantages, and one step is made of all tokens", async () => {
  const conversations: (readonly Message[])[] = [];
  const closed: number[] = [];
  const places: string[] = [];
  const defined = defineEnvironment({
    name: "sums",
    tasks: { train: Array.from({ length: 9 }, (_, i) => ({ prompt: `train ${i}` })), test: [{ prompt: "test" }] },
    start: () => ({
      tools: [
        {
          ...{ name: "look", description: "Looks." },
          parameters: z.strictObject({ at: z.int() }),
          execute: ({ at }: { at: number }) => (at === 1 ? "one" : { seen: at }),
        },
      ],
      reward: ({ conversation }) => {
        conversations.push(conversation);
        return Number(conversation.at(-1)?.content ?? 0);
      },
      close: () => void closed.push(conversations.length),
    }),
  });
  const office = {
    ...defined,
    task: (split: string, index: number) => {
      places.push(`${split} ${index}`);
      return defined.task(split, split === "test" ? 0 : index);
    },
  };
  // The rewards of a group's two episodes are 1 and 0. One of them looks first, and is wrong three times.
  const { info } = scriptedSampler(chat.tokenizer, () => "");
  const looking = [
    call("look", { at: 1 }) + call("look", { at: 2 }) + call("look", { at: "x" }) + call("find", {}),
    "<tool_call>{",
  ];
  const requests: unknown[] = [];
  const released: string[] = [];
  const trained: { samples: readonly ActionInContext[]; weights: unknown; options: unknown }[] = [];
  const steps: unknown[] = [];
  const texts = new Map<string, string[]>();
  const engine = {
    info,
    sample: async (request: SampleRequest) => {
      const { seed, temperature, cacheKey = "", maxTokens, stopStrings } = request;
      requests.push([cacheKey, seed, temperature]);
      expect([maxTokens, stopStrings]).toEqual([48, chat.stopStrings]);
      const answers = texts.get(cacheKey) ?? (cacheKey === "1/1/0" ? [...looking, "1"] : [cacheKey.endsWith("0") ? "1" : "0"]);
      texts.set(cacheKey, answers.slice(1));
      const text = answers[0] ?? "";
      const tokens = [...chat.tokenizer.encode(text), ...chat.tokenizer.stopTokens.slice(0, 1)];
      const zeros = tokens.map(() => 0);
      return { tokens, logprobs: zeros, entropies: zeros, finish: "stop" as const, weightVersion: 0 };
    },
    release: (key: string) => void released.push(key),
    forwardBackward: async (samples: readonly ActionInContext[], weights: unknown, options: unknown) => {
      trained.push({ samples, weights, options });
      return [];
    },
    step: async (options: unknown) => {
      steps.push(options);
      return { gradientNorm: 0.25, learningRate: 0 };
    },
  };
  const lines: string[] = [];
  await learn({ engine, chat, office }, 1, (line) => lines.push(line), { tasksPerStep: 2, groupSize: 2, testTasks: 1 });

  const [{ samples, weights, options } = { samples: [], weights: [], options: {} }] = trained;
  const tokens = samples.reduce((sum, { action }) => sum + action.length, 0);
  expect(lines).toEqual([
    "before: 100.0 % of 1 test tasks, greedy",
    `step 1: reward 0.500, ${tokens} tokens, gradient norm 0.250`,
    "after: 0.0 % of the same tasks", // the script has one answer
  ]);
  expect(places).toEqual(["test 0", "train 2", "train 3", "test 0"]);
  expect(options).toEqual({ temperature: 1 });
  expect(steps).toEqual([{ learningRate: 2e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 }]);
  // Of 1 and 0 the mean is 1/2 and the deviation √(1/2): advantages are ± (1/2) / (√(1/2) + 1e-6), of every token of every turn.
  const advantage = 0.5 / (Math.SQRT1_2 + 1e-6);
  const byTrajectory = { "1/0/0": 1, "1/0/1": -1, "1/1/0": 1, "1/1/1": -1 };
  expect(samples.map(({ trajectory, turn }) => `${trajectory} ${turn}`)).toEqual([
    ...["1/0/0 0", "1/0/1 0", "1/1/0 0", "1/1/0 1", "1/1/0 2", "1/1/1 0"],
  ]);
  expect(weights).toEqual(
    samples.map(({ trajectory, action }) =>
      action.map(() => expect.closeTo((byTrajectory[trajectory as keyof typeof byTrajectory] * advantage) / tokens, 9)),
    ),
  );
  // Ids are never tokenised again: each context is the one before it, its action and the answers.
  const ofLooking = samples.filter(({ trajectory }) => trajectory === "1/1/0");
  for (const [i, { context, action }] of ofLooking.slice(0, 2).entries())
    expect([...(ofLooking[i + 1]?.context.slice() ?? [])].slice(0, context.length + action.length)).toEqual([
      ...context.slice(),
      ...action,
    ]);
  const long = conversations.find((each) => each.length > 3);
  expect(long?.map(({ role, content }) => [role, content])).toEqual([
    ["user", "train 3"],
    ["assistant", ""],
    ["tool", "one"],
    ["tool", '{"seen":2}'],
    ["tool", "Error: wrong arguments"],
    ["tool", 'Error: there is no tool "find"'],
    ["assistant", expect.any(String)],
    ["tool", expect.stringContaining("JSON")],
    ["assistant", "1"],
  ]);
  expect(requests.toSorted()).toEqual([
    ["1/0/0", 1_000_000, 1],
    ["1/0/1", 1_001_000, 1],
    ["1/1/0", 1_010_000, 1],
    ["1/1/0", 1_010_001, 1],
    ["1/1/0", 1_010_002, 1],
    ["1/1/1", 1_011_000, 1],
    ["test-0", 0, 0],
    ["test-0", 0, 0],
  ]);
  expect(released.toSorted()).toEqual(["1/0/0", "1/0/1", "1/1/0", "1/1/1", "test-0", "test-0"]);
  expect(closed).toHaveLength(6);
});
