import type { ConversationRequest } from "../../src/chat/conversation.ts";
import { shownTools } from "../../src/chat/reply.ts";
import type { AssistantMessage, Message } from "../../src/core/messages.ts";
import { randomStream } from "../../src/core/random.ts";
import type { TaskRequest } from "../../src/environments/define.ts";
import { type View, words } from "./play.ts";
import { calling, guessedCall, guessedObject, lastUserText } from "./policies.ts";

/** The view of a policy at a turn: the request, and the tools that it called before. */
export interface LazyView extends View {
  readonly called: readonly string[];
}

/** A policy that understands nothing, for an agent by someone else. */
export interface LazyPolicy {
  readonly name: string;
  /** True if it calls tools. */
  readonly calls?: true;
  /** Advice where it is paid. Default: to score what it leaves undone. */
  readonly advice?: string;
  /** @param task as the file has it, which no policy but an oracle of a field reads */
  act(view: LazyView, task: TaskRequest): AssistantMessage;
}

const say = (name: string, content: (view: LazyView, task: TaskRequest) => string): LazyPolicy => ({
  name,
  act: (view, task) => words(content(view, task)),
});
const closing = "Done.";

export const silentPolicies: readonly LazyPolicy[] = [
  say("says nothing", () => ""),
  say(`says "${closing}"`, () => closing),
  say("repeats the prompt", lastUserText),
  say("declines", () => "Sorry, I cannot."),
];

/** The most tools that are called alone, and calls of one attempt. */
const [maxTools, maxCalls] = [12, 8];

/** Policies that call tools with arguments from the prompt and the schemas. @param tools those that the agent showed */
export function callingPolicies(tools: readonly string[]): LazyPolicy[] {
  const inOrder = (name: string, order: readonly string[]): LazyPolicy => ({
    ...{ name, calls: true },
    act: (view) => {
      const next = view.tools.find((tool) => tool.name === order[view.called.length]);
      return next === undefined ? words(closing) : calling(guessedCall(next, view.conversation));
    },
  });
  const random: LazyPolicy = {
    ...{ name: "calls random tools with random arguments", calls: true },
    act: (view) => {
      const stream = randomStream(0, "random-agent-policy", lastUserText(view), view.called.length);
      if (view.tools.length === 0 || view.called.length >= maxCalls || stream.chance(0.3)) return words(closing);
      return calling(guessedCall(stream.pick(view.tools), view.conversation, stream));
    },
  };
  if (tools.length === 0) return [];
  return [
    ...tools.slice(0, maxTools).map((name) => inOrder(`calls ${name}, says "${closing}"`, [name])),
    ...(tools.length > 1 ? [inOrder("calls every tool once", tools.slice(0, maxTools))] : []),
    random,
  ];
}

/** The most constant answers, and fields, that are tried; characters of the answer that has all. */
const [maxConstants, maxFields, maxCharacters] = [6, 6, 4000];

/** Fields of tasks beside their prompts that could be answers, with their texts, in the order of the file. */
export function answerFields(tasks: readonly TaskRequest[]): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  for (const task of tasks)
    for (const [name, value] of Object.entries(task)) {
      if (name === "prompt" || name === "kind" || (typeof value !== "string" && typeof value !== "number") || value === "")
        continue;
      fields.set(name, [...(fields.get(name) ?? []), String(value)]);
    }
  return new Map([...fields].slice(0, maxFields));
}

/** Advice on constant answers, of which only the best is reported. */
export const constantAdvice = "That is the floor: only more than it is learned.";
const listAdvice = "Compare whole answers: one that names everything contains the right one.";

/** The least share of tasks with a value, for a constant answer of it. */
const leastConstant = 0.1;

/** Policies that answer without looking: the values that tasks have most often, and all values together. */
export function constantPolicies(tasks: readonly TaskRequest[]): LazyPolicy[] {
  const counts = new Map<string, number>();
  const fields = answerFields(tasks);
  for (const value of [...fields.values()].flat()) counts.set(value, (counts.get(value) ?? 0) + 1);
  const common = [...counts]
    .filter(([, times]) => times > 1 && times >= leastConstant * tasks.length)
    .sort((a, b) => b[1] - a[1]);
  const constant = common
    .slice(0, maxConstants)
    .map(([value]) => ({ ...say(`says ${JSON.stringify(value.slice(0, 40))}`, () => value), advice: constantAdvice }));
  const lists = [...fields].flatMap(([name, values]) => {
    const all = [...new Set(values)].join(", ");
    if (new Set(values).size < 2 || all.length > maxCharacters) return [];
    return [{ ...say(`lists every ${name} of the file`, () => all), advice: listAdvice }];
  });
  return [...constant, ...lists];
}

/** Says what a field of the task has: where the prompt has it too, it is a leak. */
export function oracleOf(field: string): LazyPolicy {
  return say(`says the task's ${field}`, (_, task) => String((task as unknown as Record<string, unknown>)[field] ?? ""));
}

/**
 * The answer of a policy to a request. Where a call is required it is made, and where a form is, the text is put into it: an agent that parses answers
 * would refuse others.
 */
export function lazyAnswer(policy: LazyPolicy, request: ConversationRequest, task: TaskRequest): AssistantMessage {
  const { messages, toolChoice, form } = request;
  const tools = shownTools(request);
  const since = messages.findLastIndex(({ role }) => role === "user");
  const called = messages.slice(since + 1).flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const view = { conversation: messages, tools, called: called.map(({ name }) => name) };
  const message = policy.act(view, task);
  if (message.toolCalls !== undefined) return message;
  const forced =
    typeof toolChoice === "object"
      ? tools.find(({ name }) => name === toolChoice.tool)
      : toolChoice === "required"
        ? tools[0]
        : undefined;
  if (forced !== undefined) return calling(guessedCall(forced, messages));
  if (message.content === "" || form === undefined) return message;
  return words(JSON.stringify(form === "json" ? { answer: message.content } : formed(form.schema, message.content, messages)));
}

/** An object of a schema with a text in each field of text that has no other choice. */
function formed(schema: object, text: string, conversation: readonly Message[]): unknown {
  const { properties = {} } = schema as {
    readonly properties?: Readonly<Record<string, { readonly type?: unknown; readonly enum?: readonly unknown[] }>>;
  };
  const guessed = guessedObject(schema, conversation);
  for (const [name, { type, enum: values }] of Object.entries(properties)) {
    const chosen = values?.find((value) => String(value) === text);
    if (chosen !== undefined) guessed[name] = chosen;
    else if (values === undefined && type === "string") guessed[name] = text;
    else if (values === undefined && (type === "number" || type === "integer") && text !== "" && Number.isFinite(Number(text)))
      guessed[name] = Number(text);
  }
  return guessed;
}
