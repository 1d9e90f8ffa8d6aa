import { expect, test } from "vitest";
import { qwen25, testChat, testTokenizer } from "../../test/fixtures/chats.ts";
import type { DrawnToken } from "../core/trajectory.ts";
import type { Tool } from "../tools/tool.ts";
import { makeChat } from "./chat.ts";
import type { ConversationRequest, Delta } from "./conversation.ts";
import { drawReply, planReply, replyOf, shownTools } from "./reply.ts";

const chat = testChat("qwen25");
const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false } as const;
const find: Tool = { name: "find", description: "Finds.", parameters: schema, execute: () => "" };
const tools = [find];
const user = { role: "user", content: "hello" } as const;

/** A plan, and how it reads a text that was sampled. */
async function planned(request: Partial<ConversationRequest> = {}, canMask = false, of = chat) {
  const given: Delta[] = [];
  const whole: ConversationRequest = { messages: [user], onDelta: (delta) => given.push(delta), ...request };
  const plan = await planReply(of, whole, of.open(whole.messages, whole.tools ?? []), canMask);
  const action = (text: string, finish: "stop" | "length" = "stop") => {
    const tokens = of.tokenizer.encode(text);
    return { tokens, finish, logprobs: tokens.map((_, i) => -i) };
  };
  const said = () => given.map((delta) => ("text" in delta ? `${delta.kind} ${delta.text}` : `call ${delta.name}`));
  return { plan, action, said, given, read: (...args: Parameters<typeof action>) => plan.read(action(...args)) };
}
const text = (content: string) => ({ message: { role: "assistant", content }, toolCalls: 0, invalidToolCalls: 0 });
const call = '<tool_call>{"name": "find", "arguments": {"n": 1}}</tool_call>';

test("a text is read up to a stop string of the request, and its end of turn is no part of it", async () => {
  const { plan, read } = await planned({ stopStrings: ["STOP", "END"] });
  expect(plan.stopTokens).toEqual(chat.tokenizer.stopTokens);
  expect(plan.stopStrings).toEqual(["STOP", "END"]);
  expect(read("hello<|im_end|>")).toEqual(text("hello"));
  expect(read("a END b STOP")).toEqual(text("a "));
  expect(read("<think>why</think>so<|im_end|>")).toEqual({
    ...text("so"),
    message: { role: "assistant", content: "so", reasoning: "why" },
  });
  expect((await planned()).plan.stopStrings).toEqual([]);
});

test("calls are read where tools are shown, and an action that was cut off has none", async () => {
  const { read } = await planned({ tools, onDelta: undefined });
  expect(read(`I look. ${call}<|im_end|>`)).toEqual({
    message: { role: "assistant", content: "I look.", toolCalls: [{ name: "find", arguments: { n: 1 } }] },
    ...{ toolCalls: 1, invalidToolCalls: 0 },
  });
  expect(read(`I look. ${call}`, "length")).toEqual(text(`I look. ${call}`));
  expect((await planned({ tools, toolChoice: "none" })).read(call)).toEqual(text(call));
  expect((await planned()).read(call)).toEqual(text(call));
});

test("an action with a call that cannot be read is a text, and its calls are counted", async () => {
  const { read } = await planned({ tools, onDelta: undefined });
  expect(read(`${call}<tool_call>oops</tool_call>`)).toEqual({
    ...text(`${call}<tool_call>oops</tool_call>`),
    invalidToolCalls: 2,
  });
});

test("tools of a template that shows no calls are refused before anything is sampled", async () => {
  const silent = makeChat(testTokenizer("{%- for m in messages -%}{{ m.content }}<|im_end|>{%- endfor -%}"), {
    tools: "template",
  });
  for (const canMask of [true, false]) {
    await expect(planned({ tools, onDelta: undefined }, canMask, silent)).rejects.toThrow(
      /tool calls of the chat template is "no calls at all"/,
    );
    await planned({ onDelta: undefined }, canMask, silent);
  }
});

test("a format's stop strings are those of the plan where tools are shown", async () => {
  const stopping = { ...chat, stopStrings: ["<stop>"] };
  expect((await planned({ tools, stopStrings: ["own"] }, false, stopping)).plan.stopStrings).toEqual(["<stop>", "own"]);
  expect((await planned({ stopStrings: ["own"] }, false, stopping)).plan.stopStrings).toEqual(["own"]);
  expect(shownTools({ tools })).toEqual(tools);
  expect([shownTools({ tools, toolChoice: "none" }), shownTools({})]).toEqual([[], []]);
});

test("deltas come as tokens are drawn; those of an engine that gives all at the end come then", async () => {
  const drawn = await planned({ tools }, true);
  const sampled = drawn.action("hello thin");
  for (const [i, token] of sampled.tokens.entries()) drawn.plan.onToken?.({ token, logprob: -i } as DrawnToken);
  expect(drawn.said()).toEqual(["text hello", "text  thin"]);
  expect(drawn.plan.read(sampled)).toEqual(text("hello thin"));
  expect(drawn.said()).toHaveLength(2);
  const late = await planned({ tools });
  expect(late.read(`hello${call}`).message.toolCalls).toHaveLength(1);
  expect(late.said()).toEqual(["text hello", "call find", expect.stringMatching(/^arguments /), ...late.said().slice(3)]);
  expect(late.given[0]?.tokens).toEqual([{ token: chat.tokenizer.idOf("hello"), logprob: -0 }]);
});

