import { expect, test } from "vitest";
import { EngineError } from "../../../src/core/errors.ts";
import { type AdamSettings, type Datum, type SampleCall, TinkerError, type TinkerModel } from "../client/index.ts";
import { probeServer } from "./probe.ts";

/** How a server differs from one that computes what it is asked for. */
interface Quirks {
  /** What the gradient of cross-entropy is multiplied by, and its norm with it. */
  readonly scale?: (weights: readonly (readonly number[])[]) => number;
  /** What a step is longer by than it is asked to be. */
  readonly stride?: number;
  /** What Adam's settings and clipping are, whatever is asked for. */
  readonly adam?: AdamSettings;
  readonly clips?: boolean;
  readonly round?: (logprob: number) => number;
  readonly norm?: boolean;
  /** Errors of the loss functions. */
  readonly refuses?: Readonly<Record<string, Error>>;
  readonly topLogprobs?: boolean;
  readonly seedBits?: number;
  readonly samplerGap?: number;
}

/** A table of logits: a row for each token, of the token behind it. Its gradients and steps are exact, without Adam's memory. */
function serverOf(quirks: Quirks = {}) {
  const size = 64;
  const logits = Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) => Math.sin(i * 7 + j * 3)));
  const gradient = () => Array.from({ length: size }, () => new Array<number>(size).fill(0));
  let sum = gradient();
  const log: unknown[] = [];
  const probabilities = (token: number) => {
    const exps = logits[token].map(Math.exp);
    const total = exps.reduce((a, b) => a + b);
    return exps.map((each) => each / total);
  };
  const { round = (value: number) => value } = quirks;
  const logprob = (token: number, target: number) => round(Math.log(probabilities(token)[target]));
  const scored = (data: readonly Datum[]) => ({
    fields: { logprobs: data.map(({ tokens, targets }) => tokens.map((token, t) => logprob(token, targets[t]))) },
  });
  const model = {
    forward: async (data: readonly Datum[]) => scored(data),
    forwardBackward: async (data: readonly Datum[], lossFn: string, config: object) => {
      const refusal = quirks.refuses?.[lossFn];
      if (refusal !== undefined) throw refusal;
      if (log.at(-1) !== lossFn) log.push(lossFn);
      const rows = data.map(({ inputs = {} }) => inputs.weights ?? inputs.advantages ?? []);
      // CISPO averages over data and targets.
      const shares = data.map(({ targets }) => (lossFn === "cispo" ? targets.length * data.length : 1));
      if (lossFn === "cispo") expect(config).toEqual({ clip_low_threshold: 1, clip_high_threshold: 1 });
      const scale = lossFn === "cispo" ? 1 : (quirks.scale?.(rows) ?? 1);
      data.forEach(({ tokens, targets }, d) => {
        tokens.forEach((token, t) => {
          const weight = ((rows[d][t] ?? 0) * scale) / shares[d];
          probabilities(token).forEach((p, j) => {
            sum[token][j] += weight * ((j === targets[t] ? 1 : 0) - p);
          });
        });
      });
      return scored(data);
    },
    optimStep: async (asked: AdamSettings) => {
      const { learningRate, epsilon, clipNorm = 0 } = { ...asked, ...quirks.adam, learningRate: asked.learningRate };
      const norm = Math.hypot(...sum.flat());
      const clip = quirks.clips !== false && clipNorm > 0 && norm > clipNorm ? clipNorm / norm : 1;
      sum.forEach((row, i) => {
        row.forEach((g, j) => {
          if (g !== 0) logits[i][j] += (learningRate * (quirks.stride ?? 1) * clip * g) / (Math.abs(clip * g) + epsilon);
        });
      });
      sum = gradient();
      return quirks.norm === false ? { gradientNorm: undefined } : { gradientNorm: norm };
    },
    saveForSampler: async (name: string) => {
      log.push(`save ${name}`);
      return {
        sample: async ({ prompt, maxTokens, seed = 0, stop, topLogprobs }: SampleCall) => {
          log.push({ prompt, maxTokens, seed, stop, topLogprobs });
          if (seed >= 2 ** (quirks.seedBits ?? 32)) throw new TinkerError("seed", seed, { kind: "request", retry: "never" });
          const tokens = [5, 9, 5];
          const logprobs = tokens.map(
            (token, i) => logprob(i === 0 ? prompt[3] : tokens[i - 1], token) + (quirks.samplerGap ?? 0),
          );
          const top = tokens.map(() => ({ tokens: [1, 2], logprobs: [-1, -2] }));
          return { sequences: [{ tokens, logprobs, ...(topLogprobs && quirks.topLogprobs !== false && { topLogprobs: top }) }] };
        },
      };
    },
  };
  return { model: model as unknown as TinkerModel, log };
}

const token = [7, 14, 21, 28, 35, 42, 49, 56, ...Array.from({ length: 56 }, (_, i) => (i * 23) % 57)];
const probe = (quirks: Quirks = {}) => probeServer(serverOf(quirks).model, token);
const refusal = (kind: "request" | "failed" | "lost") => new TinkerError("loss", "no", { kind, retry: "never" });
const exact = { adam: true, clips: true, bfloat16: false, topLogprobs: true, wideSeeds: true, rejected: [] };

