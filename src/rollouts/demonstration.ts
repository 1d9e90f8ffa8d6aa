import type { Chat } from "../chat/chat.ts";
import type { AssistantMessage, Message } from "../core/messages.ts";
import type { ActionInContext, TrajectoryId } from "../core/trajectory.ts";
import type { TextProtocol } from "../environments/environment.ts";
import type { Tool } from "../tools/tool.ts";

/**
 * A finished conversation as training samples, one for each assistant message: the ids that a rollout would have
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
  const { tokenizer } = chat;
  const samples: ActionInContext[] = [];
  const { opening, exchanges } = splitAtAssistant(messages);
  let context = chat.open(opening, protocol === undefined ? tools : []);
  for (const [turn, { message, answers }] of exchanges.entries()) {
    const isLast = turn + 1 === exchanges.length;
    const action =
      protocol === undefined
        ? tokenizer.encode(chat.action(context, message))
        : [...tokenizer.encode(message.content), ...(isLast ? tokenizer.stopTokens.slice(0, 1) : [])];
    samples.push({ trajectory, turn, context: context.ids, action });
    if (isLast) break;
    context =
      protocol === undefined
        ? chat.extend(context, action, message, answers)
        : chat.resume(context, action, protocol.write(answers), message, answers);
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
