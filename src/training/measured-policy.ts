import { EngineError } from "../core/errors.ts";
import type { Logprobs, Policy, StepReport, Weights } from "../core/policy.ts";
import type { ActionInContext, Turn } from "../core/trajectory.ts";
import type { Engine, StepOptions } from "../engines/engine.ts";
import type { Metrics } from "../runs/records.ts";
import { mean } from "./estimates.ts";

export interface PolicyOptions {
  /** Of the rollouts. */
  readonly temperature: number;
  /** Of one optimiser step; the learning rate is the schedule's for this training step. */
  readonly step: StepOptions;
  /** Largest |sampler − trainer| log-prob in nats that is let pass. */
  readonly gapLimit: number;
}

export interface MeasuredPolicy {
  readonly policy: Policy;
  /** What was seen since it was made. */
  metrics(): Metrics;
}

/**
 * An engine as an algorithm sees it for one training step, watched. Until the first optimiser step its log-probs are those of the
 * weights that sampled, so the sampler's records can be held against them: that costs no pass of its own.
 * @throws EngineError (from the policy's methods) on a gap above the limit, and on the first log-prob or weight that is not finite
 */
export function measuredPolicy(engine: Engine, turns: readonly Turn[], options: PolicyOptions): MeasuredPolicy {
  const { temperature, step, gapLimit } = options;
  const samplerLogprobs = new Map(turns.map((turn) => [keyOf(turn), turn.samplerLogprobs]));
  const steps: StepReport[] = [];
  const gap = { tokens: 0, sum: 0, max: 0 };
  const compared = new Set<string>();

  const checked = (what: string, samples: readonly ActionInContext[], rows: Logprobs): Logprobs => {
    requireFinite(what, samples, rows);
    return rows;
  };

  const measureGap = (samples: readonly ActionInContext[], logprobs: Logprobs) => {
    for (const [i, sample] of samples.entries()) {
      const sampled = samplerLogprobs.get(keyOf(sample));
      if (sampled === undefined || compared.has(keyOf(sample))) continue;
      compared.add(keyOf(sample));
      for (const [j, logprob] of logprobs[i].entries()) {
        const difference = Math.abs(sampled[j] - logprob);
        gap.tokens++;
        gap.sum += difference;
        gap.max = Math.max(gap.max, difference);
      }
    }
    if (gap.max > gapLimit) throw gapError(gap.max, gapLimit);
  };

  const current = (samples: readonly ActionInContext[], rows: Logprobs): Logprobs => {
    checked("log-prob", samples, rows);
    if (steps.length === 0) measureGap(samples, rows);
    return rows;
  };

  return {
    policy: {
      logprobs: async (samples) => current(samples, await engine.logprobs(samples, { temperature })),
      referenceLogprobs: async (samples) =>
        checked("reference log-prob", samples, await engine.referenceLogprobs(samples, { temperature })),
      forwardBackward: (samples, decide) =>
        engine.forwardBackward(samples, (logprobs): Weights => checked("weight", samples, decide(current(samples, logprobs))), {
          temperature,
        }),
      step: async (scale = 1) => {
        const report = await engine.step({ ...step, learningRate: step.learningRate * scale });
        steps.push(report);
        return report;
      },
    },
    metrics: () => ({
      samplerGapMean: gap.tokens === 0 ? null : gap.sum / gap.tokens,
      samplerGapMax: gap.tokens === 0 ? null : gap.max,
      optimizerSteps: steps.length,
      gradientNorm: steps.length === 0 ? null : mean(steps.map((report) => report.gradientNorm)),
      learningRate: step.learningRate,
    }),
  };
}

function keyOf({ trajectory, turn }: ActionInContext): string {
  return `${trajectory}/${turn}`;
}

function requireFinite(what: string, samples: readonly ActionInContext[], rows: Logprobs): void {
  for (const [i, row] of rows.entries()) {
    const token = row.findIndex((value) => !Number.isFinite(value));
    if (token >= 0)
      throw new EngineError(
        `${what} of token ${token} of turn ${samples[i].turn} of trajectory ${samples[i].trajectory}`,
        String(row[token]),
        {
          expected: "a finite number",
          hint: "The parameters have probably run away: lower optimizer.learningRate or optimizer.clipNorm, and resume from the last checkpoint.",
        },
      );
  }
}

function gapError(gap: number, limit: number): EngineError {
  return new EngineError("the sampler–trainer log-prob gap", gap, {
    expected: `at most ${limit} nats (limits.logprobGap)`,
    hint:
      "The tokens were not drawn from the distribution that is trained, so the gradient would be wrong. " +
      "Usual causes: rollout.topP or rollout.topK cut the support, stale sampling weights, or lower precision in the sampler.",
  });
}
