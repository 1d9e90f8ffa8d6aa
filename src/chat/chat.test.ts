import { Template } from "@huggingface/jinja";
import { expect, test } from "vitest";
import { templates, testChat, testTokenizer, tokenizerJson } from "../../test/fixtures/chats.ts";
import { ModelError } from "../core/errors.ts";
import type { AssistantMessage, Message } from "../core/messages.ts";
import type { Tool } from "../tools/tool.ts";
import { type Chat, type ChatContext, makeChat } from "./chat.ts";
import { compileTemplate } from "./template.ts";
import { makeTokenizer } from "./tokenizer.ts";

const opening: readonly Message[] = [
  { role: "system", content: "be brief" },
  { role: "user", content: "hello" },
];
const call: AssistantMessage = { role: "assistant", content: "", toolCalls: [{ name: "find", arguments: { who: "Ana", n: 2 } }] };
const results: readonly Message[] = [
  { role: "tool", name: "find", content: "c1" },
  { role: "tool", name: "find", content: "c2" },
];
const find: Tool = { name: "find", description: "Finds.", parameters: { type: "object", properties: {} }, execute: () => "" };
const names = Object.keys(templates) as (keyof typeof templates)[];

/** The ids that a model would sample for this text. */
const sampled = (chat: Chat, text: string, end = "<|im_end|>") => chat.tokenizer.encode(text + end);
const decoded = (chat: Chat, context: ChatContext) => chat.tokenizer.decode([...context.ids]);

test.each(names)("%s: a context is the one before, the action and what follows, id for id", (name) => {
  const chat = testChat(name);
  const first = chat.open(opening, [find]);
  const action = chat.tokenizer.encode(chat.action(first, call));
  const second = chat.extend(first, action, call, results);
  const done: AssistantMessage = { role: "assistant", content: "Done." };
  const third = chat.extend(second, chat.tokenizer.encode(chat.action(second, done)), done, [
    { role: "user", content: "thanks" },
  ]);

  expect(second.ids.slice(0, first.ids.length + action.length)).toEqual([...first.ids, ...action]);
  expect([first, second, third].map(({ rewritten }) => rewritten)).toEqual([false, false, false]);
  // The model wrote what the template would have written, so nothing differs from rendering the whole conversation.
  expect(decoded(chat, third)).toBe(chat.open(third.ids.conversation(), [find]).text);
});

test("rendered chat of a three-turn tool call (qwen25)", () => {
  const chat = testChat("qwen25");
  const first = chat.open(opening, [find]);
  const second = chat.extend(first, sampled(chat, '<tool_call>\n{"name":"find"}\n</tool_call>'), call, results);
  expect(decoded(chat, second)).toBe(
    `<|im_start|>system
be brief

# Tools
<tools>
{"type": "function", "function": {"name": "find", "description": "Finds.", "parameters": {"type": "object", "properties": {}}}}
</tools><|im_end|>
<|im_start|>user
hello<|im_end|>
<|im_start|>assistant
<tool_call>
{"name":"find"}
</tool_call><|im_end|>
<|im_start|>user
<tool_response>
c1
</tool_response>
<tool_response>
c2
</tool_response><|im_end|>
<|im_start|>assistant
`,
  );
});

test.each(names)("%s: what the model wrote is kept, however the template would have written it", (name) => {
  const chat = testChat(name);
  const end = name === "llama3" ? "<|eot_id|>" : "<|im_end|>";
  const first = chat.open(opening, []);
  // "hello" as h, e, l, l, o: ids that the tokenizer would never give.
  const action = [..."hello"].flatMap((letter) => chat.tokenizer.encode(letter)).concat(sampled(chat, '  {"odd" :json}', end));
  const next = chat.extend(first, action, call, results);
  expect(next.rewritten).toBe(false);
  expect(next.ids.slice(0, first.ids.length + action.length)).toEqual([...first.ids, ...action]);
  const rest = chat.tokenizer.decode(next.ids.slice(first.ids.length + action.length));
  expect(rest.startsWith(end)).toBe(false);
  expect(chat.open([...opening, call, ...results], []).text.endsWith(`${end}${rest}`)).toBe(true);
});

test("an action that was cut off gets its end of turn in what follows", () => {
  const chat = testChat("plain");
  const context = chat.extend(chat.open(opening, []), chat.tokenizer.encode("hel"), { role: "assistant", content: "hel" }, [
    { role: "user", content: "go on" },
  ]);
  expect(decoded(chat, context)).toContain("assistant\nhel<|im_end|>\n<|im_start|>user\ngo on");
});

