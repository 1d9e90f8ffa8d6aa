import type { AssistantMessage, Message, ToolMessage } from "../../src/core/messages.ts";
import type { UserCodeLimits } from "../../src/core/user-code.ts";
import { boundedEpisode } from "../../src/environments/bounded.ts";
import type { Environment, Episode, Score, Task } from "../../src/environments/environment.ts";
import { whileEpisode } from "../../src/environments/lifetime.ts";
import { callTool } from "../../src/rollouts/call-tool.ts";
import type { Tool } from "../../src/tools/tool.ts";

/** The view that a scripted policy has before it acts. */
export interface View {
  readonly conversation: readonly Message[];
  readonly tools: readonly Tool[];
}

/** A policy by a script, for one episode. */
export type Script = (view: View) => AssistantMessage;

export const words = (content: string): AssistantMessage => ({ role: "assistant", content });

/** More than any task of the embedded worlds needs, where an episode has no limit of its own. */
const maxTurns = 60;

/**
 * Plays a task by a script, as a rollout plays it by a model.
 * @param limits of each of the environment's answers
 * @returns the environment's score; 0 where the script does not come to an end
 */
export async function playScript<T extends Task>(
  environment: Environment<T>,
  task: T,
  script: Script,
  limits: UserCodeLimits,
): Promise<Score> {
  return (await playThrough(environment, task, script, limits)).score;
}

/** Plays a task by a script, and returns the conversation too. */
export async function playThrough<T extends Task>(
  environment: Environment<T>,
  task: T,
  script: Script,
  limits: UserCodeLimits,
): Promise<{ readonly score: Score; readonly conversation: readonly Message[] }> {
  return whileEpisode(environment, task, 0, async (started) => {
    const episode = boundedEpisode(started, limits);
    const conversation = [...episode.messages];
    const most = Math.min(maxTurns, episode.limits?.turns ?? maxTurns);
    for (let turn = 0; turn < most; turn++) {
      const { message, answers, done } = await act(episode, conversation, script({ conversation, tools: episode.tools }));
      conversation.push(message, ...answers);
      if (done) return { score: await episode.score(conversation), conversation };
    }
    return { score: { reward: 0 }, conversation };
  });
}

interface Acted {
  readonly message: AssistantMessage;
  readonly answers: readonly Message[];
  readonly done: boolean;
}

async function act(episode: Episode, conversation: readonly Message[], written: AssistantMessage): Promise<Acted> {
  const read = episode.protocol?.actions.read(written.content, conversation);
  const message = read?.message ?? written;
  const calls = read?.calls ?? written.toolCalls ?? [];
  if (calls.length > 0) {
    const answers: ToolMessage[] = [];
    for (const call of calls) {
      const outcome = "error" in call ? { content: `Error: ${call.error}` } : await callTool(episode.tools, call);
      answers.push({ role: "tool", name: "error" in call ? "tool_call" : call.name, content: outcome.content });
    }
    return { message, answers, done: false };
  }
  const reply = await episode.reply(message);
  return { message, answers: reply.done ? [] : reply.messages, done: reply.done };
}
