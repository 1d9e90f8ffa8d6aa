import type { z } from "zod";
import type { Kind, SettingsOf } from "../../../core/kinds.ts";

/** A draw of training tasks. */
export interface TaskDraw {
  /** Tasks of the split. Infinity where it has no end. */
  readonly size: number;
  /** Training tasks that the run has taken. */
  readonly position: number;
  readonly count: number;
  readonly seed: number;
  /** The mean reward of each task's newest group, by its index. Empty for a sampler that needs none. */
  readonly outcomes: ReadonlyMap<number, number>;
}

/** A way to choose training tasks. One file each, one line in kinds.ts. */
export interface TaskSamplerKind<Name extends string = string, Shape extends z.core.$ZodShape = z.core.$ZodShape>
  extends Kind<Name, Shape> {
  /** The choice, in words, for the tables of docs/algorithms. */
  readonly formula: string;
  readonly source: string;
  /** True if it draws by recorded outcomes. It then needs a split with an end, and no steps that are sampled ahead. */
  readonly needsOutcomes: boolean;
  /** Returns the indices of the tasks: a function of the draw and the seed alone. */
  indices(draw: TaskDraw, config: SettingsOf<Shape>): number[];
}

export function defineTaskSampler<const Name extends string, Shape extends z.core.$ZodShape>(
  kind: TaskSamplerKind<Name, Shape>,
): TaskSamplerKind<Name, Shape> {
  return kind;
}
