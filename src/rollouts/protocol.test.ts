import "../../test/office.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { testChat } from "../../test/fixtures/chats.ts";
import type { ActionFormat } from "../actions/action.ts";
import type { Message } from "../core/messages.ts";
import type { SampleRequest, Sampler } from "../engines/engine.ts";
import type { Environment, Episode } from "../environments/environment.ts";
import { oneMessage } from "../environments/protocol.ts";
import { defineTool } from "../tools/tool.ts";
import { branchingSchema } from "./branching/settings.ts";
import { rolloutTrees } from "./branching/trees.ts";
import { type RolloutOptions, rollout } from "./rollout.ts";

const chat = testChat("plain");

/** Calls are `ask NAME;`, answered by `[ANSWER]` in the same message. */
const actions: ActionFormat = {
  stopStrings: [";"],
  read: (text) => {
    const name = /ask (\w+);/.exec(text)?.[1];
    const call = name === "nobody" ? { error: "ask somebody" } : { name: "ask", arguments: { name: name ?? "" } };
    return { message: { role: "assistant", content: text }, calls: name === undefined ? [] : [call] };
  },
};
const write = (answers: readonly Message[]) => `[${answers.map(({ content }) => content).join("")}]`;

interface Change extends Partial<ActionFormat> {
  readonly maxResponseTokens?: number;
}

const ask = defineTool({
  name: "ask",
  description: "Asks.",
  parameters: z.object({ name: z.string() }),
  replayable: true,
  execute: ({ name }) => `I am ${name}`,
});

function environmentOf(change: Change = {}): Environment {
  const { maxResponseTokens = 100, ...format } = change;
  const episode: Episode = {
    messages: [{ role: "user", content: "who?" }],
    tools: [ask],
    protocol: { actions: { ...actions, ...format }, continuation: oneMessage(write, maxResponseTokens) },
    reply: () => ({ done: true }),
    score: () => ({ reward: 1 }),
  };
  return { name: "test", size: () => 1, task: () => ({ id: "t" }), replayable: true, start: () => episode };
}

/** Writes its texts one after the other; an end of turn follows where no stop string has ended it. */
function writing(texts: readonly string[]) {
  const requests: SampleRequest[] = [];
  const sampler: Sampler = {
    info: { name: "scripted", parameters: 0, vocabularySize: 306, maxLength: 1000, capabilities: [] },
    weightVersion: 0,
    async sample(request) {
      const turn = requests.filter(({ cacheKey }) => cacheKey === request.cacheKey).length;
      const at = chat.tokenizer.decode(request.context).split("]").length - 1;
      requests.push(request);
      const text = texts[Math.max(turn, at)] ?? "";
      const stopped = request.stopStrings?.some((stop) => text.includes(stop)) ?? false;
      const whole = chat.tokenizer.encode(stopped ? text : `${text}<|im_end|>`);
      const tokens = whole.slice(0, request.maxTokens);
      const each = (value: number) => tokens.map(() => value);
      const finish = tokens.length < whole.length ? "length" : "stop";
      return { tokens, logprobs: each(-1), modelLogprobs: each(-1), entropies: each(at), finish, weightVersion: 0 };
    },
    release: () => {},
  };
  return { sampler, requests };
}

const options: RolloutOptions = { id: "r/0", group: "r", seed: 1, maxTurns: 9, maxTokens: 500, episodeTimeoutMs: 1000 };
const play = (texts: readonly string[], change: Change = {}) =>
  rollout(writing(texts).sampler, chat, environmentOf(change), { id: "t" }, options);

test("actions, and the results behind them, are one growing text: actions are trained on, results are context", async () => {
  const { sampler, requests } = writing(["hm ask Ana;", " so ask Bob;", " done"]);
  const { turns, messages, stopReason } = await rollout(sampler, chat, environmentOf(), { id: "t" }, options);
  expect(stopReason).toBe("done");
  //         prompt                                                        action        result       action         result       action
  const prompt = "<|im_start|>user\nwho?<|im_end|>\n<|im_start|>assistant\n";
  const texts = [prompt, "hm ask Ana;", "[I am Ana]", " so ask Bob;", "[I am Bob]", " done<|im_end|>"];
  const decode = chat.tokenizer.decode;
  expect(turns.map(({ action }) => decode(action))).toEqual([texts[1], texts[3], texts[5]]);
  expect(turns.map(({ context }) => decode(context.slice()))).toEqual([1, 3, 5].map((end) => texts.slice(0, end).join("")));
  for (const [t, { context, rewritten }] of turns.entries()) {
    const before = turns[t - 1];
    if (before !== undefined)
      expect(context.slice(0, before.context.length + before.action.length)).toEqual([...before.context, ...before.action]);
    expect(rewritten).toBe(false);
  }
  expect(turns.map(({ toolCalls, invalidToolCalls }) => [toolCalls, invalidToolCalls])).toEqual([
    [1, 0],
    [1, 0],
    [0, 0],
  ]);
  expect(messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
    "user: who?",
    "assistant: hm ask Ana;",
    "tool: I am Ana",
    "assistant:  so ask Bob;",
    "tool: I am Bob",
    "assistant:  done",
  ]);
  expect(requests.map(({ stopStrings }) => stopStrings)).toEqual([[";"], [";"], [";"]]);
});

