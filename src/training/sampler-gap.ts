import { EngineError } from "../core/errors.ts";
import type { Logprobs, Policy } from "../core/policy.ts";
import type { ActionInContext, Turn } from "../core/trajectory.ts";

/** |sampler − trainer| log-probs in nats, over the action tokens that could be compared; null where there were none. */
export type SamplerGap = { readonly samplerGapMean: number | null; readonly samplerGapMax: number | null };

/**
 * A policy that is watched for one training step. Until the first optimiser step its log-probs are those of the weights that sampled,
 * so the sampler's records are held against them: this costs no pass of its own.
 * @param turns all that were sampled for this step
 * @param limit largest gap in nats that is let pass
 * @throws EngineError (from the policy's methods) on a gap above the limit, before any parameter is moved
 */
export function measureSamplerGap(
  policy: Policy,
  turns: readonly Turn[],
  limit: number,
): { readonly policy: Policy; gap(): SamplerGap } {
  const samplerLogprobs = new Map(turns.map((turn) => [keyOf(turn), turn.samplerLogprobs]));
  const tally = new GapTally(limit);
  let moved = false;

  const compared = (samples: readonly ActionInContext[], logprobs: Logprobs): Logprobs => {
    if (moved) return logprobs;
    for (const [i, sample] of samples.entries()) {
      tally.add(samplerLogprobs.get(keyOf(sample)) ?? [], logprobs[i]);
      samplerLogprobs.delete(keyOf(sample));
    }
    tally.check();
    return logprobs;
  };

  return {
    policy: {
      logprobs: async (samples) => compared(samples, await policy.logprobs(samples)),
      referenceLogprobs: (samples) => policy.referenceLogprobs(samples),
      forwardBackward: async (samples, decide, entropyWeights) =>
        typeof decide === "function"
          ? policy.forwardBackward(samples, (logprobs) => decide(compared(samples, logprobs)), entropyWeights)
          : compared(samples, await policy.forwardBackward(samples, decide, entropyWeights)),
      step: (scale) => {
        moved = true;
        return policy.step(scale);
      },
      critic: policy.critic,
    },
    gap: () => tally.gap(),
  };
}

/**
 * The same for turns that were sampled by weights which the trainer no longer has: these turns, scored under those weights.
 * @param logprobs of the turns' action tokens
 * @throws EngineError on a gap above the limit
 */
export function samplerGap(turns: readonly Turn[], logprobs: Logprobs, limit: number): SamplerGap {
  const tally = new GapTally(limit);
  for (const [i, { samplerLogprobs }] of turns.entries()) tally.add(samplerLogprobs, logprobs[i]);
  tally.check();
  return tally.gap();
}

class GapTally {
  readonly #limit: number;
  #tokens = 0;
  #sum = 0;
  #max = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Tokens of one action. @param sampled fewer where they are not to be compared */
  add(sampled: readonly number[], logprobs: readonly number[]): void {
    for (const [j, logprob] of sampled.entries()) {
      const difference = Math.abs(logprob - logprobs[j]);
      this.#tokens++;
      this.#sum += difference;
      this.#max = Math.max(this.#max, difference);
    }
  }

  check(): void {
    if (this.#max > this.#limit) throw gapError(this.#max, this.#limit);
  }

  gap(): SamplerGap {
    const none = this.#tokens === 0;
    return { samplerGapMean: none ? null : this.#sum / this.#tokens, samplerGapMax: none ? null : this.#max };
  }
}

function keyOf({ trajectory, turn }: ActionInContext): string {
  return `${trajectory}/${turn}`;
}

function gapError(gap: number, limit: number): EngineError {
  return new EngineError("the sampler–trainer log-prob gap", gap, {
    expected: `at most ${limit} nats (limits.logprobGap)`,
    hint:
      "The tokens were not drawn from the distribution that is trained, so the gradient would be wrong. " +
      "Usual causes: rollout.topP or rollout.topK cut the support, stale sampling weights, or lower precision in the sampler.",
  });
}
