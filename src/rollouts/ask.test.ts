import { expect, test } from "vitest";
import { z } from "zod";
import { EpisodeStop } from "../core/episode-stop.ts";
import { observeUserCode } from "../core/user-code.ts";
import type { Environment, Episode } from "../environments/environment.ts";
import { defineTool, type Tool } from "../tools/tool.ts";
import { afterCalls, answersTo, callTools, opened } from "./answers.ts";
import { ask, askScore, checkedScore, close, startEpisode } from "./ask.ts";

const options = { id: "r/0", group: "r", seed: 1, maxTurns: 9, maxTokens: 9, episodeTimeoutMs: 1000 };
const find: Tool = { name: "find", description: "", parameters: { type: "object", properties: {} }, execute: () => "found" };
const episodeOf = (more: object = {}): Episode => ({
  ...{ messages: [{ role: "user", content: "hi" }], tools: [find], reply: () => ({ done: true }), score: () => ({ reward: 1 }) },
  ...more,
});
const environmentOf = (start: () => unknown): Environment =>
  ({ name: "desk", size: () => 1, task: () => ({ id: "t" }), start }) as unknown as Environment;
const stopOf = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(EpisodeStop);
  const { reason, message } = error as EpisodeStop;
  return `${reason}: ${message}`;
};

test("an environment's answer is checked; its errors, its silence and its forms are ends of the episode", async () => {
  const asked = (call: () => unknown, limits: object = {}) =>
    ask("step", z.object({ n: z.int() }), call, { ...options, ...limits });
  const names: string[] = [];
  const end = observeUserCode({ entered: (name) => names.push(name), left: () => {}, waits: () => {}, settled: () => {} });
  const answer = { n: 1, more: true };
  expect(await asked(() => answer)).toBe(answer);
  end();
  expect(names).toEqual(["step() of the environment"]);
  expect(await stopOf(asked(() => Promise.reject(new Error("no table"))))).toBe("environment-error: step: no table");
  expect(await stopOf(asked(() => new Promise(() => {}), { episodeTimeoutMs: 2 }))).toBe(
    "environment-timeout: step: no answer within 2 ms",
  );
  expect(await stopOf(asked(() => ({ n: "1" })))).toBe(
    "environment-error: step gave a malformed answer: n: Invalid input: expected number, received string",
  );
  expect(await stopOf(asked(() => 5))).toBe(
    "environment-error: step gave a malformed answer: Invalid input: expected object, received number",
  );
});

const start = async (more: object) =>
  stopOf(
    startEpisode(
      environmentOf(() => episodeOf(more)),
      { id: "t" },
      options,
    ),
  );

test.each<[object, string]>([
  [{ messages: [] }, "messages: Too small"],
  [{ messages: [{ role: "user", text: "hi" }] }, "messages.0."],
  [{ tools: [find, find] }, "tools: two tools are called find: give each a name of its own"],
  [{ tools: [{ name: 5 }] }, "tools.0.name: Invalid input: expected string, received number; tools.0.description:"],
  [{ role: 5 }, "role: Invalid input"],
  [{ limits: { turns: 0 } }, "limits.turns: Too small"],
  [{ limits: { turnsPerRequest: 1.5 } }, "limits.turnsPerRequest: Invalid input"],
  [{ protocol: {} }, "protocol.actions: Invalid input"],
  [
    { protocol: { actions: { read: 5 }, continuation: { kind: "new-messages", show: () => [] } } },
    "protocol.actions.read: a function",
  ],
  [
    { protocol: { actions: { read: () => {} }, continuation: { kind: "new-messages" } } },
    "protocol.continuation.show: a function",
  ],
  [
    { protocol: { actions: { read: () => {}, stopStrings: [""] }, continuation: { kind: "one-message", write: () => "" } } },
    "protocol.actions.stopStrings.0: Too small",
  ],
  [
    { protocol: { actions: { read: () => {} }, continuation: { kind: "one-message", write: () => "", maxResponseTokens: 0 } } },
    "protocol.continuation.maxResponseTokens: Too small",
  ],
  [
    { tools: [defineTool({ name: "odd", description: "", parameters: z.object({ at: z.date() }), execute: () => "" })] },
    "start: ",
  ],
])("an episode that starts as %j is refused by its place, and closed", async (more, message) => {
  let closed = 0;
  expect(await start({ ...more, close: () => void closed++ })).toContain(message);
  await new Promise((resolve) => setImmediate(resolve));
  expect(closed).toBe(1);
});

