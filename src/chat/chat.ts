import type { ActionFormat, ReadAction } from "../actions/action.ts";
import type { CallFormat } from "../actions/formats/format.ts";
import { hermes } from "../actions/formats/hermes.ts";
import { Context } from "../core/context.ts";
import { ModelError } from "../core/errors.ts";
import type { AssistantMessage, Message } from "../core/messages.ts";
import type { TokenId } from "../core/trajectory.ts";
import type { Tool } from "../tools/tool.ts";
import { requireFormat } from "./call-format.ts";
import { Grammars } from "./grammar.ts";
import { renderingOf, type ToolsIn, turnEndsOf, withStops } from "./rendering.ts";
import type { ChatSettings } from "./settings.ts";
import { templateMs, withinTemplateTime } from "./template.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** A conversation that waits for the assistant: what it says and the ids that the model sees. Never changed, so it can be forked. */
export interface ChatContext {
  readonly tools: readonly Tool[];
  /** The ids, and the messages that they show. */
  readonly ids: Context;
  /** The template's rendering of the messages, generation prompt included. */
  readonly text: string;
  /** True if the ids are not the previous context, action and answer continued: the template rewrote history. */
  readonly rewritten: boolean;
}

/** A model's chat format, rendered to ids turn by turn: ids that exist are never made again. */
export interface Chat {
  readonly tokenizer: Tokenizer;
  /** Where the model reads its tools. */
  readonly toolsIn: ToolsIn;
  /** @throws ModelError if the template refuses the messages */
  open(messages: readonly Message[], tools: readonly Tool[]): ChatContext;
  /**
   * The context after an action and its answers: context ids ++ action ids ++ ids of the text that the template puts after the action.
   * @param message the action as a message, for the template
   * @param tools from now on. Default: the context's. A template that shows them makes a new context of other ones
   * @throws ModelError if the template refuses the messages
   */
  extend(
    context: ChatContext,
    action: readonly TokenId[],
    message: AssistantMessage,
    answers: readonly Message[],
    tools?: readonly Tool[],
  ): ChatContext;
  /**
   * The context after an action that does not end its message: context ids ++ action ids ++ ids of the text behind it.
   * @param message the action, `answers` what the text reports: for reading
   */
  resume(
    context: ChatContext,
    action: readonly TokenId[],
    text: string,
    message: AssistantMessage,
    answers: readonly Message[],
  ): ChatContext;
  /**
   * The context in which an action continues behind the message's content, a beginning of its text: its ids up to there, as far as
   * they end there, and else new ones.
   */
  retract(context: ChatContext, action: readonly TokenId[], message: AssistantMessage): ChatContext;
  /** How the model calls tools. @throws ModelError if the format of its template's calls is unknown */
  calls(): CallFormat;
  /** Where the template shows no calls and no setting names their format: the one that the model was probably taught. */
  readonly likelyFormat: string | undefined;
  /** Texts that end an action in this format, besides the tokenizer's end of turn. */
  readonly stopStrings: readonly string[] | undefined;
  /** Masks for actions that have to have a form. */
  readonly grammars: Pick<Grammars, "mask">;
  read: ActionFormat["read"];
  /** An action's text without its end-of-turn token. */
  actionText(action: readonly TokenId[]): string;
  /** The text that the template makes of the assistant's next message, end-of-turn token included: what a demonstration teaches. */
  action(context: ChatContext, message: AssistantMessage): string;
}

/**
 * @throws ModelError if the tokenizer has no chat template, one that does not parse, or one of another format than the setting says
 * @example
 * makeChat(loadTokenizer(folder)).open([{ role: "user", content: "Hello" }], []).ids;
 */
export function makeChat(plainTokenizer: Tokenizer, settings: Partial<ChatSettings> = {}): Chat {
  const { opening } = templateMs;
  const time = { all: opening, left: opening };
  const chat = withinTemplateTime(time, () => chatOf(plainTokenizer, settings));
  if (time.left > 0) return chat;
  throw new ModelError("chat template", `no end within ${opening} ms`, {
    expected: "one that renders a few messages in milliseconds, as those of published models do",
    hint: "The template does not end, or the machine has no time for it.",
  });
}

