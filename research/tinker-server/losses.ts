import { HttpError } from "../../extensions/http/http-error.ts";

/**
 * Losses of Tinker's interface, in terms of log-probs lp, those of the sampler q, r = exp(lp − q), advantages A and weights w (1 if absent).
 * They are minimised and summed over tokens and data. Here are the two that can be linear in lp, and the SDK's usual one for reinforcement.
 *
 *   cross_entropy   −w lp       importance_sampling   −w r A       cispo   −w stop_gradient(clip(r, lo, hi)) A lp
 *
 * Bounds lo and hi are `clip_low_threshold` and `clip_high_threshold`. Defaults 0.8 and 1.2.
 */
export interface LossInputs {
  readonly logprobs: readonly number[];
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  readonly config: Readonly<Record<string, number>>;
}

/** The loss of one datum, and −∂loss/∂lp of each target. */
export interface LossOfDatum {
  readonly loss: number;
  readonly weights: readonly number[];
}

interface Loss {
  readonly required: readonly string[];
  readonly settings: readonly string[];
  readonly evaluate: (inputs: LossInputs) => LossOfDatum;
}

const policyInputs = ["advantages", "logprobs"];

const losses: Readonly<Record<string, Loss>> = {
  cross_entropy: {
    required: [],
    settings: [],
    evaluate: perToken((lp, w) => ({ loss: -w * lp, weight: w })),
  },
  importance_sampling: {
    required: policyInputs,
    settings: [],
    evaluate: perToken((lp, w, A, q) => {
      const ratio = Math.exp(lp - q);
      return { loss: -w * ratio * A, weight: w * ratio * A };
    }),
  },
  cispo: {
    required: policyInputs,
    settings: ["clip_low_threshold", "clip_high_threshold"],
    evaluate: perToken((lp, w, A, q, { clip_low_threshold: low = 0.8, clip_high_threshold: high = 1.2 }) => {
      const clipped = Math.min(Math.max(Math.exp(lp - q), low), high);
      return { loss: -w * clipped * A * lp, weight: w * clipped * A };
    }),
  },
};

/** Names of the losses that this server computes. */
export const lossNames = Object.keys(losses);

function lossOf(name: string): Loss {
  const loss = Object.hasOwn(losses, name) ? losses[name] : undefined;
  if (loss !== undefined) return loss;
  throw new HttpError(422, "loss_fn", name, { expected: lossNames });
}

/** @throws HttpError for a loss, a setting or inputs that this server does not compute with */
export function requireLoss(
  name: string,
  config: Readonly<Record<string, number>>,
  inputs: readonly Readonly<Record<string, unknown>>[],
): void {
  const loss = lossOf(name);
  for (const [key, value] of Object.entries(config)) {
    if (!loss.settings.includes(key))
      throw new HttpError(422, `loss_fn_config of ${name}`, key, { expected: listed(loss.settings) });
    if (!Number.isFinite(value)) throw new HttpError(422, `loss_fn_config.${key}`, value, { expected: "a finite number" });
  }
  inputs.forEach((given, i) => {
    const missing = loss.required.find((key) => given[key] === undefined);
    if (missing !== undefined)
      throw new HttpError(422, `loss_fn_inputs.${missing} of datum ${i}`, undefined, { expected: `an array for ${name}` });
    const known = [...loss.required, "weights"];
    const unknown = Object.keys(given).find((key) => !known.includes(key));
    if (unknown !== undefined)
      throw new HttpError(422, `loss_fn_inputs of datum ${i} for ${name}`, unknown, {
        expected: listed(["target_tokens", ...known]),
      });
  });
}

/** Whether the weights do not depend on the log-probs: then one pass does. */
export function isLinear(name: string): boolean {
  return name === "cross_entropy";
}

/** @throws HttpError if a ratio overflows */
export function evaluateLoss(name: string, inputs: LossInputs): LossOfDatum {
  const { loss, weights } = lossOf(name).evaluate(inputs);
  if (Number.isFinite(loss) && weights.every(Number.isFinite)) return { loss, weights };
  throw new HttpError(422, `the loss ${name}`, loss, {
    expected: "a finite number",
    hint: "The log-probs that were sent differ so much from the model's that their ratio overflows: were they sampled by this model?",
  });
}

function perToken(
  token: (lp: number, w: number, A: number, q: number, config: LossInputs["config"]) => { loss: number; weight: number },
): Loss["evaluate"] {
  return ({ logprobs, inputs: { weights, advantages, logprobs: sampled }, config }) => {
    const parts = logprobs.map((lp, t) => token(lp, weights?.[t] ?? 1, advantages?.[t] ?? 0, sampled?.[t] ?? 0, config));
    return { loss: parts.reduce((sum, { loss }) => sum + loss, 0), weights: parts.map(({ weight }) => weight) };
  };
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "no settings" : names.join(", ");
}
