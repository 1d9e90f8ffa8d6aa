import type { ConversationReply, ConversationRequest } from "../chat/conversation.ts";
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../core/messages.ts";
import type { BehaviourCount, KeptAnswer, TokenId, ToolFailure } from "../core/trajectory.ts";
import type { Tool, ToolContext } from "../tools/tool.ts";
import type { TextProtocol } from "./protocol.ts";

/** The customary splits. An environment may have others. */
export const splits = ["train", "validation", "test", "challenge"] as const;
export type CustomarySplit = (typeof splits)[number];
export type Split = CustomarySplit | (string & {});

/** The names of an environment's splits, those without tasks included. */
export function splitsOf(environment: Pick<Environment, "splits">): readonly Split[] {
  return environment.splits ?? splits;
}

/** Returns the first split that has tasks, the preferred one if it does; undefined if there is none. */
export async function splitWithTasks(
  environment: Pick<Environment, "splits" | "size">,
  preferred?: Split,
): Promise<Split | undefined> {
  const names = splitsOf(environment);
  const ordered = preferred !== undefined && names.includes(preferred) ? [preferred, ...names] : names;
  for (const split of ordered) if ((await environment.size(split)) > 0) return split;
  return undefined;
}

/** The work that a policy is asked to do. The rest of a task is the environment's own. */
export interface Task {
  /** Unique in the environment. */
  readonly id: string;
  /** Groups tasks in reports: the kind of its request; of several requests, their kinds joined by "+". */
  readonly kind?: string;
  /** Number of the user's requests, for reports. Default: the kinds in `kind`. */
  readonly requestCount?: number;
  /**
   * Tasks of one scenario are variants of each other: intervals and tests then take the scenario as their unit, and reports have the share of
   * scenarios all of whose tasks succeed.
   */
  readonly scenario?: string;
}

/** Returns the names of a task that its trajectories keep. */
export function namesOf({ id, kind, scenario }: Task): { task: string; kind?: string; scenario?: string } {
  return { task: id, ...(kind === undefined ? {} : { kind }), ...(scenario === undefined ? {} : { scenario }) };
}

/** A source of tasks. The same split and index always give the same task. */
export interface Environment<T extends Task = Task> {
  readonly name: string;
  /** Names of its splits. Default: the customary four. A split of another name is an error before `size` is called. */
  readonly splits?: readonly Split[];
  /** Number of tasks of a split; Infinity if they are generated, 0 if there is no such split. May be called before `open`. */
  size(split: Split): number | Promise<number>;
  task(split: Split, index: number): T | Promise<T>;
  /** A fresh episode. The seed decides all that is random in it; episodes share no state. */
  start(task: T, seed: number): Episode | Promise<Episode>;
  /**
   * Plays an episode by itself and asks for actions in token ids, where another program holds the conversation. `start` is then not called.
   * Its episodes can be sampled and trained; they cannot branch. What it throws ends the episode.
   */
  play?(task: T, policy: TokenPolicy): Promise<Played>;
  /**
   * True if an episode is made again by starting it with the same task and seed and repeating its calls and messages.
   * Its tools have to say the same of themselves (`Tool.replayable`), or that calling again does no harm (`Tool.idempotent`).
   * Not needed where episodes have `clone`.
   */
  readonly replayable?: boolean;
  /** A script that solves the tasks: `retrograde-rl env check` measures with it. */
  readonly expert?: Expert<T>;
  /**
   * Names of the roles that its episodes have. Each has a conversation of its own, and its turns are credited by its own reward: the score named
   * `reward:ROLE`. Default: one role without a name, credited by the episode's reward.
   */
  readonly roles?: readonly string[];
  /** Names of sub-scores whose means an evaluation reports with intervals, beside success. */
  readonly metrics?: readonly string[];
  /**
   * A finished conversation that solves the task as it should be solved: the episode's first messages, then all others. Supervised
   * fine-tuning learns from it.
   */
  demonstrate?(task: T, seed: number): readonly Message[] | Promise<readonly Message[]>;
  /** True if its episodes give rewards turn by turn. A run whose algorithm sees the return alone then does not start. */
  readonly turnRewards?: boolean;
  /** Most episodes that are open at the same time, over all rollouts of this process. Default no limit but `rollout.concurrency`. */
  readonly concurrency?: number;
  /** Called once before the first task: connects, or starts servers. Its error ends the command. */
  open?(): void | Promise<void>;
  /** Called once at the end, after the last episode is closed, also after a failure. */
  close?(): void | Promise<void>;
  /** Returns its needs of this machine and whether they are met, for `retrograde-rl doctor`. Called without `open`. */
  diagnose?(): Promise<readonly Diagnosis[]>;
}

