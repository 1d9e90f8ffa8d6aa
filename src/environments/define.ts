import type { Message } from "../core/messages.ts";
import { type Random, randomStream } from "../core/random.ts";
import type { Tool } from "../tools/tool.ts";
import { type Environment, responseOf, type Score, type Split, type Task, type TextProtocol } from "./environment.ts";

/** What every task of an own environment has: the request that the model reads. `kind` groups tasks in reports. */
export interface Request {
  readonly prompt: string;
  readonly kind?: string;
}

export interface EnvironmentDefinition<T extends Request> {
  readonly name: string;
  /** The system message. */
  readonly system?: string;
  /** A list for each split, or a function that makes up a task: then there is no end of them in any split. */
  readonly tasks: Partial<Record<Split, readonly T[]>> | ((random: Random) => T);
  /** A fresh episode. State that its tools change belongs in here, so that no two episodes share it. */
  start(task: T, random: Random): DefinedEpisode;
}

export interface DefinedEpisode {
  readonly tools: readonly Tool[];
  /** Where tools are called in plain text, inside of one message: `researchProtocol()` is ARPO's. */
  readonly protocol?: TextProtocol;
  reward(end: EpisodeEnd): number | Score;
}

export interface EpisodeEnd {
  /** The model's last message. */
  readonly answer: string;
  readonly conversation: readonly Message[];
  /** With a protocol, the whole text: what the model wrote, and the results between; else the same as `answer`. */
  readonly response: string;
}

type DefinedTask<T> = Task & { readonly request: T };

/**
 * An environment of one request an episode, which ends with the model's first message without a tool call.
 * Rollouts of it can branch if each of its tools is `replayable` or `idempotent`.
 */
export function defineEnvironment<T extends Request>({
  name,
  system,
  tasks,
  start,
}: EnvironmentDefinition<T>): Environment<DefinedTask<T>> {
  const taskAt = (split: Split, index: number): T =>
    typeof tasks === "function" ? tasks(randomStream(0, "tasks", split, index)) : (tasks[split] ?? [])[index];
  return {
    name,
    replayable: true,
    size: (split) => (typeof tasks === "function" ? Number.POSITIVE_INFINITY : (tasks[split]?.length ?? 0)),
    task: (split, index) => {
      const request = taskAt(split, index);
      return { id: `${split}/${index}`, kind: request.kind, request };
    },
    start: ({ request }, seed) => {
      const { tools, protocol, reward } = start(request, randomStream(seed, "episode"));
      const opening: Message[] = [{ role: "user", content: request.prompt }];
      return {
        messages: system === undefined ? opening : [{ role: "system", content: system }, ...opening],
        tools,
        protocol,
        reply: () => ({ done: true }),
        score: (conversation) => {
          const last = conversation.findLast((message) => message.role === "assistant");
          const answer = last?.content ?? "";
          const response = protocol === undefined ? answer : responseOf(conversation, protocol.write);
          const score = reward({ answer, conversation, response });
          return typeof score === "number" ? { reward: score } : score;
        },
      };
    },
  };
}
