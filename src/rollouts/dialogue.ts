import type { ReadAction, SchemaOf } from "../actions/action.ts";
import type { Chat, ChatContext } from "../chat/chat.ts";
import type { AssistantMessage, Message } from "../core/messages.ts";
import type { TokenId } from "../core/trajectory.ts";
import type { Episode } from "../environments/environment.ts";
import type { TextProtocol } from "../environments/protocol.ts";
import { parametersAsJsonSchema, type Tool } from "../tools/tool.ts";

/** A conversation as the model sees it: the chat template's own way of calling tools, or the episode's text protocol. */
export interface Dialogue {
  readonly stopStrings: readonly string[] | undefined;
  /** Most tokens after the first context. Infinity if there is no limit. */
  readonly maxResponseTokens: number;
  /** @throws ModelError if the template refuses the messages */
  open(messages: readonly Message[], tools: readonly Tool[]): ChatContext;
  /**
   * @param conversation what was before the action
   * @param tools that can be called
   */
  read(text: string, conversation: readonly Message[], tools: readonly Tool[]): ReadAction;
  /**
   * The context after an action and its answers.
   * @param tools those from now on; where the template shows them, a change of them is a new context
   * @throws ModelError if the template refuses the messages
   */
  extend(
    context: ChatContext,
    action: readonly TokenId[],
    message: AssistantMessage,
    answers: readonly Message[],
    tools: readonly Tool[],
  ): ChatContext;
  /** The text that teaches a message: what the model has to write, its end of turn included where `isLast` or a template ends it. */
  actionFor(context: ChatContext, message: AssistantMessage, isLast: boolean): readonly TokenId[];
}

export function dialogueOf(chat: Chat, protocol: Episode["protocol"]): Dialogue {
  return protocol === undefined ? native(chat) : inText(chat, protocol);
}

function native(chat: Chat): Dialogue {
  return {
    stopStrings: chat.stopStrings,
    maxResponseTokens: Number.POSITIVE_INFINITY,
    open: (messages, tools) => {
      if (tools.length > 0) chat.calls();
      return chat.open(messages, tools);
    },
    read: (text, conversation, tools) => chat.read(text, conversation, schemasOf(tools)),
    extend: (context, action, message, answers, tools) => {
      if (tools.length > 0) chat.calls();
      return chat.extend(context, action, message, answers, tools);
    },
    actionFor: (context, message) => chat.tokenizer.encode(chat.action(context, message)),
  };
}

const none: readonly Tool[] = [];

/** The JSON schemas of tools by their names. */
export function schemasOf(tools: readonly Tool[]): SchemaOf {
  return (name) => {
    const tool = tools.find((one) => one.name === name);
    return tool === undefined ? undefined : parametersAsJsonSchema(tool);
  };
}

function inText(chat: Chat, { actions, continuation }: TextProtocol): Dialogue {
  const common = {
    stopStrings: actions.stopStrings,
    open: (messages: readonly Message[]) => chat.open(messages, none),
    read: (text: string, conversation: readonly Message[], tools: readonly Tool[]) =>
      actions.read(text, conversation, schemasOf(tools)),
  };
  if (continuation.kind === "one-message") {
    return {
      ...common,
      maxResponseTokens: continuation.maxResponseTokens ?? Number.POSITIVE_INFINITY,
      extend: (context, action, message, answers) => chat.resume(context, action, continuation.write(answers), message, answers),
      actionFor: (_, { content }, isLast) => {
        const { tokenizer } = chat;
        return [...tokenizer.encode(content), ...(isLast ? tokenizer.stopTokens.slice(0, 1) : [])];
      },
    };
  }
  // The template shows a message's content; its calls are in there already.
  const shown = ({ content }: AssistantMessage): AssistantMessage => ({ role: "assistant", content });
  return {
    ...common,
    maxResponseTokens: Number.POSITIVE_INFINITY,
    extend: (context, action, message, answers) => chat.extend(context, action, shown(message), continuation.show(answers), none),
    actionFor: (context, message) => chat.tokenizer.encode(chat.action(context, shown(message))),
  };
}
