import type { z } from "zod";
import type { Kind, SettingsOf } from "../../core/kinds.ts";
import type { Random } from "../../core/random.ts";
import type { Turn } from "../../core/trajectory.ts";

/** An action before which a path may branch, and what came before it. */
export interface BranchPoint {
  /** ΔH_t = H_t − H_0. */
  readonly rise: number;
  /** l: the number of points directly before this one on its path at which the rule branched. */
  readonly consecutive: number;
}

/** An action of a rollout that has ended, before which the environment can be restored. */
export interface PlayedAction {
  /** Entropy in nats of the distribution that each token was drawn from, and its text. */
  readonly entropies: readonly number[];
  readonly texts: readonly string[];
}

/** A point inside of an action: its first tokens are kept, the rest is sampled again. */
export interface ForkPoint {
  readonly rollout: number;
  readonly action: number;
  /** From 0 to one less than the action has. */
  readonly kept: number;
}

interface RuleKind<Name extends string, Shape extends z.core.$ZodShape> extends Kind<Name, Shape> {
  /** The condition, in words, for the tables of docs/algorithms. */
  readonly formula: string;
  readonly source: string;
}

/** A rule that decides before each action after a tool result, while paths are played. */
export interface PlayingRuleKind<Name extends string = string, Shape extends z.core.$ZodShape = z.core.$ZodShape>
  extends RuleKind<Name, Shape> {
  /** @param random of this point alone */
  branches(point: BranchPoint, config: SettingsOf<Shape>, random: Random): boolean;
}

/** A rule that chooses among all points of the first rollouts, once these have ended. */
export interface ChoosingRuleKind<Name extends string = string, Shape extends z.core.$ZodShape = z.core.$ZodShape>
  extends RuleKind<Name, Shape> {
  /** @returns at most as many points as wanted; where there are fewer, the rest of the leaves are new rollouts */
  choose(rollouts: readonly (readonly PlayedAction[])[], points: number, config: SettingsOf<Shape>): readonly ForkPoint[];
}

/** A rule that says where paths branch. One file each, one line in rules.ts. */
export type BranchRuleKind<Name extends string = string, Shape extends z.core.$ZodShape = z.core.$ZodShape> =
  | PlayingRuleKind<Name, Shape>
  | ChoosingRuleKind<Name, Shape>;

export function defineBranchRule<const Name extends string, Shape extends z.core.$ZodShape>(
  kind: BranchRuleKind<Name, Shape>,
): BranchRuleKind<Name, Shape> {
  return kind;
}

/** Decides, once a first rollout has ended, how many begin at the root. One file each, one line in rules.ts. */
export interface FirstRolloutsKind<Name extends string = string, Shape extends z.core.$ZodShape = z.core.$ZodShape>
  extends Kind<Name, Shape> {
  /** The number, in words. */
  readonly formula: string;
  readonly source: string;
  /**
   * @param first turns of the first rollout, as recorded: H_t and ΔH_t after each tool result
   * @param leaves of the tree, at least 1
   * @returns from 1 to `leaves`, the first rollout included
   */
  count(first: readonly Pick<Turn, "branching">[], config: SettingsOf<Shape>, leaves: number): number;
}

export function defineFirstRollouts<const Name extends string, Shape extends z.core.$ZodShape>(
  kind: FirstRolloutsKind<Name, Shape>,
): FirstRolloutsKind<Name, Shape> {
  return kind;
}
