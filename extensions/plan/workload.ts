import { z } from "zod";

/** The work of a training step. Lengths are means, in tokens. */
export const workloadSchema = z.strictObject({
  algorithm: z.enum(["seeupo", "grpo"]).default("seeupo"),
  /** A Tinker server, where each row is computed by itself; or the local engine, which computes what rows share once and waits for nobody. */
  engine: z.enum(["server", "local"]).default("server"),
  /** Tasks of a step, and rollouts of each. */
  tasks: z.int().min(1).default(32),
  group: z.int().min(1).default(8),
  /** The turns of a trajectory. */
  turns: z.int().min(1).default(10),
  /** System message, tools and the task. */
  prompt: z.int().min(1).default(3000),
  /** The tokens that the model writes in a turn. */
  action: z.int().min(1).default(400),
  /** The tokens of the environment's answer. */
  observation: z.int().min(0).default(300),
  /** Tokens of an action that later contexts do not have: thoughts that the chat template drops. */
  dropped: z.int().min(0).default(0),
  /** Sampled tokens of the longest trajectory, relative to the mean. Unknown if left out: 1.2 to 2. */
  longest: z.number().min(1).optional(),
  /** The seconds of a tool call. */
  toolSeconds: z.number().min(0).default(0.5),
  /** β > 0 takes a pass of the reference. */
  kl: z.boolean().default(false),
  /** Optimiser steps that a batch is dealt into; SeeUPO takes one for each turn. */
  miniBatches: z.int().min(1).default(1),
  /** The rank of the LoRA adapter; 0 trains all weights. */
  rank: z.int().min(0).default(0),
  /** Whether weights and optimiser wait in the machine's memory while the model samples. */
  offload: z.boolean().default(false),
  /** Whether forward halves are computed again in backward passes, to save memory. */
  recompute: z.boolean().default(true),
  /** Tokens of a micro-batch on one GPU. */
  microBatch: z.int().min(1).default(16_384),
  /** GPUs that hold one copy of the sampler. */
  tensorParallel: z.int().min(1).default(1),
});
export type Workload = z.output<typeof workloadSchema>;

/** Tokens through the halves of a pass, of all trajectories of a step, and how far each looks back on average. */
export interface Passes {
  readonly forward: number;
  /** Forward and backward. */
  readonly backward: number;
  /** Mean number of tokens that a token looks at. */
  readonly attended: number;
}

export function trajectories({ tasks, group }: Workload): number {
  return tasks * group;
}

/** Tokens of the context before a turn, from 1. */
export function contextBefore({ prompt, action, observation, dropped }: Workload, turn: number): number {
  return prompt + (turn - 1) * (action - dropped + observation);
}

/** True if later contexts begin with earlier ones and their actions, so that a trajectory is one sequence. */
export function extendsItself({ dropped, turns }: Workload): boolean {
  return dropped === 0 || turns === 1;
}

/** Tokens of one trajectory where each turn is a sequence of its own. */
function tokensByTurns(work: Workload): number {
  return turnsOf(work).reduce((sum, turn) => sum + contextBefore(work, turn) + work.action, 0);
}

/** Tokens of one trajectory as it travels: once if its contexts extend each other, turn by turn otherwise. */
export function tokensOnce(work: Workload): number {
  return extendsItself(work) ? contextBefore(work, work.turns) + work.action : tokensByTurns(work);
}

/** The same for a task's whole group where what is shared is computed once: the prompt, and what turns have in common. */
export function tokensShared(work: Workload): number {
  const { group, prompt, turns, action, observation, dropped } = work;
  // Where thoughts are dropped, a turn's thoughts hang beside the stem that later turns share.
  const stem = (turns - 1) * (action - dropped + observation) + (action - dropped);
  return prompt + group * (stem + (dropped > 0 ? turns * action : 0));
}

/**
 * Passes of one step in which each trajectory or turn is a row of its own.
 *
 *   GRPO     one mini-batch and no KL: weights are known, so backward alone; else a forward pass decides them
 *   SeeUPO   update of turn t: forward over turn t (its old log-probs) and over turn t + 1 (the ratio that M carries), backward over turn t
 *
 * The local engine decides between the halves of a backward pass, so the forward passes that decide are not there.
 */
export function unsharedPasses(work: Workload): Passes {
  const rows = trajectories(work);
  const pauses = work.engine === "local";
  if (work.algorithm === "grpo") {
    const once = rows * tokensOnce(work);
    const decided = !pauses && (work.miniBatches > 1 || work.kl);
    return { forward: (decided ? once : 0) + (work.kl ? once : 0), backward: once, attended: lookBack(work) };
  }
  const turnRow = (turn: number) => rows * (contextBefore(work, turn) + work.action);
  const forward = turnsOf(work).reduce(
    (sum, turn) => sum + (pauses ? 0 : turnRow(turn)) + (turn < work.turns ? turnRow(turn + 1) : 0),
    0,
  );
  const backward = turnsOf(work).reduce((sum, turn) => sum + turnRow(turn), 0);
  return { forward: forward + (work.kl ? rows * tokensOnce(work) : 0), backward, attended: lookBack(work) };
}

/** The passes of the engine that was chosen. */
export function passesOf(work: Workload): Passes {
  return work.engine === "local" ? sharedPasses(work) : unsharedPasses(work);
}

/** SeeUPO as it is written down: three forward passes and a backward one over whole trajectories, for every turn. */
export function referencePasses(work: Workload): Passes {
  const whole = trajectories(work) * tokensOnce(work) * work.turns;
  return { forward: 3 * whole, backward: whole, attended: lookBack(work) };
}

/** The same passes where what rows share is computed once. */
export function sharedPasses(work: Workload): Passes {
  const { forward, backward, attended } = unsharedPasses(work);
  const share = sharedShare(work);
  return { forward: forward * share, backward: backward * share, attended };
}

/** Optimiser steps of a training step. */
export function optimiserSteps({ algorithm, turns, miniBatches }: Workload): number {
  return algorithm === "seeupo" ? turns : miniBatches;
}

/** Waits for a server in a row while the model is updated. */
export function serverWaits(work: Workload): number {
  if (work.engine === "local") return 0;
  const reference = work.kl ? 1 : 0;
  // A step is sent when its passes are done. Weights that are known take no forward pass; those of the first turn update are.
  const always = reference + optimiserSteps(work);
  if (work.algorithm === "seeupo") return always + 2 * work.turns - (work.kl ? 0 : 1);
  if (work.miniBatches === 1) return always + (work.kl ? 2 : 1);
  return always + 1 + 2 * work.miniBatches;
}

/** Tokens with sharing for each without. SeeUPO's turn updates share prompts within groups and nothing between turns. */
function sharedShare(work: Workload): number {
  const { group, turns, prompt } = work;
  if (work.algorithm === "grpo") return tokensShared(work) / (group * tokensOnce(work));
  const rows = turnsOf(work).reduce((sum, turn) => sum + contextBefore(work, turn) + work.action, 0);
  return (group * rows - (group - 1) * turns * prompt) / (group * rows);
}

function lookBack(work: Workload): number {
  return (contextBefore(work, work.turns) + work.action) / 2;
}

function turnsOf({ turns }: Workload): number[] {
  return Array.from({ length: turns }, (_, i) => i + 1);
}