test("a call that cannot be made is answered in words", async () => {
  const { messages, turns } = await play(["ask nobody;", "done"]);
  expect(messages[2]).toEqual({ role: "tool", name: "tool_call", content: "Error: ask somebody" });
  expect(turns[0]).toMatchObject({ toolCalls: 0, invalidToolCalls: 1 });
});

test("the response as a whole has a limit of tokens, results included", async () => {
  const texts = ["ask Ana;", "ask Bob;", "ask Eve;", "done"];
  const lengths = ["ask Ana;", "[I am Ana]", "ask Bob;"].map((text) => chat.tokenizer.encode(text).length);
  const [first, result, second] = lengths;
  const cut = await play(texts, { maxResponseTokens: first + result + second - 1 });
  expect(cut.turns.map(({ action, truncated }) => [action.length, truncated])).toEqual([
    [first, false],
    [second - 1, true],
  ]);
  expect(cut).toMatchObject({ stopReason: "max-tokens", reward: 1 });
  // A result that fills what is left ends it too.
  const full = await play(texts, { maxResponseTokens: first + result - 1 });
  expect(full.turns).toHaveLength(1);
  expect(full).toMatchObject({ stopReason: "max-tokens", reward: 1 });
  expect((await play(texts, { maxResponseTokens: 10_000 })).stopReason).toBe("done");
});

test("a protocol may take back the end of an action and ask again behind the rest", async () => {
  const { sampler, requests } = writing(["hm [I am", " so ask Ana;", " done"]);
  const read: ActionFormat["read"] = (text, conversation) => {
    const [content] = text.split("[");
    if (content !== text) return { message: { role: "assistant", content }, calls: [], goesOn: true };
    return actions.read(text, conversation);
  };
  const { turns, messages, stopReason } = await rollout(sampler, chat, environmentOf({ read }), { id: "t" }, options);
  expect(stopReason).toBe("done");
  expect(messages.map(({ content }) => content)).toEqual(["who?", "hm ", " so ask Ana;", "I am Ana", " done"]);
  // What was sampled stays recorded; the next context does not have it, and says so.
  const decode = chat.tokenizer.decode;
  expect(decode(turns[0].action)).toBe("hm [I am<|im_end|>");
  expect(decode(requests[1].context)).toBe(`${decode(requests[0].context)}hm `);
  expect(turns.map(({ rewritten }) => rewritten)).toEqual([false, true, false]);
  // Limits hold for those too.
  const always: ActionFormat["read"] = (text) => ({ message: { role: "assistant", content: text }, calls: [], goesOn: true });
  expect((await play(["a"], { read: always })).stopReason).toBe("max-turns");
  expect((await play(["abc", "abc", "abc"], { read: always, maxResponseTokens: 6 })).stopReason).toBe("max-tokens");
});

test("a response is forked behind a result, by repeating its calls", async () => {
  const { sampler } = writing(["ask Ana;", "ask Bob;", "done"]);
  const branching = branchingSchema.parse({ entropy: "exact", rule: { kind: "paper", alpha: 0, beta: 1, threshold: 0 } });
  const [{ trajectories }] = await rolloutTrees(sampler, chat, environmentOf(), [{ id: "t" }], {
    ...{ name: "s", groupSize: 4, concurrency: 4, seed: 1, maxTurns: 9, maxTokens: 500, episodeTimeoutMs: 1000 },
    branching: { ...branching, firstRollouts: 1 },
  });
  expect(trajectories.map(({ branch, stopReason }) => [branch?.by, branch?.turn, stopReason])).toEqual([
    [undefined, undefined, "done"],
    ["replay", 1, "done"],
    ["replay", 2, "done"],
    ["replay", 2, "done"],
  ]);
  const texts = trajectories.map(({ turns }) => chat.tokenizer.decode([...turns[2].context, ...turns[2].action]));
  expect(new Set(texts).size).toBe(1);
});
