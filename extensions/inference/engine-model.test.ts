import { expect, test, vi } from "vitest";
import type { ConversationRequest } from "../../src/chat/conversation.ts";
import { seedOf } from "../../src/core/random.ts";
import type { SampleRequest } from "../../src/engines/engine.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { scriptedSampler } from "../../test/scripted-sampler.ts";
import { engineModel } from "./engine-model.ts";
import type { ChatModel, ConverseOptions } from "./model.ts";
import { chat, folder, user } from "./prompts.fixture.ts";
import { maxBytes } from "./prompts.ts";

const { signal } = new AbortController();
const find: Tool = { name: "find", description: "", parameters: { type: "object", properties: {} }, execute: () => "" };
/** A model that says "Yes." in its own order of samples, and what was sampled. */
function scripted(more: { readonly maxLength?: number; readonly canMask?: boolean; readonly seed?: number } = {}) {
  const sampler = scriptedSampler(chat.tokenizer, () => "Yes.");
  const { maxLength = 4096, canMask = true, seed } = more;
  const capabilities = canMask
    ? sampler.info.capabilities
    : sampler.info.capabilities.filter((each) => each !== "masked-sampling");
  const sampled: SampleRequest[] = [];
  const sample = (request: SampleRequest) => {
    sampled.push(request);
    return sampler.sample(request);
  };
  const model = engineModel({ ...sampler, sample, info: { ...sampler.info, maxLength, capabilities } }, chat, undefined, seed);
  const converse = (request: ConversationRequest, options: Partial<ConverseOptions> = {}) =>
    (model.chat as ChatModel).converse(request, { sampling: { others: {} }, index: 0, signal, ...options });
  return { model, sampled, converse };
}
const when = { messages: user("When?") };
const promptOf = (text: string, tools: readonly Tool[] = []) => [...chat.open(user(text), tools).ids];

test("a model of token ids has the sampler's sizes, and no messages", () => {
  const { info } = scriptedSampler(chat.tokenizer, () => "");
  expect(engineModel({ info } as never)).toEqual({
    ...{ maxLength: 4096, vocabularySize: chat.tokenizer.size, sample: expect.any(Function) },
  });
  // Clients that are not known send bodies of any size; those of a model without a folder are known.
  expect(engineModel({ info } as never, chat, folder).maxBytes).toBe(maxBytes(chat, 4096));
  expect(engineModel({ info } as never, chat)).not.toHaveProperty("maxBytes");
});

test("a request in token ids is sampled as it says, within the context that is left", async () => {
  const { model, sampled } = scripted({ maxLength: 100 });
  const nothing = { temperature: undefined, topP: undefined, topK: undefined };
  const asked = { model: "m", context: [1, 2, 3], maxTokens: undefined, stopTokens: [7], stopStrings: [], seed: 4, ...nothing };
  await model.sample(asked, signal);
  await model.sample({ ...asked, maxTokens: 5, stopStrings: ["."], temperature: 0.5, topP: 0.9, topK: 3 }, signal);
  await model.sample({ ...asked, maxTokens: 98 }, signal);
  expect(sampled).toEqual([
    { context: [1, 2, 3], maxTokens: 97, stopTokens: [7], seed: 4, ...nothing, signal },
    {
      ...{ context: [1, 2, 3], maxTokens: 5, stopTokens: [7], stopStrings: ["."], seed: 4, signal },
      temperature: 0.5,
      topP: 0.9,
      topK: 3,
    },
    { context: [1, 2, 3], maxTokens: 97, stopTokens: [7], seed: 4, ...nothing, signal },
  ]);
  const seeds = new Set<number>();
  for (let i = 0; i < 3; i++) {
    await model.sample({ ...asked, seed: undefined }, signal);
    seeds.add(sampled.at(-1)?.seed ?? -1);
  }
  expect(seeds.size).toBe(3);
  for (const seed of seeds) expect(seed >= 0 && seed < 2 ** 31).toBe(true);
});

