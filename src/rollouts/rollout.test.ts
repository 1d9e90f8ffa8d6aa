import "../../test/office.ts";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { testChat, testTokenizer } from "../../test/fixtures/chats.ts";
import { makeChat } from "../chat/chat.ts";
import type { Message } from "../core/messages.ts";
import type { SampleRequest, Sampler } from "../engines/engine.ts";
import type { Environment, Episode, Task } from "../environments/environment.ts";
import { defineTool } from "../tools/tool.ts";
import { type RolloutOptions, rollout, rolloutGroups } from "./rollout.ts";

const chat = testChat("plain");
const callFind = '<tool_call>{"name": "find", "arguments": {"who": "Ana"}}</tool_call>';

/** A sampler that writes prepared texts, one after the other for each rollout; the last one again and again. */
function scripted(texts: readonly string[] | ((id: string, turn: number) => string), maxLength = 10_000) {
  const requests: SampleRequest[] = [];
  const released: string[] = [];
  const sampler: Sampler = {
    info: { name: "scripted", parameters: 0, vocabularySize: 306, maxLength, capabilities: [] },
    weightVersion: 7,
    async sample(request) {
      const id = request.cacheKey ?? "";
      const turn = requests.filter(({ cacheKey }) => cacheKey === id).length;
      requests.push(request);
      request.signal?.throwIfAborted();
      const text = typeof texts === "function" ? texts(id, turn) : texts[Math.min(turn, texts.length - 1)];
      const whole = chat.tokenizer.encode(`${text}<|im_end|>`);
      const tokens = whole.slice(0, request.maxTokens);
      const each = (value: number) => tokens.map(() => value);
      const finish = tokens.length < whole.length ? "length" : "stop";
      return { tokens, logprobs: each(-1), modelLogprobs: each(-1), entropies: each(0.5), finish, weightVersion: 7 };
    },
    release: (id) => void released.push(id),
  };
  return { sampler, requests, released };
}

const find = defineTool({
  name: "find",
  description: "Finds.",
  parameters: z.object({ who: z.string() }),
  execute: ({ who }) => (who === "Ana" ? "c1" : Promise.reject(new Error("who?"))),
});

/** An environment whose episode is done with the first message that calls no tool, but for what the test changes. */
function environmentOf(change: Partial<Episode> = {}, start?: Environment["start"]): Environment {
  const episode: Episode = {
    messages: [{ role: "user", content: "hi" }],
    tools: [find],
    reply: () => ({ done: true }),
    score: () => ({ reward: 1, scores: { success: 1 } }),
    ...change,
  };
  return { name: "test", size: () => 1, task: () => ({ id: "t" }), start: start ?? (() => episode) };
}

const options: RolloutOptions = { id: "r/0", group: "r", seed: 1, maxTurns: 5, maxTokens: 1_000, episodeTimeoutMs: 10 };
const play = (environment: Environment, texts: readonly string[] = ["Done."], change: Partial<RolloutOptions> = {}) =>
  rollout(scripted(texts).sampler, chat, environment, { id: "t" }, { ...options, ...change });