test("whole calls come at the end, and without a receiver nothing is given", async () => {
  const whole = await planned({ tools, wholeCalls: true });
  whole.read(`hello${call}`);
  expect(whole.said()).toEqual(["text hello", "call find", 'arguments {"n":1}']);
  const silent = await planned({ onDelta: undefined });
  expect(silent.plan.onToken).toBeUndefined();
  expect(silent.read("hello")).toEqual(text("hello"));
});

test("the candidates of a token come with it", async () => {
  const { plan, action, given } = await planned();
  const sampled = action("hello");
  plan.read({ ...sampled, topTokens: [[7, 8]], topLogprobs: [[-0.5, -1]] });
  expect(given[0]?.tokens).toEqual([{ ...given[0]?.tokens[0], top: { tokens: [7, 8], logprobs: [-0.5, -1] } }]);
});

test("reasoning that the prompt opens is reasoning from the first token on", async () => {
  const prompt = "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n";
  const template = qwen25.replace(prompt, `${prompt}<think>\\n`);
  const thinking = makeChat(testTokenizer(template));
  expect(thinking.open([user], []).text.endsWith("<think>\n")).toBe(true);
  const { read, said } = await planned({}, false, thinking);
  read("thin</think>hello");
  expect(said()).toEqual(["reasoning thin", "text hello"]);
});

test("without masks a form is checked: an action that misses it does not fit, and is not shown before it is whole", async () => {
  const { plan, action } = await planned({ form: { schema } });
  expect(plan.mask).toBeUndefined();
  expect(plan.onToken).toBeUndefined();
  const fits = (said: string, finish?: "length") => plan.fits?.(action(said, finish));
  expect([fits('{"n": 1}'), fits('{"n": "x"}'), fits("hello"), fits("hello", "length")]).toEqual([true, false, false, true]);
  const forced = await planned({ tools, toolChoice: "required" });
  expect([call, "hello"].map((said) => forced.plan.fits?.(forced.action(said)))).toEqual([true, false]);
});

test("under a mask that holds the form only numbers beyond the doubles do not fit", async () => {
  const { plan, action } = await planned({ form: "json", onDelta: undefined }, true);
  expect(plan.mask).toBeDefined();
  expect(['{"n": 1}', '{"n": 1e999}', "no JSON"].map((said) => plan.fits?.(action(said)))).toEqual([true, false, true]);
  plan.close();
  const free = await planned({}, true);
  expect([free.plan.mask, free.plan.fits]).toEqual([undefined, undefined]);
  free.plan.close();
  // What was shown already is not drawn again.
  const shown = await planned({ form: "json" }, true);
  expect([shown.plan.fits, typeof shown.plan.onToken]).toEqual([undefined, "function"]);
  shown.plan.close();
});

test("a mask that holds a part of the form leaves the rest to the check", async () => {
  const { plan, action } = await planned({ form: { schema: { type: "number", minimum: 3 } } }, true);
  expect(plan.mask?.loose).toEqual(["minimum"]);
  expect(plan.onToken).toBeUndefined();
  expect(["4", "2"].map((said) => plan.fits?.(action(said)))).toEqual([true, false]);
  plan.close();
});

const drawn = (finish: "stop" | "length" = "stop") => ({ tokens: [1], finish });

test("an action that fits is taken at once, any other is drawn again, eight times in all", async () => {
  const attempts: number[] = [];
  const restarts: string[] = [];
  const mask = { loose: [], restart: () => restarts.push("restart") } as never;
  const sample = async (attempt: number) => {
    attempts.push(attempt);
    return { ...drawn(), tokens: [attempt] };
  };
  expect(await drawReply({ mask }, 1, sample)).toEqual({ tokens: [0], finish: "stop" });
  expect(await drawReply({ mask, fits: ({ tokens }) => tokens[0] === 2 }, 1, sample)).toEqual({ tokens: [2], finish: "stop" });
  expect([attempts, restarts]).toEqual([
    [0, 0, 1, 2],
    ["restart", "restart"],
  ]);
  attempts.length = 0;
  await expect(drawReply({ fits: () => false }, 1, sample)).rejects.toThrow(
    'the form of an answer is "missed in 8 draws"; expected the schema, the call or the JSON that was asked for. ' +
      "This engine has no sampling under a grammar: the model has to know the form. Teach it by demonstrations, or ask for a form that a grammar holds on the local engine.",
  );
  expect(attempts).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

test("a greedy action is drawn once, and the error names what no grammar holds", async () => {
  const never = { fits: () => false };
  const failure = (loose: readonly string[]) => drawReply({ ...never, mask: { loose } as never }, 0, async () => drawn());
  await expect(failure(["minimum", "pattern"])).rejects.toThrow(/"missed in 1 draw"; .*\. No grammar holds minimum, pattern: /);
  await expect(failure([])).rejects.toThrow(/\. No grammar holds the size of a number: the model has to know the form\./);
});

test("a reply has the ids behind its message", () => {
  const message = { role: "assistant", content: "a" } as const;
  const sampled = { tokens: [3, 4], logprobs: [-1, -2], finish: "length" } as const;
  const reply = { message, finish: "length", promptTokens: 2, completionTokens: 2 };
  expect(replyOf(message, sampled, [1, 2])).toEqual({
    ...reply,
    sampled: { context: [1, 2], action: [3, 4], logprobs: [-1, -2] },
  });
  expect(replyOf(message, { ...sampled, topTokens: [[5], []], topLogprobs: [[-3]] }, [1, 2]).sampled.top).toEqual([
    { tokens: [5], logprobs: [-3] },
    { tokens: [], logprobs: [] },
  ]);
});
