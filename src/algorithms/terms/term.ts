import type { z } from "zod";
import type { Kind, SettingsOf } from "../../core/kinds.ts";
import type { Logprobs } from "../../core/policy.ts";
import type { ActionInContext } from "../../core/trajectory.ts";
import type { Glossary } from "../metrics.ts";
import type { LossAndWeights } from "../objectives/objective.ts";
import type { Episode } from "../step/episodes.ts";

/**
 * A term that the loss has beside the update rule's, on rows of its own: tokens that the policy did not write. One file each, one line in
 * kinds.ts.
 */
export interface TermKind<
  Name extends string = string,
  Shape extends z.core.$ZodShape = z.core.$ZodShape,
  Measured extends string = string,
> extends Kind<Name, Shape> {
  /** The loss, in words, for the tables of docs/algorithms. */
  readonly formula: string;
  readonly source: string;
  /** The metrics that it alone reports. */
  readonly metrics: Glossary<Measured>;
  /** Returns the rows that are added to the pass of a mini-batch. Their `action` is what the loss is of. */
  rows(episodes: readonly Episode[], config: SettingsOf<Shape>): ActionInContext[];
  /** The loss of these rows. Its weights may not depend on the log-probs. */
  loss(logprobs: Logprobs, config: SettingsOf<Shape>): LossAndWeights;
}

export function defineTerm<const Name extends string, Shape extends z.core.$ZodShape, const Measured extends string>(
  kind: TermKind<Name, Shape, Measured>,
): TermKind<Name, Shape, Measured> {
  return kind;
}
