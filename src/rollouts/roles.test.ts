import { expect, test } from "vitest";
import { z } from "zod";
import { testChat } from "../../test/fixtures/chats.ts";
import type { SampleRequest, Sampler } from "../engines/engine.ts";
import { type DefinedEpisode, defineEnvironment } from "../environments/define.ts";
import type { Environment, Reply } from "../environments/environment.ts";
import { defineTool } from "../tools/tool.ts";
import { rollout } from "./rollout.ts";

const chat = testChat("plain");
const look = defineTool({ name: "look", description: "Looks.", parameters: z.object({}), execute: () => "a door" });
const write = defineTool({ name: "write", description: "Writes.", parameters: z.object({}), execute: () => "ok" });
const callLook = '<tool_call>{"name": "look", "arguments": {}}</tool_call>';

function scripted(texts: readonly string[]) {
  const requests: SampleRequest[] = [];
  const released: string[] = [];
  const sampler: Sampler = {
    info: { name: "scripted", parameters: 0, vocabularySize: 306, maxLength: 10_000, capabilities: [] },
    weightVersion: 7,
    async sample(request) {
      const tokens = chat.tokenizer.encode(`${texts[requests.length]}<|im_end|>`);
      requests.push(request);
      const each = (value: number) => tokens.map(() => value);
      return { tokens, logprobs: each(-1), modelLogprobs: each(-1), entropies: each(0.5), finish: "stop", weightVersion: 7 };
    },
    release: (id) => void released.push(id),
  };
  return { sampler, requests, released };
}

const says = (role: string | undefined, content: string): Reply => ({
  ...{ done: false, messages: [{ role: "user", content }] },
  ...(role !== undefined && { role }),
});

/** Replies, one after the other, in an episode of a planner and a doer. */
function pair(replies: readonly Reply[], change: Partial<DefinedEpisode> = {}): Environment {
  return defineEnvironment({
    name: "pair",
    roles: ["planner", "doer"],
    tasks: { train: [{ prompt: "Open it." }] },
    start: () => {
      let at = 0;
      return {
        role: "planner",
        tools: [look],
        reply: () => replies[at++] ?? { done: true },
        reward: { planner: () => 0.25, doer: () => 1 },
        ...change,
      };
    },
  }) as Environment;
}

async function play(environment: Environment, texts: readonly string[], maxTurns = 9) {
  const { sampler, requests, released } = scripted(texts);
  const options = { id: "r/0", group: "r", seed: 1, maxTurns, maxTokens: 1_000, episodeTimeoutMs: 1_000 };
  const trajectory = await rollout(sampler, chat, environment, await environment.task("train", 0), options);
  const contexts = trajectory.turns.map(({ context }) => chat.tokenizer.decode(context.slice()));
  return { trajectory, contexts, requests, released };
}

test("each role sees its own conversation, with the answers that came while others acted", async () => {
  const replies = [says("doer", "Plan: walk"), says("planner", "He said: done"), says("doer", "Go on"), says(undefined, "And?")];
  const { trajectory, contexts, requests, released } = await play(pair(replies), ["walk", "done", "on", "I go", "end"]);
  const turn = (role: string, content: string) => `<|im_start|>${role}\n${content}<|im_end|>\n`;
  const asked = "<|im_start|>assistant\n";
  const doer = `${turn("user", "Plan: walk")}${turn("assistant", "done")}${turn("user", "Go on")}`;
  expect(contexts).toEqual([
    `${turn("user", "Open it.")}${asked}`,
    `${turn("user", "Plan: walk")}${asked}`,
    `${turn("user", "Open it.")}${turn("assistant", "walk")}${turn("user", "He said: done")}${asked}`,
    `${doer}${asked}`,
    `${doer}${turn("assistant", "I go")}${turn("user", "And?")}${asked}`,
  ]);
  expect(trajectory.turns.map(({ role, turn: at }) => [at, role])).toEqual([
    [0, "planner"],
    [1, "doer"],
    [2, "planner"],
    [3, "doer"],
    [4, "doer"],
  ]);
  expect(trajectory).toMatchObject({ stopReason: "done", reward: 0.625, scores: { "reward:planner": 0.25, "reward:doer": 1 } });
  expect(requests.map(({ cacheKey }) => cacheKey)).toEqual(["planner", "doer", "planner", "doer", "doer"].map((r) => `r/0/${r}`));
  expect(new Set(requests.map(({ seed }) => seed)).size).toBe(5);
  expect(released).toEqual(["r/0", "r/0/planner", "r/0/doer"]);
});