/** One thing that an environment needs. */
export interface Diagnosis {
  readonly name: string;
  readonly state: "good" | "doubtful" | "bad";
  readonly text: string;
  /** The remedy: a command where there is one. */
  readonly advice?: string;
}

/**
 * One single-use conversation. The rollout calls tools for the model (checked against their schemas, with time-outs), unless the episode
 * answers calls itself; a message without tool calls goes to `reply`.
 */
export interface Episode {
  /** The messages that the model sees first: usually a system message and the first request. */
  readonly messages: readonly Message[];
  /** The role that acts first, and reads `messages`, in an environment with roles. */
  readonly role?: string;
  /** The tools at the start; of a `clone`, those of its state. A `Step` may change them. */
  readonly tools: readonly Tool[];
  /** How tools are called, where that is not the way of the model's chat template. */
  readonly protocol?: TextProtocol;
  /** Limits of this episode, below those of the configuration. */
  readonly limits?: EpisodeLimits;
  /**
   * Answers a call instead of the tool of that name: neither name nor arguments have been checked, and `call.argumentsText` is what the
   * model wrote. Undefined leaves the call to the tool. What it throws ends the episode.
   */
  call?(call: ToolCall, context: ToolContext): CallAnswer | string | undefined | Promise<CallAnswer | string | undefined>;
  /** Called after the calls of an action are answered, unreadable and invalid ones included. */
  afterTools?(answers: readonly ToolMessage[], action: AssistantMessage): Step | undefined | Promise<Step | undefined>;
  /** The environment's answer to a message without tool calls: more messages, or the end. */
  reply(message: AssistantMessage): Reply | Promise<Reply>;
  /** Called once, at the end; not where the episode failed or was cancelled, whose reward is 0. Rewards of turns are added to it. */
  score(conversation: readonly Message[]): Score | Promise<Score>;
  /** An independent copy in the same state, where the environment can make one. */
  clone?(): Episode | Promise<Episode>;
  close?(): void | Promise<void>;
}

/** The policy that chooses actions for an environment that holds the conversation itself. */
export interface TokenPolicy {
  /** The id of the episode's trajectory. */
  readonly episode: string;
  /** Longest sequence, context and action together. */
  readonly maxLength: number;
  readonly vocabularySize: number;
  /** The largest length of one action, in tokens. */
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP: number;
  /** 0 is off. */
  readonly topK: number;
  /** Aborted when nobody waits for the episode any more. */
  readonly signal: AbortSignal;
  /** The text of ids, to compare tokenizers. */
  decode(tokens: readonly TokenId[]): string;
  /** Whether forms (JSON of a schema, a call of a given tool) are sampled under a mask. Otherwise an action that misses its form is drawn again. */
  readonly canMask: boolean;
  /** Tokens of a conversation's context. It is no turn. */
  count(request: ConversationRequest): number;
  /** Samples one action. Each is a turn of the trajectory. @throws Error beyond the limit of turns */
  sample(request: PolicyRequest): Promise<PolicyAction>;
  /**
   * Samples the next message of a conversation in the model's own chat template. Each is a turn of the trajectory. A conversation may extend,
   * fork or rewrite any other one of the episode, as those of agents, their sub-agents and compacted histories do. Messages that were sampled
   * keep their token ids.
   * @throws EpisodeStop beyond the limit of turns or of tokens; ModelError for what the chat template or a grammar refuses
   */
  converse(request: ConversationRequest): Promise<ConversationReply>;
  /** How the conversations of `converse` were asked for, up to now. */
  captured(): Captured;
}

