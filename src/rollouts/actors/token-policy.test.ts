import { expect, test } from "vitest";
import { z } from "zod";
import { testChat } from "../../../test/fixtures/chats.ts";
import type { ConversationRequest } from "../../chat/conversation.ts";
import type { Context } from "../../core/context.ts";
import { EpisodeStop } from "../../core/episode-stop.ts";
import { seedOf } from "../../core/random.ts";
import type { Turn } from "../../core/trajectory.ts";
import type { SampleRequest, Sampler } from "../../engines/engine.ts";
import type { Environment, TokenPolicy } from "../../environments/environment.ts";
import { defineTool } from "../../tools/tool.ts";
import { rollout } from "../rollout.ts";
import { tokenPolicy } from "./token-policy.ts";

const chat = testChat("plain");
const find = defineTool({ name: "find", description: "Finds.", parameters: z.object({ who: z.string() }), execute: () => "c1" });
const callFind = '<tool_call>{"name": "find", "arguments": {"who": "Ana"}}</tool_call>';
const asking = (content: string, more: Partial<ConversationRequest> = {}): ConversationRequest => ({
  messages: [{ role: "user", content }],
  tools: [find],
  maxTokens: 1_000,
  ...more,
});

/** A program that plays by itself, on a sampler that writes these texts in turn. */
async function played(texts: readonly string[], program: (policy: TokenPolicy) => Promise<void>) {
  const requests: SampleRequest[] = [];
  const sampler: Sampler = {
    info: { name: "scripted", parameters: 0, vocabularySize: 306, maxLength: 10_000, capabilities: [] },
    weightVersion: 0,
    async sample(request) {
      const whole = chat.tokenizer.encode(`${texts[requests.length]}<|im_end|>`);
      requests.push(request);
      await Promise.resolve();
      const tokens = whole.slice(0, request.maxTokens);
      const each = (value: number) => tokens.map(() => value);
      const finish = tokens.length < whole.length ? "length" : "stop";
      return { tokens, logprobs: each(-1), modelLogprobs: each(-1), entropies: each(0.5), finish, weightVersion: 0 };
    },
    release: () => {},
  };
  const environment: Environment = {
    name: "self-played",
    size: () => 1,
    task: () => ({ id: "t" }),
    start: () => {
      throw new Error("nobody starts it");
    },
    play: async (_, policy) => {
      await program(policy);
      return { messages: [], score: { reward: 1 } };
    },
  };
  const options = { id: "r/0", group: "r", seed: 1, maxTurns: 9, maxTokens: 1_000, episodeTimeoutMs: 1_000 };
  const trajectory = await rollout(sampler, chat, environment, { id: "t" }, options);
  expect(trajectory.error).toBeUndefined();
  return { ...trajectory, requests };
}

test("an action's calls are the agent's to make, and are counted", async () => {
  const { turns } = await played([`Look. ${callFind}`, `${callFind} <tool_call>oops</tool_call>`, "Done."], async (policy) => {
    const { message } = await policy.converse(asking("who?"));
    expect(message).toEqual({ role: "assistant", content: "Look.", toolCalls: [{ name: "find", arguments: { who: "Ana" } }] });
    // With a call that cannot be read none is made: the agent sees the text.
    const broken = await policy.converse(asking("who else?"));
    expect(broken.message).toEqual({ role: "assistant", content: `${callFind} <tool_call>oops</tool_call>` });
    expect((await policy.converse(asking("and?"))).message).toEqual({ role: "assistant", content: "Done." });
  });
  expect(turns.map(({ toolCalls, invalidToolCalls }) => [toolCalls, invalidToolCalls])).toEqual([
    [1, 0],
    [0, 2],
    [0, 0],
  ]);
});

test("without tools nothing is read as a call, nor in an action that was cut off", async () => {
  const { turns } = await played([callFind, callFind], async (policy) => {
    expect((await policy.converse(asking("who?", { tools: [] }))).message).toEqual({ role: "assistant", content: callFind });
    const length = chat.tokenizer.encode(callFind).length;
    const cut = await policy.converse(asking("who?", { maxTokens: length }));
    expect(cut).toMatchObject({ finish: "length", message: { role: "assistant", content: callFind } });
  });
  expect(turns.map(({ toolCalls, truncated }) => [toolCalls, truncated])).toEqual([
    [0, false],
    [0, true],
  ]);
});

test("stop strings of the agent's own go to the sampler, and the message ends before them", async () => {
  const { requests } = await played(["yes.Observation: rain", "no"], async (policy) => {
    const { message } = await policy.converse(asking("rain?", { stopStrings: ["Observation:", "STOP"] }));
    expect(message.content).toBe("yes.");
    await policy.converse(asking("snow?", { tools: [] }));
  });
  expect(requests[0].stopStrings).toEqual(expect.arrayContaining(["Observation:", "STOP"]));
  expect(requests[1].stopStrings ?? []).toEqual([]);
});

test("one request at a time has the episode's row of the cache", async () => {
  const { requests } = await played(["a", "b", "c", "d"], async (policy) => {
    await policy.converse(asking("1"));
    await Promise.all([policy.converse(asking("2")), policy.converse(asking("3"))]);
    await policy.converse(asking("4"));
  });
  expect(requests.map(({ cacheKey }) => cacheKey)).toEqual(["r/0", "r/0", undefined, "r/0"]);
});

test("without masks an action that misses its form is drawn once more, and is the one turn", async () => {
  const json = asking("JSON?", { tools: [], form: "json" });
  const { turns, requests } = await played(["no", "{", '{"a": 1}', "Hello.", `${callFind}`], async (policy) => {
    expect((await policy.converse(json)).message.content).toBe('{"a": 1}');
    const { message } = await policy.converse(asking("who?", { toolChoice: { tool: "find" } }));
    expect(message.toolCalls).toEqual([{ name: "find", arguments: { who: "Ana" } }]);
    expect(policy.captured().counts).toMatchObject({ redrawn: 3 });
  });
  expect(turns).toHaveLength(2);
  expect(new Set(requests.map(({ seed }) => seed)).size).toBe(5);
});