test("the answer to a call is the caller's, tools are a role's own, and a reward of a turn is the acting role's", async () => {
  const after: NonNullable<DefinedEpisode["afterTools"]>[] = [
    () => ({ role: "doer", messages: [{ role: "user", content: "A door." }], tools: [write], reward: 0.5 }),
    () => ({ reward: 2 }),
  ];
  const environment = pair([says("planner", "It is open")], { afterTools: (...args) => after.shift()?.(...args) });
  const callWrite = callLook.replace("look", "write");
  const { trajectory, contexts } = await play(environment, [
    callLook,
    callWrite,
    "Written",
    callLook.replace("look", "write"),
    "end",
  ]);
  expect(contexts[3]).toContain("<|im_start|>tool\na door<|im_end|>\n<|im_start|>user\nIt is open");
  expect(contexts[1]).not.toContain("tool\n");
  expect(contexts[2]).toContain("<|im_start|>tool\nok");
  // The planner has no `write`, and the doer has.
  expect(trajectory.turns.map(({ role, toolCalls, invalidToolCalls }) => [role, toolCalls, invalidToolCalls])).toEqual([
    ["planner", 1, 0],
    ["doer", 1, 0],
    ["doer", 0, 0],
    ["planner", 0, 1],
    ["planner", 0, 0],
  ]);
  expect(trajectory.scores).toEqual({ "reward:planner": 0.75, "reward:doer": 3 });
  expect(trajectory.reward).toBe(0.625 + 2.5);
});

test("a history that a role is given is not shown twice, nor is an action that is none of its turns", async () => {
  const asked = { role: "user", content: "More?" } as const;
  const given = [asked, { role: "assistant", content: "walk" }, { role: "user", content: "Go" }] as const;
  const replies: Reply[] = [
    { done: false, messages: [asked] },
    { done: false, role: "doer", messages: given },
  ];
  const { trajectory, contexts } = await play(pair(replies), ["walk", "on", "end"]);
  expect(contexts[2]).toMatch(/user\nMore\?.*assistant\nwalk.*user\nGo/s);
  expect(trajectory.messages.map(({ content }) => content)).toEqual(["Open it.", "walk", "More?", "on", "Go", "end"]);
});

test.each([
  ["an unknown role", [says("judge", "?")], 'role "judge" acts next; expected planner or doer'],
  ["a role without a word", [{ done: false, role: "doer", messages: [] }], "reply gave a malformed answer: messages"],
] as const)("%s ends the episode by name, without a score", async (_, replies, message) => {
  const { trajectory } = await play(pair(replies as unknown as Reply[]), ["walk"]);
  expect(trajectory).toMatchObject({ stopReason: "environment-error", reward: 0, scores: {} });
  expect(trajectory.error).toContain(message);
});

test("a role without a score, and a role in an environment without roles, end the episode by name", async () => {
  const { trajectory } = await play({ ...pair([]), roles: ["planner", "doer", "judge"] }, ["walk"]);
  expect(trajectory.error).toContain("score gave no reward:judge: every role has a reward of its own");
  const { roles: _, ...none } = pair([]);
  const plain = await play(none, ["walk"]);
  expect(plain.trajectory.error).toContain('role "planner" acts next; expected none: the environment has no roles');
});

test("the limit of turns counts those of all roles", async () => {
  const { trajectory } = await play(pair([says("doer", "a"), says("planner", "b")]), ["x", "y", "z"], 2);
  expect(trajectory).toMatchObject({ stopReason: "max-turns", scores: { "reward:planner": 0.25, "reward:doer": 1 } });
  expect(trajectory.turns).toHaveLength(2);
});

const defined = (change: object, ofEpisode: object = {}): Environment =>
  defineEnvironment({
    ...{ name: "pair", roles: ["a", "b"], tasks: { train: [{ prompt: "p" }] } },
    start: () => ({ role: "a", tools: [], reward: { a: (): number => 1, b: (): number => 1 }, ...ofEpisode }) as DefinedEpisode,
    ...change,
  }) as Environment;

test.each([
  ["one role", { roles: ["a"] }, "roles of the environment is"],
  ["a role twice", { roles: ["a", "a"] }, "two or more names"],
  ["the name of the environment's reward", { roles: ["a", "environment"] }, "none of them"],
  ["a path", { roles: ["a", "b/c"] }, "two or more names"],
  ["a demonstration", { demonstrate: () => [] }, "a demonstration is one conversation"],
])("an environment with roles refuses %s", (_, change, message) => {
  expect(() => defined(change)).toThrow(message);
});

test.each([
  [
    "a role without reward",
    {},
    { reward: { a: (): number => 1 } },
    'reward of role "b" is missing; expected a function for each of a, b',
  ],
  ["one reward for all", {}, { reward: () => 1 }, 'reward of role "a" is'],
  ["a reward without role", {}, { reward: { a: (): number => 1, b: (): number => 1, c: (): number => 1 } }, 'reward of role "c"'],
  ["no first role", {}, { role: undefined }, "role of what start() returned is missing"],
  ["an unknown first role", {}, { role: "c" }, 'role of what start() returned is "c"; expected "a" or "b"'],
  ["a clone", {}, { clone: () => ({}) }, "rollouts with roles do not branch"],
  ["roles that are not declared", { roles: undefined }, {}, "defineEnvironment has no `roles`"],
])("an episode with roles refuses %s", async (_, change, ofEpisode, message) => {
  const environment = defined(change, ofEpisode);
  await expect(environment.start(await environment.task("train", 0), 0)).rejects.toThrow(message);
});