/** How the program of an episode asked for its answers. */
export interface Captured {
  readonly counts: {
    /** Conversations that do not continue another, auxiliary ones apart. 1 for a plain agent. */
    readonly contexts: number;
    /** Requests that continue a message, or ask one thing, for a further time. */
    readonly branches: number;
    /** Conversations that begin with a part or a summary of an earlier one of the same system message and tools. */
    readonly compactions: number;
    /** Conversations of which no earlier one has the system message and tools. */
    readonly subagents: number;
    /** Single answers beside the agent's work, such as titles. */
    readonly auxiliary: number;
  };
  /** Indices of the actions that are auxiliary. */
  readonly auxiliary: readonly number[];
}

export interface PolicyRequest {
  readonly context: readonly TokenId[];
  /** At most the policy's own limit. */
  readonly maxTokens: number;
  readonly stopTokens: readonly TokenId[];
  readonly stopStrings?: readonly string[];
}

export interface PolicyAction {
  readonly tokens: readonly TokenId[];
  /** Under the distribution that was sampled. */
  readonly logprobs: readonly number[];
  readonly finish: "stop" | "length";
}

/** An episode that the environment played by itself. */
export interface Played {
  /** The conversation, for those who read it. */
  readonly messages: readonly Message[];
  readonly score: Score;
  /** The value that an agent's code returned, for the record. */
  readonly answer?: KeptAnswer;
  /** Something that went wrong and did not end the episode. It is kept as the trajectory's error. */
  readonly fault?: string;
  /** Indices of actions that are left out of the trajectory, and so of training. Default none. */
  readonly without?: readonly number[];
}

/** Numbers of assistant messages. */
export interface EpisodeLimits {
  /** The limit for the episode. */
  readonly turns?: number;
  /** Since the last message of a user. */
  readonly turnsPerRequest?: number;
}

export interface CallAnswer {
  /** The text that the model reads. */
  readonly content: string;
  /** False if the call was wrong: counted as an invalid call. Default true. */
  readonly valid?: boolean;
  /** Why the call has no result, for the metrics of failing tools. */
  readonly failure?: ToolFailure["kind"];
  /** Added to the reward of the turn. */
  readonly reward?: number;
  /** True ends the episode: further calls of the same action are not made. */
  readonly done?: boolean;
}

/** The environment's part of a turn. Everything may be left out: then the model continues. */
export interface Step {
  /** True ends the episode. */
  readonly done?: boolean;
  /** Messages behind the tools' answers. */
  readonly messages?: readonly Message[];
  /**
   * The role that acts next and reads `messages`, which open its conversation where it has not acted yet. Default: the role that acted. Its tools
   * are those that it had, at first the episode's.
   */
  readonly role?: string;
  /** The tools from now on, instead of those before. */
  readonly tools?: readonly Tool[];
  /** The reward of this turn. The return is the sum of the turns' rewards and of `score`. */
  readonly reward?: number;
}

/** The end, or at least one message. */
export type Reply = (Step & { readonly done: true }) | (Step & { readonly done: false; readonly messages: readonly Message[] });

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

/** A script that solves every task of an environment. */
export interface Expert<T extends Task = Task> {
  /** Plays a task to its end. */
  play(task: T): Performance;
}

/** An episode that a script played. */
export interface Performance {
  readonly messages: readonly Message[];
  readonly score: Score;
  /** Where tools are called in plain text. */
  readonly protocol?: TextProtocol;
}
