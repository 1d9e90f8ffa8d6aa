import type { AssistantMessage, Message, ToolCall } from "../../src/core/messages.ts";
import { type Random, randomStream } from "../../src/core/random.ts";
import { parametersAsJsonSchema, type Tool } from "../../src/tools/tool.ts";
import { type Script, type View, words } from "./play.ts";

/** A policy that needs no understanding. A world in which one succeeds has a hole. */
export interface DegeneratePolicy {
  readonly name: string;
  /** @param expert what the expert wrote in this task, in order; empty without an expert */
  script(task: string, expert: readonly Message[]): Script;
}

export const lastUserText = ({ conversation }: View) => conversation.findLast(({ role }) => role === "user")?.content ?? "";

function always(name: string, content: (view: View) => string): DegeneratePolicy {
  return { name, script: () => (view) => words(content(view)) };
}

/** Policies without an expert. */
export const blindPolicies: readonly DegeneratePolicy[] = [
  always("does nothing and says nothing", () => ""),
  always('does nothing, always "Done."', () => "Done."),
  always("always asks", () => "Which one?"),
  always("always apologises", () => "Sorry, I cannot."),
  always("always refuses by name", (view) => `Sorry, I cannot find ${namesIn(lastUserText(view)).join(" ")}.`),
  always("repeats what the user says", lastUserText),
  { name: "random calls and words", script: (task) => randomScript(randomStream(0, "random-policy", task)) },
];

/** The chance of an answer of the right form, where the answer is one of the names and numbers that the request names. */
export const chancePolicy: DegeneratePolicy = {
  name: "chance: a name or number of the request, at random",
  script: (task) => {
    const random = randomStream(0, "chance", task);
    return (view) => words(random.pick(lastUserText(view).match(/\p{Lu}[\p{L}-]*|\d+(?:[.,:]\d+)*/gu) ?? [""]));
  },
};

/** Policies that act as the expert does, and say what needs no understanding. */
export const talkingPolicies: readonly DegeneratePolicy[] = [
  saying('acts as the expert, always closes with "Done."', () => "Done."),
  saying("acts as the expert, always apologises", () => "Sorry, I cannot."),
  saying('acts as the expert, always "Done. Sorry, I cannot."', () => "Done. Sorry, I cannot."),
  saying("acts as the expert, says nothing", () => ""),
  saying("acts as the expert, repeats the request", lastUserText),
  {
    name: "acts as the expert, asks before everything",
    script: (_, expert) => {
      const next = following(expert);
      let lastQuestion = "";
      return (view) => {
        const last = view.conversation.at(-1);
        const isNew =
          last?.role === "user" && last.content !== lastQuestion && view.conversation.at(-2)?.content !== "Which one?";
        if (!isNew) return next();
        lastQuestion = last.content;
        return words("Which one?");
      };
    },
  },
  {
    name: "says what the expert says, does nothing",
    script: (_, expert) => following(expert.filter((message) => message.role === "assistant" && !message.toolCalls?.length)),
  },
];

/** Acts as the expert and ends each request with other words. */
export function saying(name: string, content: (view: View) => string): DegeneratePolicy {
  return {
    name,
    script: (_, expert) => {
      const next = following(expert);
      return (view) => {
        const message = next();
        return message.toolCalls?.length || message.content.includes("?") ? message : words(content(view));
      };
    },
  };
}

/** Calls the same tools in the same order for every request, with arguments that fit the schema, and repeats the request. */
export function toolOrder(names: readonly string[]): Script {
  let at = 0;
  return (view) => {
    if (view.conversation.at(-1)?.role === "user") at = 0;
    const tool = view.tools.find(({ name }) => name === names[at]);
    at++;
    return tool === undefined ? words(lastUserText(view)) : calling(guessedCall(tool, view.conversation));
  };
}

/** The expert's messages one after the other, then nothing more. */
function following(expert: readonly Message[]): () => AssistantMessage {
  const messages = expert.filter((message): message is AssistantMessage => message.role === "assistant");
  let at = 0;
  return () => messages[at++] ?? words("");
}

function randomScript(random: Random): Script {
  return (view) => {
    if (view.tools.length > 0 && random.chance(0.7))
      return calling(guessedCall(random.pick(view.tools), view.conversation, random));
    return words(random.pick(["Done.", "Sorry, I cannot.", "Which one?", lastUserText(view)]));
  };
}

export const calling = (call: ToolCall): AssistantMessage => ({ role: "assistant", content: "", toolCalls: [call] });

/** Arguments from what was said: ids of the last results, names and numbers of the request, the first of several choices. */
export function guessedCall(tool: Tool, conversation: readonly Message[], random?: Random): ToolCall {
  return { name: tool.name, arguments: guessedObject(parametersAsJsonSchema(tool), conversation, random) };
}

/** The parts of a JSON schema that a guess reads. */
interface Shape {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
}

/** An object of a schema, from what was said. */
export function guessedObject(schema: object, conversation: readonly Message[], random?: Random): Record<string, unknown> {
  const { properties = {} } = schema as Shape;
  const pick = <Item>(items: readonly Item[], fallback: Item): Item =>
    random ? random.pick([...items, fallback]) : (items[0] ?? fallback);
  const request = conversation.findLast(({ role }) => role === "user")?.content ?? "";
  const results = conversation
    .filter(({ role }) => role === "tool")
    .map(({ content }) => content)
    .reverse()
    .join(" ");
  const value = (key: string, schema: Shape): unknown => {
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return pick(schema.enum, schema.enum[0]);
    if (schema.anyOf?.[0] !== undefined) return value(key, schema.anyOf[0]);
    if (schema.type === "array") return schema.items === undefined ? [] : [value(key, schema.items)];
    if (schema.type === "object") return guessedObject(schema, conversation, random);
    if (schema.type === "boolean") return pick([false, true], false);
    if (schema.type === "integer" || schema.type === "number") return Number(pick(request.match(/\d+/g) ?? [], "1"));
    if (/\bid$|contact/i.test(key))
      return pick(
        [...results.matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id),
        "a1",
      );
    const times = (request.match(/\d\d:\d\d/g) ?? []).filter(() => key === "time");
    return pick([...times, ...codesIn(request), ...namesIn(request)], request);
  };
  return Object.fromEntries(Object.entries(properties).map(([key, shape]) => [key, value(key, shape)]));
}

/** Numbers of orders and the like: words of letters and digits, addresses of mail. */
function codesIn(text: string): string[] {
  return text.match(/[\w.+-]+@[\w-]+\.\w+|(?=\w*[A-Za-z])(?=\w*\d)\w+(?:-\w+)*|[A-Za-z]+-\d+/g) ?? [];
}

/** Capitalised words that do not begin the text, or the first one if there is no other. */
function namesIn(text: string): string[] {
  const all = text.match(/[A-Z][a-z]+/g) ?? [];
  const inner = all.filter((name) => !text.startsWith(name));
  return inner.length > 0 ? inner : all;
}
