import type { Message } from "../../src/core/messages.ts";
import type { Outcome } from "../../src/core/outcome.ts";
import type { KeptAnswer, Trajectory, Turn } from "../../src/core/trajectory.ts";
import type { Heard } from "./heard.ts";

export interface Attempted {
  readonly outcome: Outcome;
  /** The agent's return value; absent where it raised an error. */
  readonly answer: KeptAnswer | undefined;
  /** Its requests and their answers; empty where nobody could listen. */
  readonly exchanges: readonly Heard[];
}

/**
 * An attempt as an episode, for reading: the last conversation of the agent, and a turn for each answer of its model. It has no tokens, and is never
 * trained. Without a model that was listened to it is the task and the answer.
 */
export function trajectoryOf(
  { id, group, task, prompt }: { readonly id: string; readonly group: string; readonly task: string; readonly prompt: string },
  { outcome, answer, exchanges }: Attempted,
): Trajectory {
  const last = exchanges.at(-1);
  const unheard: readonly Message[] = [{ role: "user", content: prompt }, ...returned(answer)];
  const turns = exchanges.map(
    ({ answer: { toolCalls = [] }, tools, isCut, usage }, turn): Turn => ({
      ...{ trajectory: id, turn, context: [], action: [], samplerLogprobs: [], entropies: [], weightVersion: 0 },
      ...{ truncated: isCut, rewritten: false, toolCalls: toolCalls.length },
      invalidToolCalls: toolCalls.filter(
        ({ name, arguments: args, argumentsText = "{}" }) =>
          !tools.includes(name) || (Object.keys(args).length === 0 && !/^\s*(?:\{\s*\})?\s*$/.test(argumentsText)),
      ).length,
      ...(usage === undefined ? {} : { usage }),
    }),
  );
  const error = outcome.kind === "error" ? outcome.error : outcome.failure;
  return {
    ...{ id, group, task, turns, messages: last === undefined ? unheard : [...last.messages, last.answer] },
    ...{ reward: outcome.kind === "score" ? outcome.reward : 0, scores: {} },
    ...(answer === undefined ? {} : { answer }),
    stopReason: outcome.kind === "error" ? "environment-error" : error === undefined ? "done" : "agent-error",
    ...(error === undefined ? {} : { error }),
  };
}

function returned(answer: KeptAnswer | undefined): Message[] {
  if (answer === undefined || (!("left" in answer) && answer.value === undefined)) return [];
  const said = "left" in answer ? `(not kept: ${answer.left})` : answer.value;
  return [{ role: "assistant", content: typeof said === "string" ? said : JSON.stringify(said) }];
}
