import type { Logprobs, Policy, StepReport, Weights } from "../../core/policy.ts";
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

/**
 * A policy whose optimiser steps are recorded: the weights that were back-propagated, the algorithm's reasons for them, and the log-probs
 * that it saw anyway. It changes no call and adds none: `after` is of the first time that the algorithm, or `rescore`, looks at a turn again,
 * and `end` of `rescore`, once no step follows.
 */
export function observeCredits(policy: Policy): ObservedPolicy {
  const credits: OpenCredit[] = [];
  /** The credits of the optimiser step that is being prepared. */
  let open: OpenCredit[] = [];
  /** Those of the last pass, which an algorithm explains. */
  let latestPass: OpenCredit[] = [];
  const first = new Map<string, readonly number[]>();
  const latest = new Map<string, OpenCredit>();
  let optimiserStep = 0;

  const seen = (samples: readonly ActionInContext[], logprobs: Logprobs) => {
    for (const [i, sample] of samples.entries()) {
      const key = turnKey(sample);
      const row = present(logprobs[i], "the log-probs of a turn");
      if (!first.has(key)) first.set(key, row);
      const before = latest.get(key);
      if (before !== undefined && before.optimiserStep < optimiserStep) before.after ??= row;
    }
  };
  const applied = (samples: readonly ActionInContext[], logprobs: Logprobs, weights: Weights) => {
    latestPass = [];
    for (const [i, sample] of samples.entries()) {
      // Turns that are only scored in the same pass have no weights.
      const own = weights[i];
      if (own?.some((weight) => weight !== 0) !== true) continue;
      const { trajectory, turn } = sample;
      const before = present(logprobs[i], "the log-probs of a turn");
      const credit = {
        optimiserStep,
        trajectory,
        turn,
        learningRate: 0,
        weights: own,
        before,
        old: first.get(turnKey(sample)) ?? before,
      };
      latestPass.push(credit);
    }
    open.push(...latestPass);
  };
  const stepped = ({ learningRate }: StepReport) => {
    for (const credit of open) {
      credit.learningRate = learningRate;
      latest.set(turnKey(credit), credit);
    }
    credits.push(...open);
    open = [];
    optimiserStep++;
  };
  const { passAndStep } = policy;

  return {
    policy: {
      logprobs: async (samples) => {
        const logprobs = await policy.logprobs(samples);
        seen(samples, logprobs);
        return logprobs;
      },
      referenceLogprobs: (samples) => policy.referenceLogprobs(samples),
      forwardBackward: async (samples, decide, entropyWeights) => {
        let weights: Weights = typeof decide === "function" ? [] : decide;
        const kept = typeof decide === "function" ? (logprobs: Logprobs) => (weights = decide(logprobs)) : decide;
        const logprobs = await policy.forwardBackward(samples, kept, entropyWeights);
        seen(samples, logprobs);
        applied(samples, logprobs, weights);
        return logprobs;
      },
      step: async (scale) => {
        const report = await policy.step(scale);
        stepped(report);
        return report;
      },
      passAndStep:
        passAndStep &&
        (async (samples, weights, scale) => {
          const pass = await passAndStep(samples, weights, scale);
          seen(samples, pass.logprobs);
          applied(samples, pass.logprobs, weights);
          stepped(pass.report);
          return pass;
        }),
      critic: policy.critic,
      explain: (reasons) => {
        const ofTurn = new Map(reasons.map((reason) => [turnKey(reason), reason]));
        for (const credit of latestPass) {
          const reason = ofTurn.get(turnKey(credit));
          credit.advantage = reason?.advantage;
          credit.factor = reason?.factor;
        }
      },
    },
    rescore: async (groups) => {
      const moved = groups.flatMap(({ trajectories }) => trajectories.flatMap(({ turns }) => turns));
      const samples = moved.filter((turn) => latest.has(turnKey(turn)));
      if (samples.length === 0) return;
      const logprobs = await policy.logprobs(samples);
      seen(samples, logprobs);
      for (const [i, sample] of samples.entries()) {
        const last = latest.get(turnKey(sample));
        if (last !== undefined) last.end = logprobs[i];
      }
    },
    credits: () => credits,
  };
}
