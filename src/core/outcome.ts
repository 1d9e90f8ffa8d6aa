import type { StopReason, Trajectory } from "./trajectory.ts";

/**
 * The result of an attempt. An error of a server, an engine, the network, the environment or the harness leaves it without a score: such an
 * attempt is no 0 and no half of a pair. What the agent did wrong by itself has the score 0.
 */
export type Outcome =
  | {
      readonly kind: "score";
      readonly reward: number;
      readonly success: boolean;
      /** Why the agent failed, where it raised an error of its own. */
      readonly failure?: string;
    }
  | { readonly kind: "error"; readonly error: string };

/** Sums of weights such as 0.7 + 0.2 + 0.1 miss 1 by less than this in binary. */
const rounding = 1e-9;

/** True for a score that means success: 1 or more, up to rounding. */
export function reachesOne(score: number): boolean {
  return score >= 1 - rounding;
}

/** True if an episode succeeded by the environment's own word: a score named "success", else its own reward of at least 1, not a composed one. */
export function succeeded({ scores, reward }: Pick<Trajectory, "scores" | "reward">): boolean {
  return reachesOne(scores.success ?? scores["reward:environment"] ?? reward);
}

/** Ends that leave an episode without a score. */
export const unscoredEnds: ReadonlySet<StopReason> = new Set<StopReason>([
  "environment-error",
  "environment-timeout",
  "invalid-reward",
  "actor-error",
  "cancelled",
]);

type Ended = Pick<Trajectory, "scores" | "reward" | "stopReason" | "error">;

/** Reads the outcome of an episode. A request that the model's endpoint refused is an error, also where the agent went on without its answer. */
export function outcomeOf({ scores, reward, stopReason, error }: Ended): Outcome {
  if (unscoredEnds.has(stopReason) || (stopReason === "done" && error !== undefined))
    return { kind: "error", error: error === undefined ? stopReason : `${stopReason}, ${error}` };
  const failure = stopReason === "agent-error" && error !== undefined ? { failure: error } : {};
  return { kind: "score", reward, success: succeeded({ scores, reward }), ...failure };
}

/** True for an episode with a score. */
export function isScored(trajectory: Ended): boolean {
  return outcomeOf(trajectory).kind === "score";
}

/**
 * Returns true for an episode that says nothing of the model: it has no score, or its agent failed before the model had answered. An error that an
 * agent raises at an answer, such as one that is no JSON, is that answer's.
 */
export function isBroken(trajectory: Ended & { readonly turns: readonly unknown[] }): boolean {
  return !isScored(trajectory) || (trajectory.stopReason === "agent-error" && trajectory.turns.length === 0);
}

/** The number of attempts, and of those among them that ended by an error and have no score. */
export interface AttemptCount {
  readonly attempts: number;
  readonly errors: number;
}

/** Share of attempts without a score above which two measurements are not compared: what is missing may be what is hard. */
const largestShare = 0.1;

/**
 * Says why two measurements give no verdict: too many attempts of one have no score.
 * @param names of the two
 * @returns undefined where they give one
 */
export function verdictWithheld(counts: readonly AttemptCount[], names: readonly string[]): string | undefined {
  const broken = counts.flatMap(({ attempts, errors }, i) =>
    errors > largestShare * attempts ? [`${errors} of ${attempts} attempts of ${names[i]} ended by an error`] : [],
  );
  return broken.length === 0 ? undefined : `no verdict: ${broken.join(", and ")}, more than a tenth`;
}

/** Names the attempts of a comparison that are no pairs. @returns undefined where there are none */
export function errorsLine(counts: readonly AttemptCount[], names: readonly string[]): string | undefined {
  const named = counts.flatMap(({ attempts, errors }, i) =>
    errors === 0 ? [] : [`${errors} of ${attempts} attempts of ${names[i]} ended by an error`],
  );
  return named.length === 0 ? undefined : `${named.join(", ")}: no pairs`;
}