test("a server that computes what it is asked for has it all, by the first form", async () => {
  const { model, log } = serverOf();
  const { form, logprobGap, ...findings } = await probeServer(model, token);
  expect([form.lossFn, logprobGap, findings]).toEqual(["cross_entropy", 0, exact]);
  const asked = { prompt: [7, 14, 21, 28], maxTokens: 24, seed: 1, stop: [], topLogprobs: undefined };
  expect(log).toEqual(["cross_entropy", "save probe", asked, { ...asked, topLogprobs: 2 }, { ...asked, seed: 0xffffffff }]);
});

test.each<[string, Quirks, string]>([
  [
    "divides by the sum of weights",
    { scale: (rows) => 1 / rows.flat().reduce((a, b) => a + b) },
    "twice the weights: 0.500 of what is expected",
  ],
  ["ignores negative sums", { scale: (rows) => (rows[0][0] < 0 ? 0 : 1) }, "negated weights: 0.00 of what is expected"],
  ["averages over data", { scale: (rows) => 1 / rows.length }, "the same datum twice: 0.500 of what is expected"],
  [
    "averages over targets",
    { scale: (rows) => 1 / (rows[0].length === 5 ? 1 : rows[0].length) },
    "targets without weight behind: 0.100 of what is expected",
  ],
  [
    "weighs two data by their signs",
    { scale: (rows) => (rows.length === 2 && rows[0].length !== rows[1].length && rows[1][0] < 0 ? 2 : 1) },
    "two data",
  ],
])("the first form of a server that %s does not fit, and the second is taken", async (_, quirks, why) => {
  const { form, rejected } = await probe(quirks);
  expect(form.lossFn).toBe("cispo");
  expect(rejected).toEqual([expect.stringMatching(`^cross_entropy with signed weights: ${why}`)]);
});

test.each([
  ["twice", 2, 2],
  ["half", 0.5, 0.5],
])("steps that are %s as long as they are asked to be fit no form", async (_, stride, ratio) => {
  const refused = (await probe({ stride }).catch((error: unknown) => error)) as EngineError;
  expect(refused).toBeInstanceOf(EngineError);
  const { value, hint } = refused;
  expect(hint).toBe("This server cannot train policy gradients exactly. docs/tinker.md says which servers can.");
  const [first, ...ratios] =
    /the gain of a step: ([\d.]+), ([\d.]+), ([\d.]+) of what is expected$/.exec((value as string[])[0]) ?? [];
  expect(first).toBeDefined();
  expect(Number(ratios[0])).toBeCloseTo(ratio, 1);
  expect((value as string[]).map((each) => each.split(":")[0])).toEqual([
    "cross_entropy with signed weights",
    "cispo clipped to 1, scaled by targets × data",
  ]);
});

test("a server with settings of its own is found out by a step that nobody asked for", async () => {
  const { adam, clips } = await probe({ adam: { learningRate: 0, beta1: 0, beta2: 0, epsilon: 1e-8, clipNorm: 1 } });
  expect([adam, clips]).toEqual([false, false]);
});

test("a server that does not clip is found out", async () => {
  expect(await probe({ clips: false })).toMatchObject({ adam: true, clips: false });
});

test("log-probs of 16 bits hide a small step, and larger ones show the scale and the clipping", async () => {
  const round = (value: number) => {
    const view = new DataView(new ArrayBuffer(4));
    view.setFloat32(0, value);
    view.setUint32(0, (view.getUint32(0) + 0x8000) & 0xffff0000);
    return view.getFloat32(0);
  };
  expect(await probe({ round })).toMatchObject({ adam: true, clips: true, bfloat16: true, rejected: [] });
  expect(await probe({ round, clips: false })).toMatchObject({ clips: false });
  await expect(probe({ round, stride: 2 })).rejects.toThrow(EngineError);
});

test.each(["request", "failed"] as const)("a loss that a server refuses (%s) does not fit", async (kind) => {
  const { form, rejected } = await probe({ refuses: { cross_entropy: refusal(kind) } });
  expect([form.lossFn, rejected]).toEqual(["cispo", ['cross_entropy with signed weights: loss is "no".']]);
});

test("a server that is gone is no misfit, and one without norms cannot be checked", async () => {
  await expect(probe({ refuses: { cross_entropy: refusal("lost") } })).rejects.toMatchObject({ kind: "lost" });
  await expect(probe({ norm: false })).rejects.toMatchObject({
    ...{ subject: "norm of the gradient", expected: "a number among the metrics of optim_step" },
    hint: "Without it the server's loss cannot be checked.",
  });
});

test("what a sampler can do, and how far it is from the trainer", async () => {
  expect(await probe({ topLogprobs: false, seedBits: 31, samplerGap: -0.25 })).toMatchObject({
    ...{ topLogprobs: false, wideSeeds: false },
    logprobGap: expect.closeTo(0.25, 9),
  });
});
