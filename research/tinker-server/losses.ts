import { HttpError } from "../../extensions/http/http-error.ts";

/**
 * The built-in losses of Tinker's interface, in terms of log-probs lp, those of the sampler q, r = exp(lp − q), advantages A and weights w
 * (1 if absent). They are minimised and summed over tokens and data.
 *
 *   cross_entropy        −w lp                             importance_sampling   −w r A
 *   ppo                  −w min(r A, clip(r, lo, hi) A)    cispo                 −w stop_gradient(clip(r, lo, hi)) A lp
 *   dro                  −w (lp A − β/2 (lp − q)²)         gspo                  −w min(s A, clip(s, lo, hi) A)
 *
 * s is the sequence's ratio exp(mean(lp − q)) over the tokens whose w (or A, where there is no w) is not 0 (arXiv:2507.18071). Bounds lo
 * and hi are `clip_low_threshold` and `clip_high_threshold`. Defaults 0.8 and 1.2. β is `beta`. Default 0.05.
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

const clipSettings = ["clip_low_threshold", "clip_high_threshold"];
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
  ppo: {
    required: policyInputs,
    settings: clipSettings,
    evaluate: perToken((lp, w, A, q, config) => surrogate(Math.exp(lp - q), A, w, config)),
  },
  cispo: {
    required: policyInputs,
    settings: clipSettings,
    evaluate: perToken((lp, w, A, q, config) => {
      const clipped = clip(Math.exp(lp - q), config);
      return { loss: -w * clipped * A * lp, weight: w * clipped * A };
    }),
  },
  dro: {
    required: policyInputs,
    settings: ["beta"],
    evaluate: perToken((lp, w, A, q, { beta = 0.05 }) => {
      const drift = lp - q;
      return { loss: -w * (lp * A - (beta / 2) * drift ** 2), weight: w * (A - beta * drift) };
    }),
  },
  gspo: { required: policyInputs, settings: clipSettings, evaluate: sequenceRatio },
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

/** The numbers of each token, by the letters above. */
function tokensOf({ logprobs, inputs: { weights, advantages, logprobs: sampled } }: LossInputs) {
  return logprobs.map((lp, t) => ({ lp, w: weights?.[t] ?? 1, A: advantages?.[t] ?? 0, q: sampled?.[t] ?? 0 }));
}

function summed(parts: readonly { readonly loss: number; readonly weight: number }[]): LossOfDatum {
  return { loss: parts.reduce((sum, { loss }) => sum + loss, 0), weights: parts.map(({ weight }) => weight) };
}

function perToken(
  token: (lp: number, w: number, A: number, q: number, config: LossInputs["config"]) => { loss: number; weight: number },
): Loss["evaluate"] {
  return (given) => summed(tokensOf(given).map(({ lp, w, A, q }) => token(lp, w, A, q, given.config)));
}

function sequenceRatio(given: LossInputs): LossOfDatum {
  const tokens = tokensOf(given);
  const counts = ({ w, A }: { w: number; A: number }) => (given.inputs.weights === undefined ? A : w) !== 0;
  const drifts = tokens.filter(counts).map(({ lp, q }) => lp - q);
  const ratio = drifts.length === 0 ? 1 : Math.exp(drifts.reduce((sum, drift) => sum + drift, 0) / drifts.length);
  return summed(tokens.map((each) => (counts(each) ? surrogate(ratio, each.A, each.w, given.config) : { loss: 0, weight: 0 })));
}

/** −w min(r A, clip(r) A), whose derivative is 0 where the clipped term is the smaller one. */
function surrogate(ratio: number, A: number, w: number, config: LossInputs["config"]): { loss: number; weight: number } {
  const [free, clipped] = [ratio * A, clip(ratio, config) * A];
  return { loss: -w * Math.min(free, clipped), weight: free <= clipped ? w * free : 0 };
}

function clip(ratio: number, { clip_low_threshold = 0.8, clip_high_threshold = 1.2 }: LossInputs["config"]): number {
  return Math.min(Math.max(ratio, clip_low_threshold), clip_high_threshold);
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "no settings" : names.join(", ");
}