test("a template that drops earlier reasoning makes a new context, and says so", () => {
  const chat = testChat("qwen3");
  const thinking = (content: string): AssistantMessage => ({ role: "assistant", content, reasoning: "thin" });
  const first = chat.open(opening, []);
  const withTools = chat.extend(
    first,
    sampled(chat, "<think>\nthin\n</think>\n\n<tool_call>…"),
    { ...call, reasoning: "thin" },
    results,
  );
  expect(withTools.rewritten).toBe(false);

  const next = chat.extend(withTools, sampled(chat, "<think>\nthin\n</think>\n\nDone."), thinking("Done."), [
    { role: "user", content: "thanks" },
  ]);
  expect(next.rewritten).toBe(true);
  expect(decoded(chat, next)).not.toContain("thin");
  expect([...next.ids]).toEqual([...chat.open(next.ids.conversation(), []).ids]);
  // The rewritten context is continued like any other.
  const after = chat.extend(next, sampled(chat, "Bye."), { role: "assistant", content: "Bye." }, [
    { role: "user", content: "bye" },
  ]);
  expect(after.rewritten).toBe(false);
  expect(after.ids.slice(0, next.ids.length)).toEqual([...next.ids]);
});

test("contexts can be forked: extending one changes no other", () => {
  const chat = testChat("plain");
  const first = chat.open(opening, []);
  const ids = [...first.ids];
  const [left, right] = ["left", "right"].map((content) =>
    chat.extend(first, sampled(chat, content), { role: "assistant", content }, [{ role: "user", content: "and?" }]),
  );
  expect([...first.ids]).toEqual(ids);
  expect(decoded(chat, left)).toContain("left");
  expect(decoded(chat, right)).not.toContain("left");
});

test("what is taken back leaves the ids that were sampled before it, however they cut the text", () => {
  const chat = testChat("plain");
  const { tokenizer } = chat;
  const idOf = (text: string) => tokenizer.idOf(text) ?? -1;
  const context = chat.open(opening, []);
  // The tokenizer itself would write "hel" in one.
  const action = [idOf("he"), idOf("l"), ...tokenizer.encode("x")];
  const whole = chat.retract(context, action, { role: "assistant", content: "hel" });
  expect([...whole.ids]).toEqual([...context.ids, idOf("he"), idOf("l")]);
  expect(whole).toMatchObject({ text: `${context.text}hel`, rewritten: true });
  // A token that ends behind the cut is replaced by those of the rest.
  const part = chat.retract(context, [idOf("he"), idOf("lo")], { role: "assistant", content: "hel" });
  expect([...part.ids]).toEqual([...context.ids, idOf("he"), ...tokenizer.encode("l")]);
  expect(chat.retract(context, action, { role: "assistant", content: "helx" }).rewritten).toBe(false);
});

test("rendering message by message gives what rendering at once gives", () => {
  const chat = testChat("plain");
  // `loop` keeps a template from being rendered message by message; the text is the same.
  const atOnce = makeChat(
    testTokenizer(
      templates.plain.replace("'<|im_start|>' + message.role", "'<|im_start|>' + message.role + ('' if loop.first else '')"),
    ),
  );
  const messages = [...opening, call, ...results];
  expect(chat.open(messages, []).text).toBe(atOnce.open(messages, []).text);
});

