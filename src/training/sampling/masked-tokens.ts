import type { Decide, Logprobs, Policy, Weights } from "../../core/policy.ts";
import { present } from "../../core/present.ts";
import { type ActionInContext, type Group, type Turn, turnKey } from "../../core/trajectory.ts";

/**
 * A policy under which tokens that a mask decided are constants. An agent that asks for JSON of a schema, or for a given tool, is sampled
 * under a mask (`Turn.masked`). The trained policy has none, so its log-probs of these tokens are of another distribution: they are the recorded
 * ones here whatever the weights, so that every ratio of them is 1, and their weights are 0.
 * @param groups all that were sampled for this step
 */
export function withoutMaskedTokens(policy: Policy, groups: readonly Group[]): Policy {
  const turns = groups.flatMap(({ trajectories }) => trajectories.flatMap((trajectory) => trajectory.turns));
  const masked = new Map(turns.filter((turn) => turn.masked !== undefined).map((turn) => [turnKey(turn), turn]));
  if (masked.size === 0) return policy;
  const constant = (samples: readonly ActionInContext[], rows: Logprobs) =>
    samples.map((sample, i) => replaced(rows[i], masked.get(turnKey(sample)), (turn, t) => turn.samplerLogprobs[t]));
  const unweighted = (samples: readonly ActionInContext[], weights: Weights) =>
    samples.map((sample, i) => replaced(weights[i], masked.get(turnKey(sample)), () => 0));
  const { passAndStep } = policy;
  return {
    ...policy,
    logprobs: async (samples) => constant(samples, await policy.logprobs(samples)),
    referenceLogprobs: async (samples) => constant(samples, await policy.referenceLogprobs(samples)),
    forwardBackward: async (samples, decide, entropyWeights) => {
      const decided: Decide | Weights =
        typeof decide === "function"
          ? (rows) => unweighted(samples, decide(constant(samples, rows)))
          : unweighted(samples, decide);
      const rows = await policy.forwardBackward(samples, decided, entropyWeights && unweighted(samples, entropyWeights));
      return constant(samples, rows);
    },
    passAndStep:
      passAndStep &&
      (async (samples, weights) => {
        const { logprobs, report } = await passAndStep(samples, unweighted(samples, weights));
        return { logprobs: constant(samples, logprobs), report };
      }),
  };
}

/** The log-probs of turns, with the recorded ones of tokens that a mask decided. */
export function withRecordedMasked(turns: readonly Turn[], rows: Logprobs): Logprobs {
  return turns.map((turn, i) => replaced(rows[i], turn, (_, t) => turn.samplerLogprobs[t]));
}

function replaced(
  given: readonly number[] | undefined,
  turn: Turn | undefined,
  by: (turn: Turn, t: number) => number | undefined,
): readonly number[] {
  const row = present(given, "the numbers of a turn");
  if (turn?.masked === undefined) return row;
  const changed = [...row];
  for (const t of turn.masked) changed[t] = Number(by(turn, t));
  return changed;
}
