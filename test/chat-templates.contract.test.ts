import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Chat } from "../src/chat/chat.ts";
import type { AssistantMessage, Message } from "../src/core/messages.ts";
import type { Tool } from "../src/tools/tool.ts";
import { asTransformersTakes, chatOfTemplate, named, renderedByTransformers } from "./chat-templates/chat.ts";
import { pageTable } from "./page-table.ts";

// Published chat templates, rendered by this project and by transformers. With the folder of .ci/chat-templates only.
const published = process.env.RETROGRADE_CHAT_TEMPLATES ?? "";
const folders: Readonly<Record<string, string>> = {
  trl: "trl/chat_templates",
  axolotl: "axolotl/utils/chat_templates/templates",
};

/** The file of a template such as trl/qwen3. */
function fileOf(template: string): string {
  const [name, file] = template.split("/");
  return join(published, folders[name], `${file}.jinja`);
}

const values: Readonly<Record<string, readonly [value: unknown, schema: object]>> = {
  text: ["plain", { type: "string" }],
  null: [null, { anyOf: [{ type: "string" }, { type: "null" }] }],
  "null by a list of types": [null, { type: ["string", "null"] }],
  true: [true, { type: "boolean" }],
  false: [false, { type: "boolean" }],
  "an integer": [-5, { type: "integer" }],
  "a number": [2.5, { type: "number" }],
  "a list": [["a", 1, null, true, 'it\'s "b"'], { type: "array", items: { type: ["string", "null"] } }],
  "an empty list": [[], { type: "array" }],
  "nested objects": [{ a: { list: [1, { deep: null }], yes: true }, z: "\\ \n" }, { type: "object" }],
  "an empty object": [{}, { type: "object" }],
  "an empty text": ["", { type: "string" }],
  "the end of reasoning": ["a </think> b", { type: "string" }],
  "quotes and lines": ['it\'s "so"\n\\n', { type: "string" }],
  "other scripts": ["é ключ 😀", { type: "string" }],
};

const scratch = mkdtempSync(join(tmpdir(), "retrograde-chat-templates-"));
afterAll(() => rmSync(scratch, { recursive: true }));

function chatOf(file: string): { readonly chat: Chat; readonly tokenizerFile: string } {
  const { chat, tokenizer } = chatOfTemplate(readFileSync(fileOf(file), "utf8"));
  const tokenizerFile = join(scratch, `${file.replace("/", "-")}.json`);
  writeFileSync(tokenizerFile, JSON.stringify(tokenizer));
  return { chat, tokenizerFile };
}

const question: Message = { role: "user", content: "Change the note." };
const id = "abcdefghi";
const result: Message = { role: "tool", name: "update", content: "done", callId: id };
const calling = (note: unknown): AssistantMessage => ({
  role: "assistant",
  content: "",
  toolCalls: [{ id, name: "update", arguments: { note, count: 1 } }],
});
const toolOf = (schema: object): Tool => ({
  name: "update",
  description: "Updates a note.",
  parameters: { type: "object", properties: { note: schema, count: { type: "integer" } }, required: ["note"] },
  execute: () => "",
});

/** The original templates of DeepSeek-V3 take arguments as text. */
function forTransformers(file: string, tokenizer: string, eos_token: string, messages: readonly Message[], tool: Tool) {
  const arguments_ = /\/deepseek_?v3$/.test(file) ? "text" : "objects";
  return {
    template: fileOf(file),
    tokenizer,
    variables: { ...named, eos_token },
    ...asTransformersTakes(messages, [tool], arguments_),
  };
}

const files = Object.entries(published === "" ? {} : folders).flatMap(([name, folder]) =>
  readdirSync(join(published, folder))
    .filter((file) => file.endsWith(".jinja"))
    .map((file) => `${name}/${file.slice(0, -".jinja".length)}`)
    .filter((template) => readFileSync(fileOf(template), "utf8").includes("tool_calls")),
);
const refusals = [
  [/no calls at all/, "shows tools and no calls"],
  [/in an unknown format/, "unknown calls"],
  [/Expected iterable/, "takes content as a list of parts"],
] as const;

/** The format in which a template calls, or what becomes of it. */
function outcomeOf(file: string): string {
  const { chat } = chatOf(file);
  if (chat.toolsIn === "system") return "none: the system message has the tools";
  try {
    return `\`${chat.calls().name}\``;
  } catch (error) {
    const [, why] = refusals.find(([pattern]) => pattern.test(String(error))) ?? [];
    if (why === undefined) throw error;
    return `refused: ${why}`;
  }
}
const outcomes = files.map((file) => ({ file, outcome: outcomeOf(file) }));
const readable = outcomes.filter(({ outcome }) => outcome.startsWith("`")).map(({ file }) => file);