test("a conversation is sampled behind its prompt, with the request's settings", async () => {
  const { model, sampled, converse } = scripted();
  const sampling = { temperature: 0, topP: 0.9, topK: 3, seed: 5, others: {} };
  const reply = await converse({ ...when, tools: [find], maxTokens: 9, topLogprobs: 2 }, { sampling });
  const context = promptOf("When?", [find]);
  expect(sampled).toMatchObject([{ context, maxTokens: 9, seed: 5, temperature: 0, topP: 0.9, topK: 3, signal, topLogprobs: 2 }]);
  expect(reply).toMatchObject({ message: { role: "assistant", content: "Yes." }, finish: "stop", promptTokens: context.length });
  expect([...reply.sampled.context]).toEqual(context);
  expect(await model.chat?.count({ ...when, tools: [find] }, signal)).toBe(context.length);
  expect(await model.chat?.count({ ...when, tools: [find], toolChoice: "none" }, signal)).toBe(promptOf("When?").length);
  expect(model.chat?.decode(chat.tokenizer.encode("Demo"))).toBe("Demo");
  // As many characters as the context could hold, and one more.
  const longest = Math.max(...[...chat.tokenizer.vocabulary.tokens.values()].map(({ length }) => length));
  const tight = scripted({ maxLength: 16 }).model.chat as ChatModel;
  const count = async (characters: number) => tight.count({ messages: user("x".repeat(characters)) }, signal);
  expect(await count(16 * longest)).toBeGreaterThan(16);
  await expect(count(16 * longest + 1)).rejects.toThrow(/characters/);
  await converse(when);
  expect(sampled[1].maxTokens).toBe(4096 - promptOf("When?").length);
});

test("an answer that continues the last message begins behind it", async () => {
  const { sampled, converse } = scripted();
  const messages = [...when.messages, { role: "assistant", content: "It is" } as const];
  const reply = await converse({ messages }, { continuesLast: true });
  const whole = [...promptOf("When?"), ...chat.tokenizer.encode("It is")];
  expect(sampled[0].context).toEqual(whole);
  expect([...reply.sampled.context]).toEqual(whole);
  await converse({ messages: [...messages] }, { continuesLast: false });
  expect(sampled[1].context).toEqual([...chat.open(messages, []).ids]);
  // Nothing of the user's is continued.
  await converse(when, { continuesLast: true });
  expect(sampled[2].context).toEqual(promptOf("When?"));
});

test("several answers to one request have one prompt, and seeds that follow each other", async () => {
  const { sampled, converse } = scripted();
  const open = vi.spyOn(chat, "open");
  const sampling = { seed: 5, others: {} };
  const one = { messages: user("Who?") };
  await Promise.all([0, 1, 2].map((index) => converse(one, { index, sampling })));
  expect(open).toHaveBeenCalledTimes(1);
  open.mockRestore();
  expect(sampled.map(({ seed }) => seed)).toEqual([5, 6, 7]);
});

test("equal conversations have the same seeds in the order in which they come, by the seed of the model", async () => {
  const seedsOf = async (seed: number | undefined, ...texts: readonly string[]) => {
    const { sampled, converse } = scripted({ seed });
    for (const text of texts) await converse({ messages: user(text) });
    return sampled.map((request) => request.seed);
  };
  const content = (text: string) => seedOf(3, promptOf(text).join());
  const [a, b, again] = await seedsOf(3, "A?", "B?", "A?");
  expect([a, b, again]).toEqual([seedOf(content("A?"), 0), seedOf(content("B?"), 0), seedOf(content("A?"), 1)]);
  expect(await seedsOf(3, "B?", "A?")).toEqual([b, a]);
  const [one, other] = await seedsOf(undefined, "A?", "A?");
  expect(one).not.toBe(other);
});

test("a setting that no engine here has is refused by its name, and so is a context without room", async () => {
  const { sampled, converse } = scripted();
  const failure = await converse(when, { sampling: { others: { min_p: 0.1 } } }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ status: 400, code: "unsupported_parameter" });
  expect(String(failure)).toBe("HttpError: min_p is 0.1; expected none: this server does not have it.");
  const { length } = promptOf("When?");
  const full = scripted({ maxLength: length });
  await expect(full.converse(when)).rejects.toThrow(
    `messages is "${length} tokens"; expected less than the maximum context length of ${length} tokens.`,
  );
  expect([sampled, full.sampled]).toEqual([[], []]);
  const tight = scripted({ maxLength: length + 1 });
  expect((await tight.converse(when)).finish).toBe("length");
  expect(tight.sampled[0].maxTokens).toBe(1);
});

test("a form is a mask of the sampler's, where it has masks", async () => {
  const { sampled, converse } = scripted();
  await expect(converse({ ...when, form: "json" })).rejects.toThrow("the mask does not allow");
  expect(sampled[0].mask).toBeDefined();
  expect(sampled).toHaveLength(1);
  // Without them it is drawn again, with another seed each time.
  const loose = scripted({ canMask: false });
  const sampling = { seed: 4, others: {} };
  await expect(loose.converse({ ...when, form: "json" }, { sampling, index: 2 })).rejects.toThrow(/missed in 8 draws/);
  expect(loose.sampled.map(({ seed }) => seed)).toEqual([6, ...[1, 2, 3, 4, 5, 6, 7].map((draw) => seedOf(6, "draw", draw))]);
});