test("an episode is its turns, each an action in its context, with the tools' answers between them", async () => {
  const { sampler, requests, released } = scripted([callFind, "Done."]);
  const trajectory = await rollout(sampler, chat, environmentOf(), { id: "t" }, options);
  expect(trajectory).toMatchObject({ id: "r/0", group: "r", task: "t", reward: 1, scores: { success: 1 }, stopReason: "done" });
  expect(trajectory.messages).toEqual([
    { role: "user", content: "hi" },
    { role: "assistant", content: "", toolCalls: [{ name: "find", arguments: { who: "Ana" } }] },
    { role: "tool", name: "find", content: "c1" },
    { role: "assistant", content: "Done." },
  ]);
  //            prompt                                                 call                 result                                            answer
  // turn 0   | context ............................................ | action            |
  // turn 1   | context .......................................................................................................... | action       |
  const prompt = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n";
  const result = "\n<|im_start|>tool\nc1<|im_end|>\n<|im_start|>assistant\n";
  expect(
    trajectory.turns.map(({ context, action }) => [context, action].map((ids) => chat.tokenizer.decode(ids.slice()))),
  ).toEqual([
    [prompt, `${callFind}<|im_end|>`],
    [`${prompt}${callFind}<|im_end|>${result}`, "Done.<|im_end|>"],
  ]);
  const [first, second] = trajectory.turns;
  expect(second.context.slice(0, first.context.length + first.action.length)).toEqual([...first.context, ...first.action]);
  expect(first.samplerLogprobs).toEqual(first.action.map(() => -1));
  expect(first.entropies).toEqual(first.action.map(() => 0.5));
  expect(trajectory.turns.map(({ toolCalls, invalidToolCalls }) => [toolCalls, invalidToolCalls])).toEqual([
    [1, 0],
    [0, 0],
  ]);
  expect(first).toMatchObject({ turn: 0, weightVersion: 7, truncated: false, rewritten: false });
  expect(requests.map(({ cacheKey }) => cacheKey)).toEqual(["r/0", "r/0"]);
  expect(new Set(requests.map(({ seed }) => seed)).size).toBe(2);
  expect(released).toEqual(["r/0"]);
});

test("bad calls of all kinds come back as tool messages, in their order, and the episode continues", async () => {
  const bad = `<tool_call>oops</tool_call><tool_call>{"name": "fly"}</tool_call><tool_call>{"name": "find"}</tool_call>`;
  const failing = '<tool_call>{"name": "find", "arguments": {"who": "Bob"}}</tool_call>';
  const { messages, turns, stopReason } = await play(environmentOf(), [`${bad}${failing}${callFind}`, "Done."]);
  const answers = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  expect(answers).toEqual([
    expect.stringMatching(/^Error: .*not valid JSON/),
    'Error: there is no tool "fly". The tools are find.',
    expect.stringMatching(/^Error: wrong arguments for find\. who: /),
    "Error: who?",
    "c1",
  ]);
  expect(turns[0]).toMatchObject({ toolCalls: 2, invalidToolCalls: 3 });
  expect(stopReason).toBe("done");
});

test("a task's kind comes with its trajectories, where it has one", async () => {
  const tasks: readonly Task[] = [{ id: "a", kind: "pay" }, { id: "b" }];
  const groups = await rolloutGroups(scripted(["Done."]).sampler, chat, environmentOf(), tasks, groupOptions);
  expect(groups.map(({ trajectories }) => trajectories[0].kind)).toEqual(["pay", undefined]);
});

test("behaviours come with the trajectory, as counts", async () => {
  const score = () => ({ reward: 0, behaviours: { asks: true, retries: false, files: { done: 1, called: 3 } } });
  const { behaviours } = await play(environmentOf({ score }));
  expect(behaviours).toEqual({
    asks: { done: 1, called: 1 },
    retries: { done: 0, called: 1 },
    files: { done: 1, called: 3 },
  });
});

test("the environment's replies continue the conversation", async () => {
  let replies = 0;
  const environment = environmentOf({
    reply: ({ content }) =>
      replies++ === 0 ? { done: false, messages: [{ role: "user", content: `why ${content}` }] } : { done: true },
  });
  const { messages, turns } = await play(environment, ["No", "Because"]);
  expect(messages.map(({ content }) => content)).toEqual(["hi", "No", "why No", "Because"]);
  expect(turns).toHaveLength(2);
});

test("a conversation may begin with an answer as an example, and a reply may have one", async () => {
  const example: Message = { role: "assistant", content: "As an example." };
  const asked: Message = { role: "user", content: "and?" };
  const reply = vi
    .fn()
    .mockReturnValueOnce({ done: false, messages: [example, asked] })
    .mockReturnValue({ done: true });
  const { messages, stopReason } = await play(environmentOf({ messages: [asked, example, asked], reply }));
  expect(stopReason).toBe("done");
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "assistant", "user", "assistant"]);
});

