import { EnvError } from "../../core/errors.ts";
import type { Message } from "../../core/messages.ts";
import { type Environment, type Episode, splits, type Task, type TextProtocol } from "../../environments/environment.ts";
import type { Tool } from "../../tools/tool.ts";

export type Ask = () => Promise<string | undefined>;
export type Show = (message: Message) => void;

/** The task of a seed, of the first split that has any where there is no test. @throws EnvError if there is no task at all */
export async function drawTask(environment: Environment, seed: number): Promise<Task> {
  const split = (["test", ...splits] as const).find((one) => environment.size(one) > 0);
  if (split !== undefined) return environment.task(split, seed % environment.size(split));
  throw new EnvError(`${environment.name} tasks`, 0, { expected: "a split with tasks" });
}

/** The same world and tools, but another user, who goes on asking in one conversation; whatever happens is shown. */
export function withPerson(environment: Environment, first: string, ask: Ask, show: Show): Environment {
  const shown = (tool: Tool): Tool => ({
    ...tool,
    execute: async (args, context) => {
      show({ role: "assistant", content: "", toolCalls: [{ name: tool.name, arguments: args }] });
      const result = await tool.execute(args, context);
      show({ role: "tool", name: tool.name, content: typeof result === "string" ? result : JSON.stringify(result) });
      return result;
    },
  });
  return {
    ...environment,
    start: async (task, seed): Promise<Episode> => {
      const { messages, tools } = await environment.start(task, seed);
      return {
        messages: askedInstead(messages, first),
        tools: tools.map(shown),
        reply: async (message) => {
          show(message);
          const content = await ask();
          return content === undefined ? { done: true } : { done: false, messages: [{ role: "user", content }] };
        },
        score: () => ({ reward: 0 }),
      };
    },
  };
}

/**
 * A world whose model answers in one growing text: one question and its response, shown as it grows.
 * @param question a person's; without it the task's own, which is scored
 */
export function withQuestion(environment: Environment, question: string | undefined, show: Show): Environment {
  return {
    ...environment,
    start: async (task, seed): Promise<Episode> => {
      const episode = await environment.start(task, seed);
      return {
        messages: question === undefined ? episode.messages : askedInstead(episode.messages, question),
        tools: episode.tools,
        protocol: episode.protocol === undefined ? undefined : watched(episode.protocol, show),
        reply: (message) => episode.reply(message),
        score: (conversation) => (question === undefined ? episode.score(conversation) : { reward: 0 }),
        close: () => episode.close?.(),
      };
    },
  };
}

/** Actions are shown when they are read, answers when they are written behind them. */
function watched(protocol: TextProtocol, show: Show): TextProtocol {
  return {
    stopStrings: protocol.stopStrings,
    maxResponseTokens: protocol.maxResponseTokens,
    read: (text, conversation) => {
      show({ role: "assistant", content: text.trim() });
      return protocol.read(text, conversation);
    },
    write: (answers) => {
      for (const answer of answers) show(answer);
      return protocol.write(answers);
    },
  };
}

function askedInstead(messages: readonly Message[], question: string): Message[] {
  return [...messages.filter(({ role }) => role === "system"), { role: "user", content: question }];
}
