import type { Chat } from "../chat/chat.ts";
import type { AssistantMessage, Message } from "../core/messages.ts";
import type { ActionInContext, TrajectoryId } from "../core/trajectory.ts";
import type { TextProtocol } from "../environments/protocol.ts";
import type { Tool } from "../tools/tool.ts";
import { dialogueOf } from "./dialogue.ts";

/**
 * A finished conversation as training samples, one for each assistant message that is to be learned: the ids that a rollout would have
 * recorded, had the model written exactly what the template makes of the messages; or, where tools are called in text, exactly these
 * texts, and an end of turn after the last one.
 * @param protocol of the episode, where it has one
 * @throws ModelError if the template refuses the messages
 */
export function encodeDemonstration(
  chat: Chat,
  trajectory: TrajectoryId,
  messages: readonly Message[],
  tools: readonly Tool[],
  protocol?: TextProtocol,
): ActionInContext[] {
  const dialogue = dialogueOf(chat, protocol);
  const samples: ActionInContext[] = [];
  const { opening, exchanges } = splitAtAssistant(messages);
  let context = dialogue.open(opening, tools);
  for (const [turn, { message, answers }] of exchanges.entries()) {
    const isLast = turn + 1 === exchanges.length;
    const action = dialogue.actionFor(context, message, isLast);
    if (message.learned !== false) samples.push({ trajectory, turn, context: context.ids, action });
    if (!isLast) context = dialogue.extend(context, action, message, answers, tools);
  }
  return samples;
}

interface Exchange {
  readonly message: AssistantMessage;
  readonly answers: Message[];
}

function splitAtAssistant(messages: readonly Message[]): { opening: readonly Message[]; exchanges: readonly Exchange[] } {
  const opening: Message[] = [];
  const exchanges: Exchange[] = [];
  for (const message of messages) {
    if (message.role === "assistant") exchanges.push({ message, answers: [] });
    else (exchanges.at(-1)?.answers ?? opening).push(message);
  }
  return { opening, exchanges };
}
