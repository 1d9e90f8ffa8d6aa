import type { TokenId, Tokens } from "./context.ts";
import type { Message } from "./messages.ts";

export type { TokenId };

/** A token of an action, as it is drawn. */
export interface DrawnToken {
  readonly token: TokenId;
  /** In nats, under the distribution that was sampled. */
  readonly logprob: number;
  /** The requested candidates, most likely first. */
  readonly top?: { readonly tokens: readonly TokenId[]; readonly logprobs: readonly number[] };
}
/** Unique within a run. */
export type TrajectoryId = string;

/**
 * The unit that is trained: an action in its context, id for id as it was sampled.
 * Multi-turn, branched and rewritten histories are all lists of these.
 */
export interface ActionInContext {
  readonly trajectory: TrajectoryId;
  /** Index of the turn in its trajectory, from 0. */
  readonly turn: number;
  /** The tokens that the model saw, never trained on. A `Context` where turns share histories; an array does for a single one. */
  readonly context: Tokens;
  /** The tokens that the model wrote, the end-of-turn token included. Never empty. */
  readonly action: readonly TokenId[];
}

/** Returns a text that names a turn in maps. */
export function turnKey({ trajectory, turn }: Pick<ActionInContext, "trajectory" | "turn">): string {
  return `${trajectory}/${turn}`;
}

/** One assistant message, what its sampler recorded, and what the environment answered. */
export interface Turn extends ActionInContext {
  /** The role that acted, in an environment with roles. */
  readonly role?: string;
  /** Natural logs of the probabilities under the distribution that was sampled, one per action token. */
  readonly samplerLogprobs: readonly number[];
  /** Entropy in nats of the distribution that each action token was drawn from. */
  readonly entropies: readonly number[];
  /**
   * Indices of action tokens whose distribution a mask changed. The policy that is trained has no mask, so these tokens have no weight in training.
   * Absent if there are none.
   */
  readonly masked?: readonly number[];
  /** How many optimiser steps the sampling weights had seen. */
  readonly weightVersion: number;
  /** True if the token limit cut the action off: it then lacks its end-of-turn token. */
  readonly truncated: boolean;
  /** True if the context is not the previous context, action and answer continued: the template rewrote history. */
  readonly rewritten: boolean;
  readonly invalidToolCalls: number;
  readonly toolCalls: number;
  /** Calls of this turn that gave no whole result. Absent if there were none. */
  readonly toolFailures?: readonly ToolFailure[];
  /** Tokens as a server counted them, of an action that was not sampled here: it has no ids then, and cannot be trained. */
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number };
  /** The environment's reward for this turn; absent if it gave none. */
  readonly reward?: number;
  /** The decision about branching here, where that was a question: see rollouts/branching. */
  readonly branching?: BranchDecision;
}

export const toolFailureKinds = ["error", "timeout", "invalid", "lost"] as const;

/**
 * A tool call without a whole result: the tool raised an error, gave no answer in time, refused the arguments, or returned something of which
 * JSON, and so the model, shows nothing.
 */
export interface ToolFailure {
  readonly tool: string;
  readonly kind: (typeof toolFailureKinds)[number];
  /** With "lost": the part that is not shown. */
  readonly lost?: string;
}

/** A turn after a tool result, in a rollout that may branch (ARPO, arXiv:2507.19849, §3.1). */
export interface BranchDecision {
  /** H_t, of the first tokens of this turn's action, over log V. */
  readonly entropy: number;
  /** ΔH_t = H_t − H_0, H_0 that of the trajectory's first action. */
  readonly rise: number;
  /** The rule's answer. */
  readonly branch: boolean;
  /** Other trajectories that were forked here, before this turn's action. 0 where no leaves were left. */
  readonly forks: number;
}

/** Why an episode ended. The first three are ends that an environment means; the others are failures, kept as data. */
export const stopReasons = [
  "done", // the environment said so
  "max-turns", // the limit of assistant turns
  "max-tokens", // an action or the context reached its token limit
  "environment-error", // the environment threw
  "environment-timeout", // the environment did not answer in time
  "invalid-reward", // the reward was not a finite number
  "actor-error", // the server that acts refused the conversation
  "agent-error", // the agent raised an error of its own
  "cancelled", // the run was interrupted
] as const;
export type StopReason = (typeof stopReasons)[number];

export interface BehaviourCount {
  /** Times that it was done, at most `called`. */
  readonly done: number;
  /** Times that the episode called for it. */
  readonly called: number;
}

/** The value that an agent's code returned, as JSON; or why it is not kept. */
export type KeptAnswer = { readonly value?: unknown } | { readonly left: string };

/** One whole episode. */
export interface Trajectory {
  readonly id: TrajectoryId;
  /** Rollouts of the same task in the same step share a group. */
  readonly group: string;
  readonly task: string;
  readonly kind?: string;
  /** The task's scenario, where its environment names one. */
  readonly scenario?: string;
  readonly turns: readonly Turn[];
  /** The return R of the whole trajectory, the rewards of its turns included. 0 where the episode failed. */
  readonly reward: number;
  /** Named sub-scores, as the environment gave them. */
  readonly scores: Readonly<Record<string, number>>;
  /** The number of times that each behaviour, by its name, was called for in the episode, and was done. */
  readonly behaviours?: Readonly<Record<string, BehaviourCount>>;
  readonly stopReason: StopReason;
  /** The conversation, for reading. What is trained are the ids in `turns`. */
  readonly messages: readonly Message[];
  /** The value that the agent's code returned, for rewards that read it. Absent where no code of an agent's answers. */
  readonly answer?: KeptAnswer;
  /**
   * Where this episode was forked from another of its group. Its turns before `turn` are that one's, id for id, and are in `turns`
   * of both; absent for a rollout from the task's start.
   */
  readonly branch?: {
    readonly from: TrajectoryId;
    readonly turn: number;
    /** The first tokens of that turn's action that are the other one's too. Absent where the fork is before the action. */
    readonly kept?: number;
    /** How the environment's state came over: copied, or made again by repeating every call. */
    readonly by?: "clone" | "replay";
  };
  /** The error, where something went wrong. */
  readonly error?: string;
}

/** The name of the score that is a role's return, and that its turns are credited by. */
export function roleScore(role: string): string {
  return `reward:${role}`;
}

/** Tokens of an action, as they were sampled here or as a server counted them. 0 where a server did not. */
export function sampledTokens({ action, usage }: Pick<Turn, "action" | "usage">): number {
  return usage?.completionTokens ?? action.length;
}

/** The turn that wrote each message. Assistant messages are given to turns from the last one back: examples in a prompt belong to none. */
export function turnsOfMessages({ messages, turns }: Pick<Trajectory, "messages" | "turns">): (Turn | undefined)[] {
  const written = messages.filter(({ role }) => role === "assistant").length;
  let next = written < turns.length ? Number.NaN : turns.length - written;
  return messages.map(({ role }) => (role === "assistant" ? turns[next++] : undefined));
}

/** The rollouts of one task. */
export interface Group {
  readonly id: string;
  readonly trajectories: readonly Trajectory[];
}