test("a model that does not know the form is named, after eight draws", async () => {
  const { requests } = await played(Array(9).fill("no"), async (policy) => {
    await expect(policy.converse(asking("JSON?", { tools: [], form: "json" }))).rejects.toThrow(/form of an answer.*8 draws/);
    await expect(policy.converse(asking("who?", { tools: [], maxTokens: 1, form: "json" }))).resolves.toMatchObject({
      finish: "length",
    });
  });
  expect(requests).toHaveLength(9);
});

/** A policy by itself, on a sampler that writes one token, and the turns that it keeps. */
function policyOf(more: { readonly maxLength?: number; readonly maxTurns?: number; readonly topK?: number } = {}) {
  const requests: SampleRequest[] = [];
  const turns: Turn[] = [];
  const sampler: Sampler = {
    info: { name: "s", parameters: 0, vocabularySize: 306, maxLength: more.maxLength ?? 1_000, capabilities: [] },
    weightVersion: 3,
    sample: async (request) => {
      requests.push(request);
      const masked = requests.length === 2 ? { masked: [0] } : {};
      return {
        ...{ tokens: [7], logprobs: [-2], modelLogprobs: [-2], entropies: [0.5], weightVersion: 3, ...masked },
        finish: requests.length === 3 ? "length" : "stop",
      };
    },
    release: () => {},
  };
  const stop = new AbortController();
  const options = {
    id: "r/0",
    group: "r",
    seed: 4,
    maxTurns: more.maxTurns ?? 5,
    maxTokens: 20,
    episodeTimeoutMs: 1_000,
    topK: more.topK,
  };
  return { policy: tokenPolicy(sampler, chat, options, turns, stop.signal), requests, turns, stop };
}
const request = (context: readonly number[], more: object = {}) => ({ context, maxTokens: 50, stopTokens: [9], ...more });

test("actions in token ids are kept as they were sampled, each in the branch of what it continues", async () => {
  const { policy, requests, turns, stop } = policyOf({ topK: 2 });
  const given = await policy.sample(request([1, 2]));
  expect(given).toEqual({ tokens: [7], logprobs: [-2], finish: "stop" });
  await policy.sample(request([1, 2, 7, 3], { stopStrings: ["x"], maxTokens: 5 }));
  await policy.sample(request([1, 5]));
  const plain = { trajectory: "r/0", action: [7], samplerLogprobs: [-2], entropies: [0.5], weightVersion: 3 };
  const [first, second, third] = turns;
  expect(turns.map(({ context, ...turn }) => [[...context], turn])).toEqual([
    [[1, 2], { ...plain, turn: 0, truncated: false, rewritten: false, toolCalls: 0, invalidToolCalls: 0 }],
    [[1, 2, 7, 3], { ...plain, turn: 1, masked: [0], truncated: false, rewritten: false, toolCalls: 0, invalidToolCalls: 0 }],
    [[1, 5], { ...plain, turn: 2, truncated: true, rewritten: true, toolCalls: 0, invalidToolCalls: 0 }],
  ]);
  expect("masked" in first).toBe(false);
  const roots = [first, second, third].map(({ context }) => (context as Context).path()[0]?.ids.buffer);
  expect([roots[1] === roots[0], roots[2] === roots[0]]).toEqual([true, true]); // [1] of the third is the first's
  const seeds = [0, 1, 2].map((index) => seedOf(4, "sample", "r/0", index));
  const common = { stopTokens: [9], temperature: 1, topP: 1, topK: 2, cacheKey: "r/0", signal: stop.signal };
  expect(requests).toEqual([
    { context: [1, 2], maxTokens: 20, seed: seeds[0], ...common },
    { context: [1, 2, 7, 3], maxTokens: 5, stopStrings: ["x"], seed: seeds[1], ...common },
    { context: [1, 5], maxTokens: 20, seed: seeds[2], ...common },
  ]);
  expect("stopStrings" in (requests[0] ?? {})).toBe(false);
});

test("a policy says what it is, and ends the episode at its limits", async () => {
  const { policy, requests, stop } = policyOf({ maxLength: 12, maxTurns: 1 });
  const { sample: _, converse: __, decode, count, captured, ...settings } = policy;
  expect(settings).toEqual({
    ...{ episode: "r/0", maxLength: 12, vocabularySize: 306, maxTokens: 20, temperature: 1, topP: 1, topK: 0, canMask: false },
    signal: stop.signal,
  });
  expect(decode(chat.tokenizer.encode("hi"))).toBe("hi");
  const long = asking("a question of more than twelve tokens", { tools: [] });
  const length = chat.open(long.messages, []).ids.length;
  expect(count(long)).toBe(length);
  await expect(policy.converse(long)).rejects.toThrow(
    new EpisodeStop("max-tokens", `the conversation has ${length} tokens, the model 12`),
  );
  await policy.sample(request([1, 2, 3], { maxTokens: 50 }));
  expect(requests[0]?.maxTokens).toBe(9); // what the model has left
  await expect(policy.sample(request([1]))).rejects.toThrow(
    new EpisodeStop("max-turns", "the episode has 1 actions (rollout.maxTurns)"),
  );
  expect(captured().counts).toMatchObject({ redrawn: 0 });
  const over = policyOf();
  over.stop.abort(new Error("the episode is over"));
  await expect(over.policy.sample(request([1]))).rejects.toThrow("the episode is over");
  expect(over.requests).toEqual([]);
});