test("the limit of turns ends an episode after the last answer, with its score", async () => {
  const trajectory = await play(environmentOf({ score: () => ({ reward: 0.5 }) }), [callFind], { maxTurns: 3 });
  expect(trajectory).toMatchObject({ stopReason: "max-turns", reward: 0.5 });
  expect(trajectory.turns).toHaveLength(3);
  expect(trajectory.messages.at(-1)).toMatchObject({ role: "tool" });
});

test("an action that is cut off ends the episode, and calls nothing", async () => {
  const execute = vi.fn();
  const trajectory = await play(environmentOf({ tools: [{ ...find, execute }] }), [callFind], { maxTokens: 60 });
  expect(trajectory).toMatchObject({ stopReason: "max-tokens", reward: 1 });
  expect(trajectory.turns[0]).toMatchObject({ truncated: true, toolCalls: 0 });
  expect(trajectory.turns[0].action).toHaveLength(60);
  expect(execute).not.toHaveBeenCalled();
});

test("actions are no longer than the model's context leaves room for", async () => {
  const prompt = chat.open([{ role: "user", content: "hi" }], []).ids.length;
  const { sampler, requests } = scripted([callFind], prompt + 3);
  const trajectory = await rollout(sampler, chat, environmentOf(), { id: "t" }, options);
  expect(requests[0].maxTokens).toBe(3);
  expect(trajectory.stopReason).toBe("max-tokens");
});

test("first messages that are longer than the model's context say so on the trajectory", async () => {
  const trajectory = await rollout(scripted(["Done."], 10).sampler, chat, environmentOf(), { id: "t" }, options);
  expect(trajectory).toMatchObject({ stopReason: "max-tokens", reward: 0, turns: [] });
  expect(trajectory.error).toMatch(/take \d+ tokens, the model 10 in all\. Shorten/);
});

const fails = (): never => {
  throw new Error("no database");
};
const never = (): Promise<never> => new Promise(() => {});
const malformed = (value: unknown) => value as never;

test.each<[string, Environment, string, RegExp]>([
  ["throws at the start", environmentOf({}, fails), "environment-error", /start: no database/],
  ["hangs at the start", environmentOf({}, never), "environment-timeout", /start: no answer within 10 ms/],
  ["starts with nothing", environmentOf({}, () => malformed(undefined)), "environment-error", /start gave a malformed answer/],
  ["starts without messages", environmentOf({ messages: [] }), "environment-error", /start gave a malformed answer/],
  [
    "has two tools of one name",
    environmentOf({ tools: [find, find] }),
    "environment-error",
    /^start gave a malformed answer: tools: two tools are called find: give each a name of its own$/,
  ],
  [
    "has a tool whose schema no JSON meets",
    environmentOf({ tools: [{ ...find, parameters: malformed(z.object({ on: z.date() })) }] }),
    "environment-error",
    /start: find\.parameters is .*expected one that JSON can meet.*z\.iso\.date/,
  ],
  ["throws in a reply", environmentOf({ reply: fails }), "environment-error", /reply: no database/],
  ["rejects in a reply", environmentOf({ reply: async () => fails() }), "environment-error", /reply: no database/],
  ["hangs in a reply", environmentOf({ reply: never }), "environment-timeout", /reply: no answer/],
  ["replies nothing", environmentOf({ reply: () => malformed(undefined) }), "environment-error", /reply gave a malformed answer/],
  [
    "replies without messages",
    environmentOf({ reply: () => ({ done: false, messages: [] }) }),
    "environment-error",
    /reply gave a malformed/,
  ],
  ["throws in its score", environmentOf({ score: fails }), "environment-error", /score: no database/],
  ["hangs in its score", environmentOf({ score: never }), "environment-timeout", /score: no answer/],
  [
    "did a behaviour more often than it was called for",
    environmentOf({ score: () => ({ reward: 1, behaviours: { asks: { done: 2, called: 1 } } }) }),
    "environment-error",
    /behaviours\.asks\.done: .*at most `called`/,
  ],
  ["scores NaN", environmentOf({ score: () => ({ reward: Number.NaN }) }), "invalid-reward", /reward NaN/],
  ["scores infinity", environmentOf({ score: () => ({ reward: 1 / 0 }) }), "invalid-reward", /reward Infinity/],
  [
    "scores a part NaN",
    environmentOf({ score: () => ({ reward: 1, scores: { speed: Number.NaN } }) }),
    "invalid-reward",
    /speed NaN/,
  ],
  [
    "scores no number",
    environmentOf({ score: () => malformed({ reward: "1" }) }),
    "environment-error",
    /score gave a malformed answer/,
  ],
])("an environment that %s gives a trajectory that says so, with reward 0", async (_, environment, stopReason, error) => {
  const { sampler, released } = scripted(["Done."]);
  const trajectory = await rollout(sampler, chat, environment, { id: "t" }, options);
  expect(trajectory).toMatchObject({ stopReason, reward: 0, error: expect.stringMatching(error) });
  expect(released).toEqual(["r/0"]);
});