test("an episode that starts as it should is the environment's own, with the seed of its group", async () => {
  const seeds: unknown[] = [];
  const episode = episodeOf({ limits: { turns: 1, turnsPerRequest: 2 }, role: "buyer" });
  const environment = environmentOf(() => episode);
  environment.start = (_, seed) => {
    seeds.push(seed);
    return episode;
  };
  expect(await startEpisode(environment, { id: "t" }, options)).toBe(episode);
  await startEpisode(environment, { id: "t" }, { ...options, id: "r/1" });
  await startEpisode(environment, { id: "t" }, { ...options, group: "s" });
  await startEpisode(environment, { id: "t" }, { ...options, group: "s", draws: { id: "x", group: "r" } });
  expect([seeds[1] === seeds[0], seeds[2] === seeds[0], seeds[3] === seeds[0]]).toEqual([true, false, true]);
});

test("scores are finite numbers; behaviours are counts, true and false once", async () => {
  const scored = (score: unknown) => askScore(episodeOf({ score: () => score }), [], options);
  expect(await scored({ reward: 1 })).toEqual({ reward: 1, scores: {} });
  const behaviours = { a: true, b: false, c: { done: 1, called: 3 } };
  expect(await scored({ reward: -1, scores: { x: 2 }, behaviours })).toEqual({
    ...{ reward: -1, scores: { x: 2 } },
    behaviours: { a: { done: 1, called: 1 }, b: { done: 0, called: 1 }, c: { done: 1, called: 3 } },
  });
  expect(await stopOf(scored({ reward: Number.NaN }))).toBe(
    "invalid-reward: score gave reward NaN, which is not a finite number",
  );
  expect(await stopOf(scored({ reward: 1, scores: { x: Number.POSITIVE_INFINITY } }))).toBe(
    "invalid-reward: score gave x Infinity, which is not a finite number",
  );
  expect(await stopOf(scored({ reward: "1" }))).toBe("environment-error: score gave a malformed answer: reward: a number");
  expect(await stopOf(scored({ reward: 1, scores: { x: "2" } }))).toContain("scores.x: a number");
  expect(await stopOf(scored({ reward: 1, behaviours: { a: { done: 4, called: 3 } } }))).toContain("behaviours.a");
  expect(await stopOf(scored({ reward: 1, behaviours: { a: { done: -1, called: 3 } } }))).toContain("behaviours.a");
  expect(checkedScore({ reward: 2 })).toEqual({ reward: 2, scores: {} });
});

test("closing throws nothing, and waits no longer than the limit", async () => {
  const closed: string[] = [];
  await close(episodeOf({ close: () => void closed.push("a") }), options);
  await close(episodeOf({ close: () => Promise.reject(new Error("no end")) }), options);
  await close(episodeOf({ close: () => new Promise(() => {}) }), { episodeTimeoutMs: 2 });
  await close(episodeOf(), options);
  await close(undefined, options);
  expect(closed).toEqual(["a"]);
});

const call = (name: string, more: object = {}) => ({ name, arguments: {}, ...more });
const action = (...calls: object[]) => ({ message: { role: "assistant" as const, content: "x" }, calls: calls as never[] });

