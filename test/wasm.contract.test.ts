import "./office.ts";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { createLocalEngine } from "../extensions/local/engine.ts";
import type { Runtime } from "../extensions/local/machine/runtime.ts";
import { makeChat } from "../src/chat/chat.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import type { TokenId } from "../src/core/trajectory.ts";
import { createEnvironment } from "../src/environments/registry.ts";
import { resolveConfig } from "../src/training/config/config.ts";
import { rolloutSource } from "../src/training/sampling/rollout-source.ts";
import { trainingStep } from "../src/training/update/step.ts";

/** onnxruntime-web weighs 130 MB, so it is asked for: the folder in which it was installed. */
const folder = process.env.RETROGRADE_ONNXRUNTIME_WEB ?? "";
const installed = existsSync(join(folder, "node_modules/onnxruntime-web")) && folder !== "";
const reason = installed ? "" : ' (skipped: set RETROGRADE_ONNXRUNTIME_WEB="$(./.ci/onnxruntime-web)")';
const model = join(import.meta.dirname, "../models/office");
const config = resolveConfig({
  environment: "office",
  rollout: { tasksPerStep: 3, groupSize: 4 },
  algorithm: { kind: "grpo", klCoef: 0.01 },
  // Adam makes full steps of gradients that are nothing but rounding, unless ε is above them.
  optimizer: { schedule: "constant", epsilon: 1e-4 },
  steps: 2,
});
const start = { step: 0, position: 0, episodes: 0, toolCalls: 0, sampledTokens: 0, wallSeconds: 0, peakRssMb: 0 };

/** One whole training step of the default model: rollouts, rewards, update. */
async function stepOn(runtime: Runtime | undefined) {
  const tokenizer = loadTokenizer(model);
  const decode = (tokens: readonly TokenId[]) => tokenizer.decode(tokens);
  const engine = await createLocalEngine({ model, threads: 1, runtime, decode });
  await engine.snapshotReference();
  const chat = makeChat(tokenizer);
  const environment = createEnvironment("office", {});
  const args = { config, engine, chat, environment, onEvent: () => {} };
  const rollouts = await rolloutSource(args, start, undefined, () => []);
  const { trajectories, record } = await trainingStep(args, 1, await rollouts.take(1, 0));
  await rollouts.close();
  const turns = trajectories.flatMap((trajectory) => trajectory.turns);
  const after = await engine.logprobs(turns, { temperature: 1 });
  await engine.dispose();
  return { actions: turns.map(({ action }) => action), sampled: turns.map((turn) => turn.samplerLogprobs), after, record };
}

test.runIf(installed)(
  `a training step on WebAssembly has the tokens of one on the native runtime, and its log-probs within 1e-5${reason}`,
  async () => {
    const entry = createRequire(join(folder, "package.json")).resolve("onnxruntime-web");
    const web = await import(pathToFileURL(entry).href);
    const { env } = web.default ?? web;
    Object.assign(env.wasm, { numThreads: 1 });
    const wasm = await stepOn(web.default ?? web);
    const native = await stepOn(undefined);
    expect(wasm.actions).toEqual(native.actions);
    expect(largestDifference(wasm.sampled, native.sampled)).toBeLessThan(1e-5);
    const [norm, expected] = [wasm, native].map(({ record }) => Number(record.metrics.gradientNorm));
    expect(norm / expected).toBeCloseTo(1, 4);
    expect(largestDifference(native.after, native.sampled)).toBeGreaterThan(0.01); // the step moved the policy
    expect(largestDifference(wasm.after, native.after)).toBeLessThan(1e-5);
  },
  600_000,
);

type Rows = readonly (readonly number[])[];

function largestDifference(a: Rows, b: Rows): number {
  expect(a.map((row) => row.length)).toEqual(b.map((row) => row.length));
  return Math.max(...a.flatMap((row, i) => row.map((value, j) => Math.abs(value - b[i][j]))));
}