test("an episode is closed at its end, and what its closing throws changes nothing", async () => {
  const close = vi.fn(fails);
  expect((await play(environmentOf({ close }))).reward).toBe(1);
  expect((await play(environmentOf({ close, reply: fails }))).stopReason).toBe("environment-error");
  expect(close).toHaveBeenCalledTimes(2);
});

test("cancelling ends an episode wherever it waits", async () => {
  const controller = new AbortController();
  const pending = play(environmentOf({ reply: never }), ["Done."], { episodeTimeoutMs: 60_000, signal: controller.signal });
  controller.abort();
  expect(await pending).toMatchObject({ stopReason: "cancelled", reward: 0 });
  expect(await play(environmentOf(), ["Done."], { signal: AbortSignal.abort() })).toMatchObject({
    stopReason: "cancelled",
    turns: [],
  });
});

test("a template that rewrites history marks the turn whose context is new", async () => {
  const qwen3 = testChat("qwen3");
  let replies = 0;
  const environment = environmentOf({
    reply: () => (replies++ === 0 ? { done: false, messages: [{ role: "user", content: "sure?" }] } : { done: true }),
  });
  const { sampler } = scripted(["<think>\nhm\n</think>\n\nYes.", "Sure."]);
  const { turns } = await rollout(sampler, qwen3, environment, { id: "t" }, options);
  expect(turns.map(({ rewritten }) => rewritten)).toEqual([false, true]);
  expect(qwen3.tokenizer.decode(turns[1].context.slice())).not.toContain("hm");
});

test("what the template refuses in the course of a conversation is the episode's end; at its start it is an error", async () => {
  const alternating =
    "{%- for m in messages -%}{%- if m.role == 'tool' -%}{{ raise_exception('no tools') }}{%- endif -%}{{ m.content }}" +
    `{%- for c in m.tool_calls or [] -%}<tool_call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</tool_call>{%- endfor -%}<|im_end|>{%- endfor -%}`;
  const refusing = makeChat(testTokenizer(alternating));
  const { sampler } = scripted([callFind]);
  expect(await rollout(sampler, refusing, environmentOf(), { id: "t" }, options)).toMatchObject({
    stopReason: "environment-error",
    error: expect.stringContaining("no tools"),
  });
  const tool: Message = { role: "tool", name: "find", content: "" };
  await expect(rollout(sampler, refusing, environmentOf({ messages: [tool] }), { id: "t" }, options)).rejects.toThrow("no tools");
});

const groupOptions = {
  name: "step-1",
  groupSize: 3,
  concurrency: 4,
  seed: 5,
  maxTurns: 5,
  maxTokens: 200,
  episodeTimeoutMs: 1_000,
};
const tasks: readonly Task[] = ["a", "b", "c"].map((id) => ({ id }));

