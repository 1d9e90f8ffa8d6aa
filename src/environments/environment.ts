import type { AssistantMessage, Message, ToolCall } from "../core/messages.ts";
import type { BehaviourCount } from "../core/trajectory.ts";
import type { Tool } from "../tools/tool.ts";

export const splits = ["train", "validation", "test", "challenge"] as const;
export type Split = (typeof splits)[number];

/** What a policy is asked to do. The rest of a task is the environment's own. */
export interface Task {
  /** Unique in the environment. */
  readonly id: string;
  /** Groups tasks in reports: the kind of its request; of several requests, their kinds joined by "+". */
  readonly kind?: string;
}

/** A source of tasks. The same split and index always give the same task. */
export interface Environment<T extends Task = Task> {
  readonly name: string;
  /** Number of tasks of a split; Infinity where they are generated. 0 where there is no such split. */
  size(split: Split): number;
  task(split: Split, index: number): T | Promise<T>;
  /** A fresh episode. The seed decides all that is random in it; episodes share no state. */
  start(task: T, seed: number): Episode | Promise<Episode>;
  /**
   * True if an episode is made again by starting it with the same task and seed and repeating its calls and messages.
   * Its tools have to say the same of themselves (`Tool.replayable`), or that calling again does no harm (`Tool.idempotent`).
   * Not needed where episodes have `clone`.
   */
  readonly replayable?: boolean;
}

/**
 * One single-use conversation. The rollout calls tools for the model (checked against their schemas, with time-outs);
 * a message without tool calls goes to `reply`.
 */
export interface Episode {
  /** What the model sees first: usually a system message and the first request. */
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  /** How tools are called, where that is not the way of the model's chat template. */
  readonly protocol?: TextProtocol;
  /** The environment's answer to a message without tool calls: more messages, or the end. */
  reply(message: AssistantMessage): Reply | Promise<Reply>;
  /** Called once, at the end; not where the episode failed or was cancelled, whose reward is 0. */
  score(conversation: readonly Message[]): Score | Promise<Score>;
  /** An independent copy in the same state, where the environment can make one. */
  clone?(): Episode;
  close?(): void | Promise<void>;
}

/**
 * Tools called in plain text, inside of one assistant message: an action ends where a call does, the results are written behind it as
 * context, and the model goes on in the same message. The template is then rendered once, for the first messages, without any tools.
 */
export interface TextProtocol {
  /** An action ends once it contains any of these; they belong to it. */
  readonly stopStrings: readonly string[];
  /** Most tokens of the whole message, results included; without it the limits of actions and of the model are the only ones. */
  readonly maxResponseTokens?: number;
  /**
   * An action as a message, whose content is the whole text, and its calls; one that cannot be made has an error for the model to read.
   * @param conversation what was before it
   */
  read(text: string, conversation: readonly Message[]): ProtocolAction;
  /** What is written behind an action. @param answers of its calls, or of `reply` */
  write(answers: readonly Message[]): string;
}

export interface ProtocolAction {
  readonly message: AssistantMessage;
  readonly calls: readonly (ToolCall | { readonly error: string })[];
  /**
   * True if the response is not over although nothing is called: the model is asked again behind the message's content, which may be a
   * beginning of what it wrote. The rest, and an end of turn, are taken back.
   */
  readonly goesOn?: boolean;
}

/** All that the model and the tools wrote after the question, where a protocol makes one text of it. */
export function responseOf(conversation: readonly Message[], write: TextProtocol["write"]): string {
  return conversation
    .map((message) => (message.role === "assistant" ? message.content : message.role === "tool" ? write([message]) : ""))
    .join("");
}

export type Reply = { readonly done: true } | { readonly done: false; readonly messages: readonly Message[] };

export interface Score {
  readonly reward: number;
  /**
   * Named sub-scores, for metrics. Two names have a meaning: `success` is 1 where the episode solved its task, and `kind.NAME` is the share
   * of the task's requests of that kind (see `Task.kind`) that were fulfilled.
   */
  readonly scores?: Readonly<Record<string, number>>;
  /**
   * Behaviours that this episode called for, and whether each was done: "asks which Ana" where a name was ambiguous. Names read as what is
   * done. A behaviour that the episode did not call for is left out. Evaluations add the episodes up. Counts instead of true and false where one episode
   * calls for a behaviour several times.
   */
  readonly behaviours?: Readonly<Record<string, boolean | BehaviourCount>>;
}