test.each([
  ["names the place of a message", "{%- for m in messages -%}{{ m.content }}{{ '' if loop.last else ', ' }}{%- endfor -%}"],
  ["looks at other messages", "{%- for m in messages -%}{{ m.content }}{{ messages | length }}{%- endfor -%}"],
  ["leaves messages out", "{%- for m in messages[1:] -%}{{ m.content }}{%- endfor -%}"],
  ["says something where there are none", "{%- for m in messages -%}{{ m.content }}{%- else -%}none{%- endfor -%}"],
  ["sets a variable", "{%- for m in messages -%}{%- set n = m.content | length -%}{{ n }}{{ m.content }}{%- endfor -%}"],
  [
    "stops at a role",
    "{%- for m in messages -%}{%- if m.role == 'user' -%}{%- break -%}{%- endif -%}{{ m.content }}{%- endfor -%}",
  ],
  ["ends with their number", "{%- for m in messages -%}{{ m.content }}{%- endfor -%}{{ messages | length }}"],
  ["ends by another test", "{%- for m in messages -%}{{ m.content }}{%- endfor -%}{%- if messages -%}some{%- endif -%}"],
  [
    "ends in another way without the prompt",
    "{%- for m in messages -%}{{ m.content }}{%- endfor -%}{%- if add_generation_prompt -%}A:{%- else -%}.{%- endif -%}",
  ],
  [
    "looks back in the prompt",
    "{%- for m in messages -%}{{ m.content }}{%- endfor -%}{%- if add_generation_prompt -%}{{ messages | length }}:{%- endif -%}",
  ],
  [
    "asks in the loop whether the assistant is next",
    "{%- for m in messages -%}{{ m.content }}{{ 'x' if add_generation_prompt }}{%- endfor -%}",
  ],
  [
    "goes on behind the prompt",
    "{%- for m in messages -%}{{ m.content }}{%- endfor -%}{%- if add_generation_prompt -%}A{%- endif -%}.",
  ],
])("a template that %s is rendered as a whole", (_, source) => {
  const render = compileTemplate(source, {});
  const template = new Template(source);
  for (const messages of [[], opening, [...opening, ...opening]])
    for (const awaits of [true, false])
      expect(render(messages, [], awaits)).toBe(template.render({ messages, add_generation_prompt: awaits }));
});

test("a template that keeps state between messages is not rendered message by message", () => {
  const template =
    "{%- set ns = namespace(n=0) -%}{%- for message in messages -%}{%- set ns.n = ns.n + 1 -%}{{ ns.n }}{{ message.content }}<|im_end|>{%- endfor -%}";
  expect(makeChat(testTokenizer(template)).open(opening, []).text).toBe("1be brief<|im_end|>2hello<|im_end|>");
  const separated = "{%- for message in messages -%}{{ message.content }}{{ '' if loop.last else ', ' }}{%- endfor -%}";
  expect(makeChat(testTokenizer(separated)).open(opening, []).text).toBe("be brief, hello");
});

test("missing, broken and refusing templates are ModelErrors", () => {
  expect(() => makeChat(testTokenizer())).toThrow(/chat template is missing.*chat_template\.jinja/);
  expect(() => makeChat(testTokenizer("{% for"))).toThrow(ModelError);
  const refusing = makeChat(testTokenizer("{{ raise_exception('roles must alternate') }}"));
  expect(() => refusing.open(opening, [])).toThrow(ModelError);
  expect(() => refusing.open(opening, [])).toThrow(/roles must alternate/);
  const mute = makeChat(testTokenizer("{%- for message in messages -%}{{ message.content }}{%- endfor -%}"));
  expect(() => mute.action(mute.open(opening, []), call)).toThrow(/end-of-turn/);
});

test("an action ends at its end of turn, also where the template ends the conversation with another token", () => {
  const template =
    "{%- for m in messages -%}{{ m.role }}:{{ m.content }}<|im_end|>\n{%- endfor -%}" +
    "{%- if add_generation_prompt -%}assistant:{%- else -%}<|eot_id|>{%- endif -%}";
  const chat = makeChat(testTokenizer(template, "<|eot_id|>"));
  const said = { role: "assistant", content: "hello" } as const;
  const context = chat.open([{ role: "user", content: "hi" }], []);
  expect(chat.action(context, said)).toBe("hello<|im_end|>");
  const next = chat.extend(context, chat.tokenizer.encode("hello<|im_end|>"), said, [{ role: "user", content: "bye" }]);
  expect(next).toMatchObject({ rewritten: false, text: `${context.text}hello<|im_end|>user:bye<|im_end|>assistant:` });
});

test("a token between the parts of one message ends no turn", () => {
  const call = "<|channel|>commentary to=functions.{{ c.function.name }}<|message|>{{ c.function.arguments | tojson }}<|call|>";
  const template =
    "{% for m in messages %}<|start|>{{ m.role }}{% for c in m.tool_calls or [] %}" +
    `${call}{% else %}<|message|>{{ m.content }}<|end|>{% endfor %}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}`;
  const ends = ["<|end|>", "<|call|>", "<|return|>"].map((content, i) => ({
    ...tokenizerJson.added_tokens[0],
    id: 400 + i,
    content,
  }));
  const tokenizer = { ...tokenizerJson, added_tokens: [...tokenizerJson.added_tokens, ...ends] };
  const chat = makeChat(makeTokenizer({ tokenizer, config: { eos_token: "<|return|>", chat_template: template } }));
  expect(chat.calls().name).toBe("gpt-oss");
  expect(chat.tokenizer.stopTokens).toEqual(expect.arrayContaining([401, 402]));
  expect(chat.tokenizer.stopTokens).not.toContain(400);
});