test("groups are in the order of their tasks, whatever ends first, and start alike", async () => {
  const seeds = new Map<string, Set<number>>();
  const ended: string[] = [];
  let release = () => {};
  const others = new Promise<void>((resolve) => {
    release = resolve;
  });
  const environment = environmentOf({}, (task, seed) => {
    seeds.set(task.id, (seeds.get(task.id) ?? new Set()).add(seed));
    const wait = task.id === "a" ? others : Promise.resolve();
    return {
      messages: [{ role: "user", content: task.id }],
      tools: [],
      reply: () => wait.then(() => ({ done: true })),
      score: () => ({ reward: 1 }),
    };
  });
  const { sampler, requests } = scripted(["Done."]);
  const groups = await rolloutGroups(sampler, chat, environment, tasks, {
    ...groupOptions,
    onTrajectory: ({ id }) => {
      if (ended.push(id) === 6) release();
    },
  });
  expect(groups.map(({ id, trajectories }) => [id, trajectories.map(({ id, group, task }) => [id, group, task])])).toEqual(
    tasks.map(({ id }, i) => [`step-1/${i}`, [0, 1, 2].map((attempt) => [`step-1/${i}/${attempt}`, `step-1/${i}`, id])]),
  );
  expect(ended).toHaveLength(9);
  expect(ended.slice(6).map((id) => id.slice(0, -2))).toEqual(["step-1/0", "step-1/0", "step-1/0"]);
  expect([...seeds.values()].map(({ size }) => size)).toEqual([1, 1, 1]);
  expect(new Set([...seeds.values()].flatMap((values) => [...values])).size).toBe(3);
  expect(new Set(requests.map(({ seed }) => seed)).size).toBe(9);
});

test("no more episodes are in jobs than allowed", async () => {
  let running = 0;
  let most = 0;
  const environment = environmentOf({
    reply: async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 2));
      running--;
      return { done: true };
    },
  });
  await rolloutGroups(scripted(["Done."]).sampler, chat, environment, tasks, { ...groupOptions, concurrency: 2 });
  expect(most).toBe(2);
});

test("one failing episode cancels no sibling", async () => {
  let started = 0;
  const environment = environmentOf({}, () => (started++ === 4 ? fails() : environmentOf().start({ id: "t" }, 0)));
  const groups = await rolloutGroups(scripted(["Done."]).sampler, chat, environment, tasks, groupOptions);
  const reasons = groups.flatMap(({ trajectories }) => trajectories.map(({ stopReason }) => stopReason));
  expect(reasons.filter((reason) => reason === "environment-error")).toHaveLength(1);
  expect(reasons.filter((reason) => reason === "done")).toHaveLength(8);
});

test("a sampler that fails ends all rollouts with its error", async () => {
  const { sampler, released } = scripted((id) => (id === "step-1/1/0" ? fails() : callFind));
  await expect(rolloutGroups(sampler, chat, environmentOf(), tasks, groupOptions)).rejects.toThrow("no database");
  expect(released).toHaveLength(9);
});

test("cancelling gives every episode, the unfinished ones as cancelled, without a warning of leaked listeners", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on("warning", onWarning);
  const controller = new AbortController();
  const pending = rolloutGroups(scripted(["Done."]).sampler, chat, environmentOf({ reply: never }), tasks, {
    ...groupOptions,
    groupSize: 20,
    concurrency: 60,
    signal: controller.signal,
  });
  await new Promise((resolve) => setTimeout(resolve, 10));
  controller.abort();
  const groups = await pending;
  process.off("warning", onWarning);
  expect(new Set(groups.flatMap(({ trajectories }) => trajectories.map(({ stopReason }) => stopReason)))).toEqual(
    new Set(["cancelled"]),
  );
  expect(warnings).toEqual([]);
});

test("rollouts that wait for nothing outside take no turn of the event loop", async () => {
  let turns = 0;
  const count = () => {
    turns++;
    handle = setImmediate(count);
  };
  let handle = setImmediate(count);
  await rolloutGroups(scripted([callFind, "Done."]).sampler, chat, environmentOf(), tasks, groupOptions);
  clearImmediate(handle);
  expect(turns).toBe(0);
});
