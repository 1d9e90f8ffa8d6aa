import type { Logprobs, Policy, StepReport, TurnReason, Weights } from "../../core/policy.ts";
import { present } from "../../core/present.ts";
import { type ActionInContext, type Group, turnKey } from "../../core/trajectory.ts";
import type { TurnCredit } from "../../runs/credits.ts";

type OpenCredit = { -readonly [Key in keyof TurnCredit]: TurnCredit[Key] };

export interface ObservedPolicy {
  readonly policy: Policy;
  /** Recomputes the log-probs of groups after the update: one forward pass over their turns that have credits. */
  rescore(groups: readonly Group[]): Promise<void>;
  credits(): readonly TurnCredit[];
}

/** The credits of an update in the making. */
class Credits {
  readonly all: OpenCredit[] = [];
  /** The credits of the optimiser step that is being prepared. */
  #open: OpenCredit[] = [];
  /** Those of the last pass, which an algorithm explains. */
  #latestPass: OpenCredit[] = [];
  readonly #first = new Map<string, readonly number[]>();
  readonly #latest = new Map<string, OpenCredit>();
  #optimiserStep = 0;

  /** Log-probs were computed: they are `after` for turns that an earlier step has moved. */
  see(samples: readonly ActionInContext[], logprobs: Logprobs): void {
    for (const [i, sample] of samples.entries()) {
      const key = turnKey(sample);
      const row = present(logprobs[i], "the log-probs of a turn");
      if (!this.#first.has(key)) this.#first.set(key, row);
      const before = this.#latest.get(key);
      if (before !== undefined && before.optimiserStep < this.#optimiserStep) before.after ??= row;
    }
  }

  /** Weights were back-propagated. Turns that are only scored in the same pass have none. */
  apply(samples: readonly ActionInContext[], logprobs: Logprobs, weights: Weights): void {
    this.see(samples, logprobs);
    this.#latestPass = samples.flatMap((sample, i): OpenCredit[] => {
      const own = weights[i];
      if (own?.some((weight) => weight !== 0) !== true) return [];
      const { trajectory, turn } = sample;
      const before = present(logprobs[i], "the log-probs of a turn");
      const old = this.#first.get(turnKey(sample)) ?? before;
      return [{ optimiserStep: this.#optimiserStep, trajectory, turn, learningRate: 0, weights: own, before, old }];
    });
    this.#open.push(...this.#latestPass);
  }

  explain(reasons: readonly TurnReason[]): void {
    const ofTurn = new Map(reasons.map((reason) => [turnKey(reason), reason]));
    for (const credit of this.#latestPass) {
      const reason = ofTurn.get(turnKey(credit));
      credit.advantage = reason?.advantage;
      credit.factor = reason?.factor;
    }
  }

  step({ learningRate }: StepReport): void {
    for (const credit of this.#open) {
      credit.learningRate = learningRate;
      this.#latest.set(turnKey(credit), credit);
    }
    this.all.push(...this.#open);
    this.#open = [];
    this.#optimiserStep++;
  }

  has(turn: ActionInContext): boolean {
    return this.#latest.has(turnKey(turn));
  }

  /** No step follows: these log-probs are the end's. */
  end(samples: readonly ActionInContext[], logprobs: Logprobs): void {
    this.see(samples, logprobs);
    for (const [i, sample] of samples.entries()) {
      const last = this.#latest.get(turnKey(sample));
      if (last !== undefined) last.end = logprobs[i];
    }
  }
}

/**
 * A policy whose optimiser steps are recorded: the weights that were back-propagated, the algorithm's reasons for them, and the log-probs
 * that it saw anyway. It changes no call and adds none: `after` is of the first time that the algorithm, or `rescore`, looks at a turn again,
 * and `end` of `rescore`, once no step follows.
 */
export function observeCredits(policy: Policy): ObservedPolicy {
  const credits = new Credits();
  const { passAndStep } = policy;
  return {
    policy: {
      logprobs: async (samples) => {
        const logprobs = await policy.logprobs(samples);
        credits.see(samples, logprobs);
        return logprobs;
      },
      referenceLogprobs: (samples) => policy.referenceLogprobs(samples),
      forwardBackward: async (samples, decide, entropyWeights) => {
        let weights: Weights = typeof decide === "function" ? [] : decide;
        const kept = typeof decide === "function" ? (logprobs: Logprobs) => (weights = decide(logprobs)) : decide;
        const logprobs = await policy.forwardBackward(samples, kept, entropyWeights);
        credits.apply(samples, logprobs, weights);
        return logprobs;
      },
      step: async () => {
        const report = await policy.step();
        credits.step(report);
        return report;
      },
      passAndStep:
        passAndStep &&
        (async (samples, weights) => {
          const pass = await passAndStep(samples, weights);
          credits.apply(samples, pass.logprobs, weights);
          credits.step(pass.report);
          return pass;
        }),
      critic: policy.critic,
      explain: (reasons) => credits.explain(reasons),
    },
    rescore: async (groups) => {
      const turns = groups.flatMap(({ trajectories }) => trajectories.flatMap((trajectory) => trajectory.turns));
      const samples = turns.filter((turn) => credits.has(turn));
      if (samples.length > 0) credits.end(samples, await policy.logprobs(samples));
    },
    credits: () => credits.all,
  };
}
