import type { Size } from "./problem.ts";

/** The data that a person needs to redo one update by hand. */
export interface Example {
  readonly size: Size;
  /** contexts × leaves; deterministic. */
  readonly rewards: readonly number[];
  /** rows × vocabulary. */
  readonly policy: readonly number[];
  /** The turns, from 0, that are updated together; in their order. */
  readonly turnUpdates: readonly (readonly number[])[];
  /** The sampled leaves, group after group. */
  readonly group: readonly number[] | undefined;
}

/** An example with its numbers. */
export interface Worked extends Example {
  readonly kind: "drop" | "stall";
  readonly before: number;
  readonly after: number;
  readonly best: number;
  readonly policyAfter: readonly number[];
  /** Updates between the two policies: one for a drop. */
  readonly updates: number;
  /** Every trajectory of the batch: π in exact batches, 1/(contexts · G) in sampled ones. */
  readonly trajectories: readonly {
    readonly context: number;
    readonly leaf: number;
    readonly weight: number;
    readonly reward: number;
    readonly advantages: readonly number[];
  }[];
}