test("calls are answered in their order, by the episode or by the tool, with rewards, failures and an early end", async () => {
  const broken: Tool = {
    ...find,
    name: "broken",
    execute: () => {
      throw new Error("no");
    },
  };
  const answers: Record<string, unknown> = {
    text: "its own",
    paid: { content: "paid", reward: 2 },
    wrong: { content: "wrong", valid: false, failure: "invalid", reward: 0.5 },
    last: { content: "over", done: true },
  };
  const live = opened(episodeOf({ tools: [find, broken], call: ({ name }: { name: string }) => answers[name] }));
  const made = await callTools(
    live,
    action(call("text", { id: "c1" }), { error: "no JSON" }, call("find"), call("broken"), call("paid"), call("wrong")),
    options,
  );
  expect(made).toEqual({
    messages: [
      { role: "tool", name: "text", callId: "c1", content: "its own" },
      { role: "tool", name: "unreadable", content: "Error: no JSON" },
      { role: "tool", name: "find", content: "found" },
      { role: "tool", name: "broken", content: "Error: no" },
      { role: "tool", name: "paid", content: "paid" },
      { role: "tool", name: "wrong", content: "wrong" },
    ].map((message) => (message.name === "unreadable" ? { ...message, name: expect.any(String) } : message)),
    ...{ invalid: 2, reward: 2.5, done: false },
    failures: [
      { tool: "broken", kind: "error" },
      { tool: "wrong", kind: "invalid" },
    ],
  });
  const ended = await callTools(live, action(call("last"), call("find")), options);
  expect(ended).toMatchObject({ messages: [{ content: "over" }], done: true, reward: undefined });
  const odd = opened(episodeOf({ call: () => ({ content: "x", reward: Number.NaN }) }));
  expect(await stopOf(callTools(odd, action(call("find")), options))).toBe(
    "invalid-reward: call gave reward NaN, which is not a finite number",
  );
  const malformed = opened(episodeOf({ call: () => ({ text: "x" }) }));
  expect(await stopOf(callTools(malformed, action(call("find")), options))).toMatch(
    /^environment-error: call gave a malformed answer/,
  );
});

test("what follows the calls is the episode's own part: messages, reward, tools, the next role and the end", async () => {
  const results = {
    messages: [{ role: "tool", name: "find", content: "found" } as const],
    invalid: 0,
    failures: [],
    reward: 1,
    done: false,
  };
  const after = (afterTools: unknown, more: object = {}) =>
    afterCalls(opened(episodeOf(afterTools === undefined ? {} : { afterTools })), action(), { ...results, ...more }, options);
  const plain = { messages: results.messages, done: false, tools: [find], reward: 1 };
  expect(await after(undefined)).toEqual(plain);
  expect(await after(() => undefined)).toEqual(plain);
  const user = { role: "user", content: "and?" } as const;
  const other = { ...find, name: "open" };
  expect(await after(() => ({ messages: [user], reward: 0.5, tools: [other], done: true, role: "buyer" }))).toEqual({
    messages: [...results.messages, user],
    ...{ done: true, tools: [other], reward: 1.5, next: { role: "buyer", tools: [other] } },
  });
  expect(await after(() => ({}), { done: true, reward: undefined })).toEqual({ ...plain, done: true, reward: undefined });
  expect(await stopOf(after(() => ({ reward: Number.NaN })))).toBe(
    "invalid-reward: afterTools gave reward NaN, which is not a finite number",
  );
});

test("an action is answered by its calls, else by the reply; one that continues has no answer yet", async () => {
  const live = opened(episodeOf({ reply: () => ({ done: false, messages: [{ role: "user", content: "more" }], reward: 3 }) }));
  expect(await answersTo(live, { ...action(call("find")), goesOn: true }, options)).toEqual({
    ...{ messages: [], done: false, tools: [find], reward: undefined },
  });
  expect(await answersTo(live, action(), options)).toEqual({
    ...{ messages: [{ role: "user", content: "more" }], done: false, tools: [find], reward: 3 },
  });
  expect(await answersTo(live, action(call("find")), options)).toMatchObject({ messages: [{ role: "tool", content: "found" }] });
  const empty = opened(episodeOf({ reply: () => ({ done: false, messages: [] }) }));
  expect(await stopOf(answersTo(empty, action(), options))).toMatch(/^environment-error: reply gave a malformed answer/);
});
