import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { inPrecision } from "../device-choice.ts";
import { createLocalEngine } from "../engine.ts";
import { loadModel } from "../model/model-folder.ts";
import { roundedLogprobTolerance } from "../model/rounded.ts";
import type { LocalEngineOptions } from "../options.ts";
import { openvinoOf, outdatedOpenvino } from "./openvino.ts";
import { type Library, loadLibrary } from "./openvino-library.ts";

const folder = process.env.RETROGRADE_OPENVINO;
const library = folder === undefined ? undefined : await loadLibrary(folder);
const model = fileURLToPath(new URL("../../../../models/office", import.meta.url));

test("where it is not installed, the device is refused with the commands that install it", async () => {
  await expect(loadLibrary("/nowhere")).rejects.toThrow(
    /^OpenVINO is "\/nowhere"; expected in RETROGRADE_OPENVINO a folder with the packages koffi and openvino \(.*\)\. Run `npm install --prefix openvino koffi@/,
  );
});

/** A library that computes nothing. */
const idle: Library = {
  ...{ call: () => {}, out: () => 1n, text: () => "FP32", free: () => {}, tensor: () => 1n },
  ...{ numbers: () => new Float32Array(1), compile: () => 1n },
};

test("between runs whatever waits has its turn: a signal is heard in a long update", async () => {
  const session = await openvinoOf(idle).runtime.InferenceSession.create(new Uint8Array(), {});
  let turns = 0;
  const count = () => {
    turns++;
    waiting = setImmediate(count);
  };
  let waiting = setImmediate(count);
  for (let i = 0; i < 10; i++) await session.run({}, ["y"]);
  clearImmediate(waiting);
  expect(turns).toBeGreaterThanOrEqual(9);
});

test.each([
  ["FP32 BF16 INT8", "bf16", "openvino, training in bfloat16"],
  ["WINOGRAD FP32 INT8", "f32", "openvino in float32: this processor has no units for bfloat16"],
] as const)("a processor with %s computes in %s, and that is said", (capabilities, precision, said) => {
  const chosen = openvinoOf({
    ...{ out: () => 1n, text: () => capabilities, call: refuse, free: refuse, tensor: refuse, numbers: refuse, compile: refuse },
  }).precision;
  expect(chosen).toBe(precision);
  expect(inPrecision(chosen)).toBe(said);
});

function refuse(): never {
  throw new Error("not called to find the precision");
}

test("an older version is named by what it lacks", () => {
  const error = outdatedOpenvino(new Error("OpenVINO does not support the following ONNX operations: com.microsoft.FusedMatMul"));
  expect(error?.message).toContain('operators is "com.microsoft.FusedMatMul"; expected OpenVINO 2026.4 or later');
  expect(outdatedOpenvino(new Error("another"))).toBeUndefined();
});

const [context, action] = [
  Array.from({ length: 40 }, (_, i) => (i * 37) % 800),
  Array.from({ length: 24 }, (_, i) => (i * 91) % 800),
];
const samples = [0, 1, 2].map((i) => ({ trajectory: `${i}`, turn: 0, context: context.slice(i), action }));
const weights = samples.map(() => action.map((_, i) => Math.sin(i) / 10));
/** A learning rate so small that weights held in bfloat16 would not move: its numbers around 0.1 are 5e-4 apart. */
const learningRate = 1e-6;
const adam = { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0, clipNorm: 1e9 };

/** A training step and a sampled action. */
async function play(options: Pick<LocalEngineOptions, "runtime" | "provider"> = {}) {
  const engine = await createLocalEngine({ model, threads: 1, ...options });
  const saved = await mkdtemp(join(tmpdir(), "retrograde-openvino-"));
  try {
    const logprobs = await engine.forwardBackward(samples, weights, { temperature: 1 });
    const { gradientNorm } = await engine.step({ ...adam, learningRate });
    await engine.saveModel(saved);
    const sampled = await engine.sample({ context, maxTokens: 16, stopTokens: [], seed: 2 });
    const [scored] = await engine.logprobs([{ trajectory: "s", turn: 0, context, action: sampled.tokens }], { temperature: 1 });
    const { parameters } = await loadModel(saved);
    return { logprobs: logprobs.flat(), gradientNorm, parameters, sampled, scored };
  } finally {
    await engine.dispose();
    await rm(saved, { recursive: true });
  }
}

/** Largest difference of two rows of numbers. */
function apart(a: readonly number[], b: readonly number[]): number {
  expect(a.length).toBe(b.length);
  return Math.max(...a.map((x, i) => Math.abs(x - b[i])));
}

test.skipIf(library === undefined)("in float32 OpenVINO computes what ONNX Runtime does", async () => {
  const [ours, theirs] = [await play(), await play({ runtime: library && openvinoOf(library, "f32").runtime })];
  expect(apart(theirs.logprobs, ours.logprobs)).toBeLessThan(1e-4); // the tolerance of other devices
  expect(theirs.gradientNorm / ours.gradientNorm).toBeCloseTo(1, 4);
  expect(theirs.sampled.tokens).toEqual(ours.sampled.tokens);
  expect(apart(theirs.sampled.logprobs, theirs.scored)).toBeLessThan(1e-4);
});

test.skipIf(library === undefined)(
  "in bfloat16 a step is that of float32 within its rounding, and moves weights of float32",
  async () => {
    const [ours, theirs] = [await play(), await play({ provider: "openvino" })];
    const deviations = theirs.logprobs.map((x, i) => x - ours.logprobs[i]);
    // bfloat16 keeps 8 bits, a relative error of 2^-9 for each product: log-probs around -10 of a few layers are off by some hundredths.
    expect(Math.hypot(...deviations) / Math.sqrt(deviations.length)).toBeLessThan(0.1);
    expect(theirs.gradientNorm / ours.gradientNorm).toBeGreaterThan(0.95);
    expect(theirs.gradientNorm / ours.gradientNorm).toBeLessThan(1.05);
    expect(apart(theirs.sampled.logprobs, theirs.scored)).toBeLessThan(roundedLogprobTolerance);
    const start = (await loadModel(model)).parameters;
    for (const [name, { data }] of theirs.parameters) {
      if (data.length < 2 ** 14) continue; // Adam's first step moves each number whose gradient is not 0 by the rate
      const from = start.get(name)?.data ?? [];
      const moves = data.map((x, i) => Math.abs(x - from[i])).filter((x) => x !== 0);
      expect(moves.length).toBeGreaterThan(data.length / 10);
      expect(moves.reduce((most, x) => Math.max(most, x))).toBeLessThan(1.2 * learningRate);
    }
  },
);