function chatOf(plainTokenizer: Tokenizer, settings: Partial<ChatSettings>): Chat {
  const { render, control, format, found, likely, toolsIn } = renderingOf(plainTokenizer, settings);
  const tokenizer = withStops(plainTokenizer, format);
  const parts = { ...{ render, control, format, tokenizer }, ...turnEndsOf(tokenizer, plainTokenizer) };
  const { timeOf, after } = templateTimes();
  const extended = extender(parts, settings.thinking ?? "template");

  return {
    tokenizer,
    toolsIn,
    calls: () => requireFormat(found, likely),
    likelyFormat: likely,
    stopStrings: format?.stopStrings,
    grammars: new Grammars(tokenizer, format, (message) =>
      withinTemplateTime(timeOf(undefined), () => templateText(parts, message)),
    ),
    // Without a known format there are no tools; what looks like a call of the most common one is still none of the answer.
    read: (text, conversation, schemaOf) => (format ?? hermes).read(text, conversation, schemaOf),
    actionText: (action) => actionText(tokenizer, action),
    open: (conversation, tools) =>
      after(undefined, () => {
        const text = render(conversation, tools, true);
        return { tools, ids: Context.of(control.encode(text), conversation), text, rewritten: false };
      }),
    extend: (before, action, said, answers, tools = before.tools) =>
      after(before, () => extended({ ...before, tools }, action, said, answers)),
    resume: (context, action, text, message, answers) =>
      after(context, () => ({
        ...context,
        ids: context.ids.extend(action, [message]).extend(control.encode(control.quoteSpecial(text)), answers),
        text: context.text + tokenizer.decode(action) + text,
        rewritten: false,
      })),
    retract: (context, action, message) => after(context, () => retracted(tokenizer, context, action, message)),
    action: (context, message) => {
      const renderAll = () => render([...context.ids.conversation(), message], context.tools, false);
      return demonstrated(parts, context, message, withinTemplateTime(timeOf(context), renderAll));
    },
  };
}

type ChatParts = Pick<ReturnType<typeof renderingOf>, "render" | "control" | "format"> &
  ReturnType<typeof turnEndsOf> & { readonly tokenizer: Tokenizer };

const isEnded = ({ stopTokens }: Tokenizer, action: readonly TokenId[]): boolean => stopTokens.includes(action.at(-1) ?? -1);

function actionText(tokenizer: Tokenizer, action: readonly TokenId[]): string {
  return tokenizer.decode(isEnded(tokenizer, action) ? action.slice(0, -1) : action);
}

/** Makes the context after an action and its answers. */
function extender(
  { render, control, tokenizer, stopAt, turnEnd }: ChatParts,
  thinking: NonNullable<ChatSettings["thinking"]>,
): (context: ChatContext, action: readonly TokenId[], said: AssistantMessage, answers: readonly Message[]) => ChatContext {
  /** Where the action that continues the context ends in the next rendering; undefined if that rendering changes what was there. */
  const actionEnd = (context: ChatContext, written: string, message: AssistantMessage, next: string): number | undefined => {
    if (!next.startsWith(context.text)) return undefined;
    const start = context.text.length;
    // The common case needs no second rendering: the template repeats what the model wrote.
    if (next.startsWith(written, start) && stopAt(next, start + written.length) !== "") return start + written.length;
    const alone = render([...context.ids.conversation(), message], context.tools, false);
    if (!alone.startsWith(context.text) || !next.startsWith(alone)) return undefined;
    return turnEnd(alone, start, message);
  };

  return (context, action, said, answers) => {
    const message = thinking === "template" ? said : withoutReasoning(said);
    const messages = [...context.ids.conversation(), message, ...answers];
    const text = render(messages, context.tools, true);
    const dropped = thinking === "drop" && said.reasoning !== undefined;
    const end = dropped ? undefined : actionEnd(context, actionText(tokenizer, action), message, text);
    if (end === undefined) {
      const ids = context.ids.extend(action, [message]).branch(control.encode(text), messages);
      return { ...context, ids, text, rewritten: true };
    }
    // An action that was cut off gets its end of turn here, as part of what follows it.
    const follow = text.slice(isEnded(tokenizer, action) ? end + stopAt(text, end).length : end);
    const ids = context.ids.extend(action, [message]).extend(control.encode(follow), answers);
    return { ...context, ids, text, rewritten: false };
  };
}

