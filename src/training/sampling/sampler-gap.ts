import { EngineError } from "../../core/errors.ts";
import type { Decide, Logprobs, Policy } from "../../core/policy.ts";
import { type ActionInContext, type Group, type Turn, turnKey } from "../../core/trajectory.ts";
import type { EngineInfo } from "../../engines/engine.ts";

/** |sampler − trainer| log-probs in nats, over the action tokens that were compared; null where there were none. */
export type SamplerGap = {
  readonly samplerGapMean: number | null;
  readonly samplerGapMax: number | null;
  readonly samplerGapTokens: number;
};

export interface GapLimit {
  readonly nats: number;
  /** Tokens of which one may be beyond it. None may where left out. */
  readonly oneIn?: number;
}

/** The largest gap, in nats, of two engines in float32. */
const float32Tolerance = 0.02;

/**
 * The setting's limit, for every token, or under "auto" what the engine's precision allows. Where sampler and trainer round each in its own way, a
 * token that both find unlikely is now and then beyond any limit: 1.3 nats in one of 12,000 tokens of SmolLM2-135M, where the mean is 0.002. Weights
 * that are not those that sampled, or a distribution that was cut, move many.
 */
export function gapLimit(
  setting: number | "auto",
  { logprobTolerance = float32Tolerance }: Pick<EngineInfo, "logprobTolerance">,
): GapLimit {
  if (setting !== "auto") return { nats: setting };
  return logprobTolerance > float32Tolerance ? { nats: logprobTolerance, oneIn: 1000 } : { nats: logprobTolerance };
}

/**
 * A policy that is watched for one training step. Until the first optimiser step its log-probs are those of the weights that sampled,
 * so the sampler's records are compared with them, which costs no pass. An algorithm that steps after it has seen a part of the batch,
 * as SeeUPO after its first turn update, has the rest of `sampleOfTurns` scored before that step. A policy that takes a pass and its step
 * together scores the rest in its first pass, and is checked after the step that travelled with it: the caller discards those weights.
 * @param groups all that were sampled for this step
 * @throws EngineError (from the policy's methods) on a gap above the limit, before any parameter is moved but by `passAndStep`
 */
export function measureSamplerGap(
  policy: Policy,
  groups: readonly Group[],
  limit: GapLimit,
): { readonly policy: Policy; gap(): SamplerGap } {
  const comparison = new Comparison(groups, limit);
  const compared = (samples: readonly ActionInContext[], logprobs: Logprobs) => comparison.of(samples, logprobs);
  const { passAndStep } = policy;
  /** A pass of its own for the rest costs a wait where passes and steps travel together: it is then part of the first. */
  const withRest = (samples: readonly ActionInContext[]) => {
    const rest = passAndStep === undefined ? [] : comparison.restBeside(samples);
    return { all: [...samples, ...rest], unweighted: rest.map(({ action }) => action.map(() => 0)) };
  };

  return {
    policy: {
      logprobs: async (samples) => compared(samples, await policy.logprobs(samples)),
      referenceLogprobs: (samples) => policy.referenceLogprobs(samples),
      forwardBackward: async (samples, decide, entropyWeights) => {
        if (typeof decide !== "function") return compared(samples, await policy.forwardBackward(samples, decide, entropyWeights));
        const { all, unweighted } = withRest(samples);
        const decideOwn: Decide = (logprobs) => {
          const own = compared(all, logprobs).slice(0, samples.length);
          return [...decide(own), ...unweighted];
        };
        const logprobs = await policy.forwardBackward(all, decideOwn, entropyWeights && [...entropyWeights, ...unweighted]);
        return logprobs.slice(0, samples.length);
      },
      step: async () => {
        const rest = comparison.restBeside([]);
        if (rest.length > 0) compared(rest, await policy.logprobs(rest));
        comparison.end();
        return policy.step();
      },
      passAndStep:
        passAndStep &&
        (async (samples, weights) => {
          const { all, unweighted } = withRest(samples);
          const { logprobs, report } = await passAndStep(all, [...weights, ...unweighted]);
          compared(all, logprobs);
          comparison.end();
          return { logprobs: logprobs.slice(0, samples.length), report };
        }),
      critic: policy.critic,
    },
    gap: () => comparison.gap(),
  };
}

/** The comparison of a step's turns, until its first optimiser step. */
class Comparison {
  readonly #groups: readonly Group[];
  readonly #tally: GapTally;
  /** The records of turns that were not yet compared. */
  readonly #samplerLogprobs: Map<string, readonly number[]>;
  #ended = false;

