import { z } from "zod";
import type { Kind, SettingsOf } from "../../core/kinds.ts";
import type { Random } from "../../core/random.ts";
import type { LossAndWeights, SurrogateBatch } from "./objective.ts";

/** An update rule: its settings, its loss, and what the loss needs of a pass. One file each, one line in kinds.ts. */
export interface UpdateKind<Name extends string = string, Shape extends z.core.$ZodShape = z.core.$ZodShape>
  extends Kind<Name, Shape> {
  /** The loss of a token, which shows what bounds its step, for the tables of docs/algorithms. */
  readonly formula: string;
  readonly source: string;
  /** The unit of one row of the batch. At token level it makes no difference, and turns need no copying. Default "turns". */
  rows?(config: SettingsOf<Shape>): "turns" | "trajectories";
  /** True if the weights at ratio 1 depend on the log-probs. Default false: they are the advantages. */
  readonly weighsByLogprob?: boolean;
  /**
   * When the loss of a token with advantage 0 matters: as a member of statistics over all tokens, or by a pull to the old policy,
   * which is 0 at ratio 1. Default "never".
   */
  readonly readsEveryToken?: "never" | "off-policy" | "always";
  loss(batch: SurrogateBatch, config: SettingsOf<Shape>, random: Random): LossAndWeights;
}

export function defineUpdate<const Name extends string, Shape extends z.core.$ZodShape>(
  kind: UpdateKind<Name, Shape>,
): UpdateKind<Name, Shape> {
  return kind;
}

/** Widths of a clip range [1 − low, 1 + high]. */
export function clipRange(low: number, high: number) {
  return z.strictObject({ low: z.number().min(0).max(1).default(low), high: z.number().min(0).default(high) }).prefault({});
}