test("a text that the program puts behind an action is read as its own, without control tokens", () => {
  const chat = testChat("plain");
  const first = chat.open(opening, []);
  const action = chat.tokenizer.encode("hel");
  const said: AssistantMessage = { role: "assistant", content: "hel" };
  const answer: Message = { role: "tool", name: "find", content: "lo" };
  const next = chat.resume(first, action, "lo<|im_end|>", said, [answer]);
  expect([next.text, next.rewritten, next.tools]).toEqual([`${first.text}hello<|im_end|>`, false, []]);
  expect(next.ids.conversation()).toEqual([...opening, said, answer]);
  const behind = [...next.ids].slice(first.ids.length);
  expect(behind.slice(0, action.length)).toEqual(action);
  expect(chat.tokenizer.decode(behind)).toBe("hello<|im_end|>");
  expect(behind).not.toContain(chat.tokenizer.idOf("<|im_end|>"));
});

test("tools from now on are another context's, and an end of turn is cut off an action's text once", () => {
  const chat = testChat("qwen25");
  const first = chat.open(opening, [find]);
  expect([first.tools, first.rewritten, first.ids.conversation()]).toEqual([[find], false, opening]);
  const other: Tool = { ...find, name: "move" };
  const said: AssistantMessage = { role: "assistant", content: "hello" };
  const kept = chat.extend(first, sampled(chat, "hello"), said, []);
  const changed = chat.extend(first, sampled(chat, "hello"), said, [], [other]);
  expect([kept.tools, kept.rewritten, changed.tools, changed.rewritten]).toEqual([[find], false, [other], true]);
  const end = chat.tokenizer.stopTokens[0] as number;
  expect(chat.actionText([...chat.tokenizer.encode("hello"), end])).toBe("hello");
  expect(chat.actionText([...chat.tokenizer.encode("hello"), end, end])).toBe("hello<|im_end|>");
  expect([chat.actionText(chat.tokenizer.encode("hello")), chat.actionText([])]).toEqual(["hello", ""]);
});

test("a template that shows one call of two alone teaches one alone, and says so", () => {
  const one = templates.qwen25.replace("message.tool_calls or []", "(message.tool_calls or [])[:1]");
  const chat = makeChat(testTokenizer(one));
  const context = chat.open(opening, [find]);
  const two: AssistantMessage = { ...call, toolCalls: ["find", "move"].map((name) => ({ name, arguments: {} })) };
  expect(() => chat.action(context, two)).toThrow(
    'the chat template\'s calls of a message is ["find"]; expected "find" or "move". Some templates show one call of a message alone. Demonstrate the others in messages of their own.',
  );
  expect(chat.action(context, { ...call, toolCalls: two.toolCalls?.slice(0, 1) ?? [] })).toContain("find");
});

test("a message that the template does not end cannot be demonstrated", () => {
  const mute = makeChat(testTokenizer("{%- for message in messages -%}{{ message.content }}{%- endfor -%}"));
  expect(() => mute.action(mute.open(opening, []), { role: "assistant", content: "so" })).toThrow(
    'chat template is "be briefhelloso"; expected the generation prompt, the assistant\'s message and an end-of-turn token. ' +
      "Demonstrations need a template that shows an assistant's message as the model has to write it.",
  );
});

test("without a known format calls are an error, and what looks like a call of the most common one is none of the answer", () => {
  const silent = makeChat(testTokenizer("{%- for m in messages -%}{{ m.content }}<|im_end|>{%- endfor -%}"), {
    tools: "template",
  });
  expect(() => silent.calls()).toThrow(ModelError);
  expect([silent.likelyFormat, silent.stopStrings, silent.toolsIn]).toEqual(["hermes", undefined, "template"]);
  const { message } = silent.read('so <tool_call>{"name": "f"}</tool_call>', []);
  expect(message.content).toBe("so");
  expect([testChat("qwen25").likelyFormat, testChat("llama3").stopStrings]).toEqual([undefined, ["<|eom_id|>"]]);
});