function retracted(
  tokenizer: Tokenizer,
  context: ChatContext,
  action: readonly TokenId[],
  message: AssistantMessage,
): ChatContext {
  const textOf = (count: number) => tokenizer.decode(action.slice(0, count));
  let kept = action.length;
  while (!message.content.startsWith(textOf(kept))) kept--;
  const added = tokenizer.encode(message.content.slice(textOf(kept).length));
  return {
    ...context,
    ids: context.ids.extend([...action.slice(0, kept), ...added], [message]),
    text: context.text + message.content,
    rewritten: kept < action.length || added.length > 0,
  };
}

/**
 * Returns the text of a message in a rendering that ends with it.
 * @throws ModelError if the rendering does not continue the context, or the message does not end in it
 */
function demonstrated(
  { format, stopAt, turnEnd }: ChatParts,
  context: ChatContext,
  message: AssistantMessage,
  text: string,
): string {
  const start = context.text.length;
  const end = turnEnd(text, start, message);
  if (!text.startsWith(context.text) || stopAt(text, end) === "") {
    throw new ModelError("chat template", text, {
      expected: "the generation prompt, the assistant's message and an end-of-turn token",
      hint: "Demonstrations need a template that shows an assistant's message as the model has to write it.",
    });
  }
  if (format !== undefined) requireCalls(message, format.read(text.slice(start, end), []).calls);
  return text.slice(start, end + stopAt(text, end).length);
}

/** @throws ModelError if a template does not show all calls of a message */
function requireCalls({ toolCalls = [] }: AssistantMessage, read: ReadAction["calls"]): void {
  const shown = read.map((call) => ("name" in call ? call.name : call.error));
  const wanted = toolCalls.map(({ name }) => name);
  if (wanted.length === 0 || wanted.join() === shown.join()) return;
  throw new ModelError("the chat template's calls of a message", shown, {
    expected: wanted,
    hint: "Some templates show one call of a message alone. Demonstrate the others in messages of their own.",
  });
}

/** The times that conversations' renderings have left, by their ids. */
function templateTimes() {
  const timeLeft = new WeakMap<Context, number>();
  const timeOf = (context: ChatContext | undefined) => {
    const { conversation: all } = templateMs;
    return { all, left: (context && timeLeft.get(context.ids)) ?? all };
  };
  /** Makes the context behind another one, or the first of a conversation. One whose time is over has none for another try. */
  const after = (before: ChatContext | undefined, work: () => ChatContext): ChatContext => {
    const time = timeOf(before);
    try {
      const made = withinTemplateTime(time, work);
      timeLeft.set(made.ids, time.left);
      return made;
    } finally {
      if (before !== undefined && time.left <= 0) timeLeft.set(before.ids, time.left);
    }
  };
  return { timeOf, after };
}

/** The text that the template makes of a message behind a user's, without its end of turn; "" if it refuses one like it. */
function templateText({ render, turnEnd }: ChatParts, message: AssistantMessage): string {
  try {
    const asked = { role: "user", content: "a" } as const;
    const text = render([asked, message], [], false);
    const start = render([asked], [], true).length;
    return text.slice(start, turnEnd(text, start, message));
  } catch (error) {
    if (error instanceof ModelError) return "";
    throw error;
  }
}

function withoutReasoning({ reasoning: _, ...message }: AssistantMessage): AssistantMessage {
  return message;
}
