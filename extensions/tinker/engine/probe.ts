import { EngineError } from "../../../src/core/errors.ts";
import type { Weights } from "../../../src/core/policy.ts";
import { present } from "../../../src/core/present.ts";
import type { AdamSettings, Datum, TinkerModel } from "../client/index.ts";
import { TinkerError } from "../client/index.ts";
import { type LinearForm, linearForms } from "./linear-form.ts";
import { drawOne } from "./sampling.ts";

/** The facts that were found out about a server. */
export interface Findings {
  readonly form: LinearForm;
  /** Every form that was tried, with why it does not fit. */
  readonly rejected: readonly string[];
  /** Whether a step takes Adam's settings from the request. If not, the server has its own, and clips as it likes. */
  readonly adam: boolean;
  /** Whether a step scales the gradient down to `clipNorm`. */
  readonly clips: boolean;
  /** Largest difference in nats between the log-probs of sampled tokens and those of the trainer. */
  readonly logprobGap: number;
  /** Whether log-probs are bfloat16 numbers: those between 8 and 16 nats are then 0.0625 apart. */
  readonly bfloat16: boolean;
  /** Whether samples come with top candidates where they are asked for. */
  readonly topLogprobs: boolean;
  /** Whether seeds may have 32 bits; SkyRL's JAX back end takes 31. */
  readonly wideSeeds: boolean;
}

/** Ratios of gradients that should be whole numbers may be off by this: bfloat16 has 8 bits. */
const tolerance = 0.03;
/** A step of η·g: a large ε makes Adam without memory plain gradient ascent. */
const epsilon = 1e6;
/** Gain in nats of a step that is small enough to be linear, also where all weights of a trained model move. */
const smallGain = 0.002;
/**
 * Gains in nats a token of steps that stand out where log-probs have 16 bits, and how far their ratio to what is expected may be off. Rounding
 * swallows a part of a change: over 64 tokens of a trained model in bfloat16, 26 to 44 % of 0.1 nats a token and 15 to 21 % of 0.2.
 */
const largeGains = [0.2, 0.4];
const largeTolerance = 0.4;
/** Gain in nats that only a step of Adam's usual size reaches where the request asks for almost none. */
const unasked = 0.05;

/**
 * Measures on a throw-away model which form of linear loss a server computes exactly, and what else it honours.
 *
 * With A and B data of different lengths, signed weights a and n the reported norm of the gradient: n(2a) = 2 n(a), n(−a) = n(a), n(A, A) =
 * 2 n(A), n(A with unweighted targets behind) = n(A), n(A + B)² + n(A − B)² = 2 n(A)² + 2 n(B)², and a step of η·g raises Σ a·log π by
 * η·n². The last fixes the scale. It is measured once more with larger steps, on all tokens, where 16-bit log-probs hide the gain of a small one,
 * and left out where the server has Adam's settings of its own: a step of Adam's has the same size at any scale of the gradient.
 *
 * @param token ids that the model has, at least 8. The more there are, the surer is the scale under 16 bits
 * @throws EngineError if no form fits, or the server reports no norm
 */
export async function probeServer(model: TinkerModel, token: readonly number[]): Promise<Findings> {
  const datum = (ids: readonly number[]): Datum => ({ tokens: ids.slice(0, -1), targets: ids.slice(1) });
  const A = datum(token.slice(0, 6));
  const some = (...at: readonly number[]) => at.map((i) => present(token[i], "a token of the probe"));
  const B = datum(some(0, 6, 7, 1));
  const longer = datum(some(0, 1, 2, 3, 4, 5, 3, 7, 2, 6, 4));
  const all = datum(token);
  const a = [0.3, -1.2, 0.5, -0.25, 1];
  const b = [0.7, -0.4, 0.2];
  const signs = all.targets.map((_, t) => (t % 4 === 0 || t % 4 === 3 ? 1 : -1));
  const small: Climb = { datum: A, weights: a, gain: smallGain, tolerance };
  const climbs: readonly Climb[] = [
    small,
    ...largeGains.map((gain) => ({ datum: all, weights: signs, gain: gain * signs.length, tolerance: largeTolerance })),
  ];
  const times = (row: readonly number[], scale: number) => row.map((weight) => weight * scale);

  const rejected: string[] = [];
  for (const form of linearForms) {
    const norm = async (data: readonly Datum[], weights: Weights) => {
      await model.forwardBackward(form.inputs(data, weights), form.lossFn, form.config);
      return required(await model.optimStep(still));
    };
    /** The gain of a step as a share of what its length and the gradient promise. @param clip to this share of the gradient's norm */
    const ratioOf = async (climb: Climb, clip = 0) => {
      const n = await norm([climb.datum], [climb.weights]);
      return (await gain(model, form, climb, climb.gain / n ** 2, clip * n)) / climb.gain;
    };
    /** Whether a step takes Adam's settings, of a form that fits. */
    const adam = await misfit(async () => {
      const one = await norm([A], [a]);
      const other = await norm([B], [b]);
      expectRatio("twice the weights", await norm([A], [times(a, 2)]), 2 * one);
      expectRatio("negated weights", await norm([A], [times(a, -1)]), one);
      expectRatio("the same datum twice", await norm([A, A], [a, a]), 2 * one);
      expectRatio("targets without weight behind", await norm([longer], [[...a, 0, 0, 0, 0, 0]]), one);
      const [sum, difference] = [await norm([A, B], [a, b]), await norm([A, B], [a, times(b, -1)])];
      expectRatio("two data", sum ** 2 + difference ** 2, 2 * one ** 2 + 2 * other ** 2);
      if (Math.abs(await gain(model, form, small, ignoredRate)) >= unasked) return false;
      const ratios: string[] = [];
      for (const climb of climbs) {
        const ratio = await ratioOf(climb);
        if (Math.abs(ratio - 1) < climb.tolerance) return true;
        ratios.push(ratio.toPrecision(3));
      }
      throw new Misfit(`the gain of a step: ${ratios.join(", ")} of what is expected`);
    });
    if (typeof adam === "string") {
      rejected.push(`${form.name}: ${adam}`);
      continue;
    }
    const clips = adam && (await clipsHalf(climbs, (climb) => ratioOf(climb, 0.5)));
    return { form, rejected, adam, clips, ...(await probeSampler(model, token)) };
  }
  throw new EngineError("linear loss of the server", rejected, {
    expected: "a loss whose gradient is linear in signed weights",
    hint: "This server cannot train policy gradients exactly. docs/tinker.md says which servers can.",
  });
}