  constructor(groups: readonly Group[], limit: GapLimit) {
    this.#groups = groups;
    this.#tally = new GapTally(limit);
    const turns = groups.flatMap(({ trajectories }) => trajectories.flatMap((trajectory) => trajectory.turns));
    this.#samplerLogprobs = new Map(turns.map((turn) => [turnKey(turn), turn.samplerLogprobs]));
  }

  /** @returns the same log-probs */
  of(samples: readonly ActionInContext[], logprobs: Logprobs): Logprobs {
    if (this.#ended) return logprobs;
    for (const [i, sample] of samples.entries()) {
      this.#tally.add(this.#samplerLogprobs.get(turnKey(sample)) ?? [], logprobs[i]);
      this.#samplerLogprobs.delete(turnKey(sample));
    }
    this.#tally.check();
    return logprobs;
  }

  /** Turns to be compared that neither were nor are among the samples. */
  restBeside(samples: readonly ActionInContext[]): Turn[] {
    if (this.#ended) return [];
    const keys = new Set(samples.map(turnKey));
    return sampleOfTurns(this.#groups).filter((turn) => this.#samplerLogprobs.has(turnKey(turn)) && !keys.has(turnKey(turn)));
  }

  /** The weights that sampled are gone. */
  end(): void {
    this.#ended = true;
  }

  gap(): SamplerGap {
    return this.#tally.gap();
  }
}

/**
 * Every turn of one trajectory of each group, and one of each later turn that none of these has. The trajectory is the one with the most
 * entropy: where the model is unsure, a sampler that draws from another distribution differs most.
 */
export function sampleOfTurns(groups: readonly Group[]): Turn[] {
  const least = groups.flatMap(({ trajectories }) => {
    const entropies = trajectories.map(({ turns }) => turns.reduce((sum, turn) => sum + total(turn.entropies), 0));
    return trajectories[entropies.indexOf(Math.max(...entropies))]?.turns ?? [];
  });
  const seen = new Set(least.map(({ turn }) => turn));
  const deeper = groups
    .flatMap(({ trajectories }) => trajectories.flatMap(({ turns }) => turns))
    .filter(({ turn }) => !seen.has(turn) && seen.add(turn));
  return [...least, ...deeper];
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/**
 * The same for turns that were sampled by weights which the trainer no longer has: these turns, scored under those weights.
 * @param logprobs of the turns' action tokens
 * @throws EngineError on a gap above the limit
 */
export function samplerGap(turns: readonly Turn[], logprobs: Logprobs, limit: GapLimit): SamplerGap {
  const tally = new GapTally(limit);
  for (const [i, { samplerLogprobs }] of turns.entries()) tally.add(samplerLogprobs, logprobs[i]);
  tally.check();
  return tally.gap();
}

class GapTally {
  readonly #limit: GapLimit;
  #tokens = 0;
  #beyond = 0;
  #sum = 0;
  #max = 0;

  constructor(limit: GapLimit) {
    this.#limit = limit;
  }

  /** Tokens of one action. @param sampled fewer where they are not to be compared */
  add(sampled: readonly number[], logprobs: readonly number[] = []): void {
    for (const [j, logprob] of sampled.entries()) {
      const difference = Math.abs(logprob - Number(logprobs[j]));
      this.#tokens++;
      this.#sum += difference;
      this.#max = Math.max(this.#max, difference);
      if (difference > this.#limit.nats) this.#beyond++;
    }
  }

  /** A gap that is not a number is above every limit. */
  check(): void {
    const { oneIn = Number.POSITIVE_INFINITY } = this.#limit;
    if (this.#beyond > Math.ceil(this.#tokens / oneIn) || !Number.isFinite(this.#max)) throw this.#error();
  }

  #error(): EngineError {
    return new EngineError("the sampler–trainer log-prob gap", this.#max, {
      expected: `at most ${this.#limit.nats} nats (limits.logprobGap)`,
      hint:
        `${this.#beyond} of ${this.#tokens} tokens are beyond it: they were not drawn from the distribution that is trained, so the gradient would be ` +
        "wrong. Usual causes: rollout.topP or rollout.topK cut the support, stale sampling weights, or lower precision in the sampler.",
    });
  }

  gap(): SamplerGap {
    const none = this.#tokens === 0;
    return {
      samplerGapMean: none ? null : this.#sum / this.#tokens,
      samplerGapMax: none ? null : this.#max,
      samplerGapTokens: this.#tokens,
    };
  }
}
