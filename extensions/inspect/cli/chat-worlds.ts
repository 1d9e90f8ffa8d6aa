import { EnvError } from "../../../src/core/errors.ts";
import type { Message, ToolCall } from "../../../src/core/messages.ts";
import {
  type CallAnswer,
  type Environment,
  type Episode,
  splitWithTasks,
  type Task,
} from "../../../src/environments/environment.ts";
import type { Tool } from "../../../src/tools/tool.ts";

export type Ask = () => Promise<string | undefined>;
export type Show = (message: Message) => void;

/** The task of a seed, of the first split that has any if there is no test. @throws EnvError if there is no task at all */
export async function drawTask(environment: Environment, seed: number): Promise<Task> {
  const split = await splitWithTasks(environment, "test");
  if (split !== undefined) {
    return environment.task(split, seed % (await environment.size(split)));
  }
  throw new EnvError(`${environment.name} tasks`, 0, { expected: "a split with tasks" });
}

/** The same world and tools, but another user, who continues to ask in one conversation; everything that happens is shown. */
export function withPerson(environment: Environment, first: string, ask: Ask, show: Show): Environment {
  return withEpisodes(environment, (episode) => ({
    messages: askedInstead(episode.messages, first),
    tools: episode.tools.map((tool) => shownTool(tool, show)),
    ...(episode.protocol === undefined ? {} : { protocol: episode.protocol }),
    ...(episode.call === undefined ? {} : { call: (call, context) => shownCall(episode, call, context, show) }),
    ...(episode.afterTools === undefined ? {} : { afterTools: (answers, action) => episode.afterTools?.(answers, action) }),
    reply: async (message) => {
      show(message);
      const content = await ask();
      return content === undefined ? { done: true } : { done: false, messages: [{ role: "user", content }] };
    },
    score: () => ({ reward: 0 }),
    close: () => episode.close?.(),
  }));
}

/** The environment with other episodes. It may be an instance of a class, so nothing is spread. */
function withEpisodes(environment: Environment, change: (episode: Episode) => Episode): Environment {
  return {
    name: environment.name,
    size: (split) => environment.size(split),
    task: (split, index) => environment.task(split, index),
    start: async (task, seed) => change(await environment.start(task, seed)),
  };
}

function shownTool(tool: Tool, show: Show): Tool {
  return {
    ...tool,
    execute: async (args, context) => {
      show({ role: "assistant", content: "", toolCalls: [{ name: tool.name, arguments: args }] });
      const result = await tool.execute(args, context);
      show({ role: "tool", name: tool.name, content: typeof result === "string" ? result : JSON.stringify(result) });
      return result;
    },
  };
}

async function shownCall(
  episode: Episode,
  call: ToolCall,
  context: Parameters<NonNullable<Episode["call"]>>[1],
  show: Show,
): Promise<CallAnswer | string | undefined> {
  const answer = await episode.call?.(call, context);
  if (answer === undefined) return undefined; // the tool of that name shows itself
  show({ role: "assistant", content: "", toolCalls: [call] });
  show({ role: "tool", name: call.name, content: typeof answer === "string" ? answer : answer.content });
  return answer;
}

function askedInstead(messages: readonly Message[], question: string): Message[] {
  return [...messages.filter(({ role }) => role === "system"), { role: "user", content: question }];
}