const still: AdamSettings = { learningRate: 0, beta1: 0.9, beta2: 0.95, epsilon: 1e-12 };

/** A rate that moves nothing with the settings of `gain`, and Adam by 0.01 a parameter without them. */
const ignoredRate = 0.01 / epsilon;

/** A step of η·g that is to raise Σ weights·log π of a datum by `gain` nats. */
interface Climb {
  readonly datum: Datum;
  readonly weights: readonly number[];
  readonly gain: number;
  /** How far the ratio of its gain to `gain` may be off. */
  readonly tolerance: number;
}

/** Whether a step is half as long if it is asked to clip the gradient to half of its norm; as large as it must be to show it. */
async function clipsHalf(climbs: readonly Climb[], ratioOf: (climb: Climb) => Promise<number>): Promise<boolean> {
  for (const climb of climbs) {
    const ratio = await ratioOf(climb).catch(() => Number.NaN);
    const near = climb.tolerance === tolerance ? 0.1 : 0.2;
    if (Math.abs(ratio - 0.5) < near) return true;
    if (Math.abs(ratio - 1) < near) return false;
  }
  return false;
}

/** Log-probs of the targets of one datum. */
async function scored(model: TinkerModel, datum: Datum): Promise<readonly number[]> {
  const { fields } = await model.forward([datum]);
  return present(fields.logprobs[0], "the log-probs of a datum");
}

/** By how much a step of η·g raises Σ a·log π. */
async function gain(
  model: TinkerModel,
  form: LinearForm,
  { datum, weights }: Climb,
  rate: number,
  clipNorm = 0,
): Promise<number> {
  const objective = async () => {
    const logprobs = await scored(model, datum);
    return weights.reduce((sum, weight, t) => sum + present(logprobs[t], "a log-prob") * weight, 0);
  };
  const before = await objective();
  await model.forwardBackward(form.inputs([datum], [weights]), form.lossFn, form.config);
  await model.optimStep({ learningRate: rate * epsilon, beta1: 0, beta2: 0, epsilon, clipNorm });
  return (await objective()) - before;
}

async function probeSampler(
  model: TinkerModel,
  token: readonly number[],
): Promise<Pick<Findings, "logprobGap" | "bfloat16" | "topLogprobs" | "wideSeeds">> {
  const sampler = await model.saveForSampler("probe");
  const prompt = token.slice(0, 4);
  const call = { prompt, maxTokens: 24, seed: 1, stop: [] as number[] };
  const { tokens, logprobs } = await drawOne(sampler, call);
  const whole = [...prompt, ...tokens];
  const trained = await scored(model, { tokens: whole.slice(0, -1), targets: whole.slice(1) });
  const gaps = trained.slice(prompt.length - 1).map((lp, i) => Math.abs(present(logprobs[i], "a sampled log-prob") - lp));
  const logprobGap = Math.max(...gaps);
  const bfloat16 = trained.every(isBfloat16);
  const topLogprobs = await drawOne(sampler, { ...call, topLogprobs: 2 }).then(
    (sequence) => sequence.topLogprobs?.length === sequence.tokens.length,
    () => false,
  );
  const wideSeeds = await sampler.sample({ ...call, seed: 0xffffffff }).then(
    () => true,
    () => false,
  );
  return { logprobGap, bfloat16, topLogprobs, wideSeeds };
}

/** A bfloat16 number is a float32 number whose last 16 bits are 0. */
function isBfloat16(value: number): boolean {
  return (new DataView(Float32Array.of(value).buffer).getUint32(0, true) & 0xffff) === 0;
}

class Misfit extends Error {}

/** The outcome of a check, or why a form does not fit. What is no misfit is thrown on. */
async function misfit(check: () => Promise<boolean>): Promise<boolean | string> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof Misfit) return error.message;
    // A server that does not have the loss, or not its settings, says so.
    if (error instanceof TinkerError && (error.kind === "request" || error.kind === "failed")) return error.message;
    throw error;
  }
}

function expectRatio(what: string, measured: number, expected: number): void {
  const ratio = measured / expected;
  if (!(Math.abs(ratio - 1) < tolerance)) throw new Misfit(`${what}: ${ratio.toPrecision(3)} of what is expected`);
}

function required({ gradientNorm }: { readonly gradientNorm: number | undefined }): number {
  if (gradientNorm !== undefined) return gradientNorm;
  throw new EngineError("norm of the gradient", undefined, {
    expected: "a number among the metrics of optim_step",
    hint: "Without it the server's loss cannot be checked.",
  });
}