describe.skipIf(published === "")("published chat templates (set RETROGRADE_CHAT_TEMPLATES, see .ci/chat-templates)", () => {
  test("the table of research/notes/models.md has every template with calls, and what becomes of it", () => {
    expect(files.filter((file) => file.startsWith("trl/") && !file.includes("_training")).length).toBe(29);
    const kinds = [...new Set(outcomes.map(({ outcome }) => outcome))].sort();
    const listed = (kind: string) => outcomes.flatMap(({ file, outcome }) => (outcome === kind ? `\`${file}\`` : [])).join(", ");
    const rows = [["format", "published templates"], ...kinds.map((kind) => [kind, listed(kind)])];
    pageTable("research/notes/models.md", "Templates: written by test/chat-templates.contract.test.ts", rows);
  });

  const rendered = (() => {
    const chats = readable.map((file) => ({ file, ...chatOf(file) }));
    const cases = chats.flatMap(({ file, chat, tokenizerFile }) =>
      Object.entries(values).map(([what, [note, schema]]) => ({
        file,
        what,
        chat,
        tokenizerFile,
        note,
        tool: toolOf(schema),
        schema,
      })),
    );
    const theirs = renderedByTransformers<{ text?: string; ids?: number[]; error?: string }>(
      published,
      cases.map(({ file, chat, tokenizerFile, note, tool }) =>
        forTransformers(file, tokenizerFile, chat.tokenizer.namedTokens.eos_token, [question, calling(note), result], tool),
      ),
    );
    return cases.map((one, i) => ({ ...one, theirs: theirs[i] }));
  })();

  test.each(readable)("%s: arguments of every JSON type are rendered as transformers renders them, text and ids", (file) => {
    for (const { what, chat, note, tool, theirs } of rendered.filter((one) => one.file === file)) {
      const { text, ids } = chat.open([question, calling(note), result], [tool]);
      expect({ what, text, ids: [...ids] }).toEqual({ what, ...theirs });
    }
  });

  test.each(readable)("%s: arguments of every JSON type are read from an action, and the next context continues it", (file) => {
    for (const { what, chat, note, tool, theirs, schema } of rendered.filter((one) => one.file === file)) {
      const context = chat.open([question], [tool]);
      const written = chat.calls().write(calling(note));
      // Where a format has an end of its own for calls, the model ends them so.
      const end = chat.stopStrings?.flatMap((stop) => chat.tokenizer.idOf(stop) ?? [])[0] ?? chat.tokenizer.stopTokens[0];
      const action = [...chat.tokenizer.encode(written), end];
      const schemaOf = () => ({ properties: { note: schema, count: { type: "integer" } } });
      const { calls, message } = chat.read(chat.actionText(action), [question], schemaOf);
      expect({ what, calls }).toEqual({ what, calls: [{ name: "update", arguments: { note, count: 1 } }] });
      const said = { ...message, toolCalls: message.toolCalls?.map((call) => ({ ...call, id })) };
      const next = chat.extend(context, action, said, [result]);
      expect({ what, text: next.text }).toEqual({ what, text: theirs.text });
      // Templates that prompt for reasoning show history without it: a new context.
      expect({ what, rewritten: next.rewritten }).toEqual({ what, rewritten: !theirs.text?.startsWith(context.text) });
      if (next.rewritten) expect([...next.ids]).toEqual(theirs.ids);
      else expect(next.ids.slice(0, context.ids.length + action.length)).toEqual([...context.ids, ...action]);
      if (theirs.text?.startsWith(context.text + written + chat.tokenizer.decode([end])))
        expect({ what, ids: [...next.ids] }).toEqual({ what, ids: theirs.ids });
    }
  });

  // Templates that prompt for reasoning show no action behind the prompt.
  const showing = readable.filter((file) => !/\/(?:deepseek_?v3|glm4moe|nemotron)|axolotl\/gemma4/.test(file));

  test.each(showing)("%s: its own text of a call is read back, and no beginning of it calls anything else", (file) => {
    for (const { what, chat, note, tool, schema } of rendered.filter((one) => one.file === file)) {
      // LFM2.5's templates do not escape quotes.
      if (file.startsWith("trl/lfm2_2_5") && what === "quotes and lines") continue;
      const schemaOf = () => ({ properties: { note: schema, count: { type: "integer" } } });
      const context = chat.open([question], [tool]);
      const shown = chat.actionText(chat.tokenizer.encode(chat.action(context, calling(note))));
      expect({ what, calls: chat.read(shown, [], schemaOf).calls }).toEqual({
        what,
        calls: [{ name: "update", arguments: { note, count: 1 } }],
      });
      for (let end = 0; end < shown.length; end++) {
        for (const call of chat.read(shown.slice(0, end), [], schemaOf).calls)
          if ("name" in call) expect({ note, count: 1 }).toMatchObject(call.arguments);
      }
    }
  });
});
