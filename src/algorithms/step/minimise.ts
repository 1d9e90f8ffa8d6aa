import { DivergenceError, EngineError, ShapeError } from "../../core/errors.ts";
import type { Logprobs, Policy, StepReport, TurnReason, Weights } from "../../core/policy.ts";
import type { ActionInContext } from "../../core/trajectory.ts";
import type { MetricValues } from "../metrics.ts";
import type { LossAndWeights, TokenRows } from "../objectives/objective.ts";

/** The metrics that every optimiser step reports. Where none was taken, its norm and learning rate are 0. */
export type StepMetrics = MetricValues & Readonly<Record<"loss" | "gradientNorm" | "learningRate", number>>;

/** The log-probs of all samples to the loss of those that are trained. */
export type Loss = (logprobs: Logprobs) => LossAndWeights;

export interface MinimiseOptions {
  /** The loss's weights, where they are the same whatever the log-probs: an engine then needs no forward pass to decide them. */
  readonly knownWeights?: Weights;
  /** h of an entropy bonus: Σ h·H is added to what is maximised. It is not part of the reported loss, which no engine gives. */
  readonly entropyWeights?: Weights;
  /** Returns the reasons of the weights at these log-probs, for an update that is recorded. */
  readonly reasons?: (logprobs: Logprobs) => readonly TurnReason[];
}

export interface Minimised {
  readonly metrics: StepMetrics;
  /** log π of all samples before the step. */
  readonly logprobs: Logprobs;
}

/**
 * One optimiser step down a loss: forward, weights, backward, step. Where all weights are 0 no step is taken, since Adam's momentum
 * would still move the policy.
 * @param loss is called once, and may return fewer rows of weights than there are samples; the samples after them are only looked at
 * @throws EngineError if a log-prob or the loss is not finite. The policy has then not been moved, unless it takes passes and steps together
 */
export async function minimise(
  policy: Policy,
  samples: readonly ActionInContext[],
  loss: Loss,
  { knownWeights, entropyWeights, reasons }: MinimiseOptions = {},
): Promise<Minimised> {
  const { result, logprobs, report } = await (knownWeights === undefined
    ? decided(policy, samples, loss, entropyWeights)
    : known(policy, samples, loss, knownWeights, entropyWeights));
  const { loss: value, weights, metrics } = result;
  if (reasons !== undefined) policy.explain?.(reasons(logprobs));
  const stepped = report === undefined && !movesNothing(weights, entropyWeights) ? await policy.step() : report;
  const taken = { ...(stepped ?? { gradientNorm: 0, learningRate: 0 }), optimiserSteps: stepped === undefined ? 0 : 1 };
  return { metrics: { ...metrics, loss: value, gradientNormMax: taken.gradientNorm, ...taken }, logprobs };
}

function movesNothing(weights: Weights, entropyWeights: Weights | undefined): boolean {
  return [...weights, ...(entropyWeights ?? [])].every((row) => row.every((weight) => weight === 0));
}

interface Decided {
  readonly result: LossAndWeights;
  readonly logprobs: Logprobs;
  /** The report of a step that was taken with the pass. */
  readonly report?: StepReport;
}

async function decided(
  policy: Policy,
  samples: readonly ActionInContext[],
  loss: Loss,
  entropyWeights: Weights | undefined,
): Promise<Decided> {
  let decision: Decided | undefined;
  const decide = (logprobs: Logprobs) => {
    const result = checkedLoss(loss(checkedLogprobs(samples, logprobs)));
    decision = { result, logprobs };
    const lookedAt = samples.slice(result.weights.length);
    return [...result.weights, ...lookedAt.map(({ action }) => action.map(() => 0))];
  };
  await policy.forwardBackward(samples, decide, entropyWeights);
  if (decision === undefined) throw new EngineError("forwardBackward", undefined, { expected: "one call of decide" });
  return decision;
}

async function known(
  policy: Policy,
  samples: readonly ActionInContext[],
  loss: Loss,
  weights: Weights,
  entropyWeights: Weights | undefined,
): Promise<Decided> {
  const together = entropyWeights === undefined && !movesNothing(weights, undefined) ? policy.passAndStep : undefined;
  const pass: Pick<Decided, "logprobs" | "report"> =
    together === undefined
      ? { logprobs: await policy.forwardBackward(samples, weights, entropyWeights) }
      : await together(samples, weights);
  const logprobs = checkedLogprobs(samples, pass.logprobs);
  const result = checkedLoss(loss(logprobs));
  const differs = result.weights.findIndex((row, i) => row.some((weight, t) => weight !== weights[i][t]));
  if (differs < 0) return { result, logprobs, report: pass.report };
  const { trajectory, turn } = samples[differs];
  throw new RangeError(`the known weights of turn ${turn} of trajectory ${trajectory} are not those of its loss`);
}

function checkedLoss(result: LossAndWeights): LossAndWeights {
  if (Number.isFinite(result.loss)) return result;
  throw new DivergenceError("loss", result.loss, {
    expected: "a finite number",
    hint: "Every log-prob was finite: look at the advantages.",
  });
}

/**
 * @throws ShapeError if the rows are not one number per action token of each sample, EngineError naming the first that is not finite
 */
export function checkedLogprobs(samples: readonly ActionInContext[], logprobs: Logprobs): Logprobs {
  return checkedRows("log-prob", samples, logprobs);
}

/** The same for any answer of an engine. @param what one number is, for the message */
export function checkedRows(what: string, samples: readonly ActionInContext[], rows: TokenRows): TokenRows {
  if (rows.length !== samples.length) throw new ShapeError(`rows of ${what}s`, rows.length, { expected: [samples.length] });
  for (const [i, { trajectory, turn, action }] of samples.entries()) {
    const where = `turn ${turn} of trajectory ${trajectory}`;
    if (rows[i].length !== action.length)
      throw new ShapeError(`${what}s of ${where}`, rows[i].length, { expected: [action.length] });
    const wrong = rows[i].findIndex((value) => !Number.isFinite(value));
    if (wrong >= 0)
      throw new DivergenceError(`${what} of token ${wrong} in ${where}`, rows[i][wrong], {
        expected: "a finite number",
        hint: "A smaller learning rate or gradient clipping keeps the parameters finite.",
      });
  }
  return rows;
}

/** Numbers per token that stay fixed during an update: the rows of any of the samples they were taken for. */
export type FixedRows = (samples: readonly ActionInContext[]) => TokenRows;

export function fixedRows(samples: readonly ActionInContext[], taken: TokenRows): FixedRows {
  const rows = new Map(samples.map((sample, i) => [sample, taken[i]]));
  return (chosen) => chosen.map((sample) => rows.get(sample) ?? []);
}

export function fixedLogprobs(samples: readonly ActionInContext[], logprobs: Logprobs): FixedRows {
  return fixedRows(samples, checkedLogprobs(samples, logprobs));
}
