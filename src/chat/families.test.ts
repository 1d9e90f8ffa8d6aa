import { describe, expect, test } from "vitest";
import { z } from "zod";
import { families, familyChat } from "../../test/fixtures/families.ts";
import { fits } from "../../test/fixtures/fits.ts";
import { ModelError } from "../core/errors.ts";
import type { AssistantMessage, Message } from "../core/messages.ts";
import { defineTool } from "../tools/tool.ts";

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  parameters: z.object({ to: z.string(), amount: z.number(), notes: z.record(z.string(), z.unknown()) }),
  execute: () => "paid",
});

const request: Message = { role: "user", content: "Pay Ana." };
const call = { name: "pay", arguments: { to: 'Ana "A" Berg', amount: 5, notes: { tags: ["a", "b"], deep: { yes: true } } } };
const calling: AssistantMessage = { role: "assistant", content: "", toolCalls: [call] };
const result: Message = { role: "tool", name: "pay", content: "paid" };
const closing: AssistantMessage = { role: "assistant", content: "Done." };

const payTypes = { properties: { to: { type: "string" }, amount: { type: "number" }, notes: { type: "object" } } };
const numberTypes = { properties: { amount: { type: "number" }, count: { type: "integer" }, text: { type: "string" } } };

describe.each(Object.entries(families))("%s", (_, family) => {
  const chat = familyChat(family);

  test("the format is found by a rendered call", () => {
    expect(chat.calls().name).toBe(family.format);
  });

  // Mistral's template numbers its calls, which no grammar holds; that of gpt-oss shows one call alone.
  const isHeld = !["gpt-oss", "mistral"].includes(family.format);
  if (isHeld)
    test("two calls as the template writes them fit strict tools and a required call, or the form is refused", async () => {
      const schema = {
        type: "object",
        properties: { to: { type: "string" } },
        required: ["to"],
        additionalProperties: false,
      } as const;
      const tools = ["pay", "ask"].map((name) => ({ name, description: "", parameters: schema, execute: () => "" }));
      const toolCalls = tools.map(({ name }) => ({ name, arguments: { to: "Ana" } }));
      const context = chat.open([request], tools);
      const written = (calls: typeof toolCalls) =>
        chat.actionText(chat.tokenizer.encode(chat.action(context, { role: "assistant", content: "", toolCalls: calls })));
      for (const form of [
        { tools, strictTools: ["pay", "ask"] },
        { tools, toolChoice: "required" as const },
      ]) {
        const mask = await chat.grammars.mask(form).catch((error: unknown) => error);
        if (mask instanceof ModelError) {
          expect(mask.message).toContain("expected a model whose calls have their arguments as JSON");
          continue;
        }
        for (const calls of [toolCalls, toolCalls.slice(1)])
          expect(await fits(chat, form, written(calls)), written(calls)).toBe(true);
        expect(await fits(chat, { ...form, parallelCalls: false }, written(toolCalls))).toBe(false);
      }
    });

  test("a conversation with a call is read back, and each context continues the one before it", () => {
    const schemaOf = () => payTypes;
    let context = chat.open([request], [pay]);
    for (const [message, answers] of [
      [calling, [result]],
      [closing, [request]],
    ] as const) {
      const action = chat.tokenizer.encode(chat.action(context, message));
      const read = chat.read(chat.actionText(action), context.ids.conversation(), schemaOf);
      expect(read.message).toEqual(message);
      expect(read.calls).toEqual(message.toolCalls ?? []);
      const next = chat.extend(context, action, read.message, answers);
      expect(next.rewritten).toBe(false);
      expect(next.ids.slice(0, context.ids.length + action.length)).toEqual([...context.ids, ...action]);
      expect(chat.tokenizer.decode([...next.ids])).toBe(next.text);
      context = next;
    }
  });

  test("numbers stay what the model wrote, also where history is rendered again", () => {
    const { write, read } = chat.calls();
    const exact = '{"amount": 5.0, "count": 12345678901234567890, "text": "5.0"}';
    const arguments_ = { amount: 5, count: 12345678901234567000, text: "5.0" };
    const text = write({
      role: "assistant",
      content: "",
      toolCalls: [{ name: "f", arguments: arguments_, argumentsText: exact }],
    });
    expect(text).toMatch(/[^"']5\.0[^"']/);
    expect(text).toContain("12345678901234567890");
    const { calls, message } = read(text, [], () => numberTypes);
    expect(calls).toEqual([{ name: "f", arguments: arguments_, argumentsText: expect.any(String) }]);
    const [made] = message.toolCalls ?? [];
    expect(made.argumentsText?.replace(/\s/g, "")).toBe(exact.replace(/\s/g, ""));
    expect(write(message)).toBe(text);
    const rendered = chat.open([request, message, { role: "tool", name: "f", content: "ok" }, request], [pay]).text;
    expect(rendered).toContain("12345678901234567890");
    expect(rendered).toMatch(/[^"'\d]5\.0[^"'\d]/);
    expect(rendered).not.toMatch(/[\ue000\ue001]/);
  });

  test("several calls, with text before them, are written and read", () => {
    const several: AssistantMessage = {
      role: "assistant",
      content: "I pay both.",
      toolCalls: [call, { name: "list_all", arguments: {} }, { name: "pay", arguments: { to: "Bo", amount: -1.5, notes: {} } }],
    };
    const { write, read } = chat.calls();
    const schemaOf = () => payTypes;
    expect(read(write(several), [], schemaOf).message).toEqual(several);
  });

  test("a call that breaks off throws nothing, and calls with nothing but what was written", () => {
    const { write, read } = chat.calls();
    const text = write(calling);
    for (let end = 0; end < text.length; end++) {
      const { calls } = read(text.slice(0, end), [], () => payTypes);
      for (const made of calls) {
        if ("error" in made) expect(made.error).toMatch(/Write /);
        else {
          expect(made.name).toBe("pay");
          // Calls of the first two may miss their closing tags. An empty body is gpt-oss's call without arguments.
          if (["qwen3-coder", "glm"].includes(family.format)) expect(call.arguments).toMatchObject(made.arguments);
          else expect(family.format === "gpt-oss" ? [{}, call.arguments] : [call.arguments]).toContainEqual(made.arguments);
        }
      }
    }
  });
});

test("Mistral's ids are nine letters and digits, made from the turn and the place, and results carry them", () => {
  const chat = familyChat(families.Mistral);
  const two: AssistantMessage = { role: "assistant", content: "", toolCalls: [call, call] };
  const { text } = chat.open([request, two, result, result, closing, request, two, result, result], [pay]);
  const made = [...text.matchAll(/"id": "(\w+)"/g)].map(([, id]) => id);
  expect(made).toEqual(["c00000000", "c00000001", "c00020000", "c00020001"]);
  expect([...text.matchAll(/"call_id": "(\w+)"/g)].map(([, id]) => id)).toEqual(made);
  // Given ids stay.
  const given: AssistantMessage = { ...calling, toolCalls: [{ ...call, id: "abcdefghi" }] };
  expect(
    chat.open([request, given, { ...result, callId: "abcdefghi" }] as Message[], [pay]).text.match(/abcdefghi/g),
  ).toHaveLength(2);
});

test("a template whose calls are of no known format is an error for tools, never a silent 0", () => {
  const { template } = families["Qwen2.5 and Qwen3"];
  const other = { ...families["Qwen2.5 and Qwen3"], template: template.replaceAll("tool_call>", "invoke>") };
  expect(() => familyChat(other).calls()).toThrow(ModelError);
  expect(() => familyChat(other).calls()).toThrow(/<invoke>.*expected one of the formats .*hermes.*chat\.format/s);
  const { settings: _, ...silent } = families.SmolLM2;
  expect(() => familyChat(silent, { tools: "template" }).calls()).toThrow(/no calls at all/);
  // A setting that contradicts the template is one too.
  expect(() => familyChat(families.Mistral, { format: "hermes" })).toThrow(/expected "mistral"/);
});

test("where a template shows neither tools nor calls, the system message does, and results are the user's", () => {
  const { settings: _, ...silent } = families.SmolLM2;
  const chat = familyChat(silent);
  expect([chat.toolsIn, chat.calls().name]).toEqual(["system", "hermes"]);
  const context = chat.open([{ role: "system", content: "Pay bills." }, request], [pay]);
  expect(context.text).toMatch(
    /^<\|im_start\|>system\nPay bills\.\n\nYou may call these functions:\n<tools>\n\{"name":"pay".*<tool_call>\n\{"name": "function_name".*<\|im_end\|>\n<\|im_start\|>user\nPay Ana/s,
  );
  const action = chat.tokenizer.encode(chat.action(context, calling));
  const next = chat.extend(context, action, calling, [result, result]);
  expect(next.rewritten).toBe(false);
  expect(next.text.slice(context.text.length)).toMatch(
    /<\|im_start\|>user\n<tool_response>\npaid\n<\/tool_response>\n<tool_response>\npaid\n<\/tool_response><\|im_end\|>/,
  );
  expect(chat.open([request], []).text).not.toContain("tools");
});

test("a family without calls in its template is asked for them in the format that it was trained in", () => {
  const { settings: _, ...silent } = families.SmolLM2;
  const smol = { ...silent, template: `{# SmolLM #}${silent.template}` };
  expect(familyChat(smol).open([request], [pay]).text).toContain(
    '<tool_call>[{"name": "function_name", "arguments": {"argument": "value"}}]</tool_call>',
  );
  expect(familyChat(smol, { format: "hermes" }).calls().name).toBe("hermes");
});

test("chat.tools decides where tools are read", () => {
  const qwen = families["Qwen2.5 and Qwen3"];
  const text = (tools: "template" | "system" | "none") => familyChat(qwen, { tools }).open([request], [pay]).text;
  expect(text("none")).not.toContain("Pays.");
  expect(text("system")).toContain("You may call these functions");
  expect(text("template")).not.toContain("You may call these functions");
  expect(text("template")).toContain("Pays.");
});

test("variables of the template are settings", () => {
  const template =
    "{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}{% if not enable_thinking %}short{% else %}long{% endif %}";
  const family = { format: "", template, special: ["<|im_end|>"] };
  const open = (variables: object) => familyChat(family, { template: { ...variables } }).open([request], []).text;
  expect([open({ enable_thinking: true }), open({ enable_thinking: false })].map((text) => text.split("|>")[1])).toEqual([
    "long",
    "short",
  ]);
});

test("a thinking block is dropped by the template, kept as sampled, or dropped with its message", () => {
  const template = `
{%- for m in messages %}
  {%- if m.role == 'assistant' and m.reasoning_content and not loop.last and messages[loop.index0 + 1].role != 'tool' %}{{- 'a' + m.content }}
  {%- elif m.role == 'assistant' and m.reasoning_content %}{{- 'a<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' + m.content }}
  {%- else %}{{- m.role[0] + m.content }}{%- endif %}{{- '<|im_end|>' }}
{%- endfor %}{%- if add_generation_prompt %}{{- 'a' }}{%- endif %}`;
  const play = (thinking: "template" | "keep" | "drop") => {
    const chat = familyChat({ format: "", template, special: ["<|im_end|>"] }, { thinking });
    const context = chat.open([request], []);
    const action = chat.tokenizer.encode("<think>\nhm\n</think>\n\nYes.<|im_end|>");
    const { message } = chat.read(chat.actionText(action), context.ids.conversation());
    expect(message).toEqual({ role: "assistant", content: "Yes.", reasoning: "hm" });
    const { ids, rewritten } = chat.extend(context, action, message, [request]);
    return { text: chat.tokenizer.decode([...ids]), rewritten };
  };
  const dropped = "uPay Ana.<|im_end|>aYes.<|im_end|>uPay Ana.<|im_end|>a";
  expect(play("template")).toEqual({ text: dropped, rewritten: true });
  expect(play("drop")).toEqual({ text: dropped, rewritten: true });
  expect(play("keep")).toEqual({
    text: dropped.replace("aYes", "a<think>\nhm\n</think>\n\nYes"),
    rewritten: false,
  });
});
