import { expect, test } from "vitest";
import type { Engine, EngineCritic } from "../../engines/engine.ts";
import { resolveConfig } from "../config/config.ts";
import "../../../test/office.ts";
import { enginePolicy, stepOptions } from "./engine-policy.ts";
import { remoteTiming } from "./remote-timing.ts";

const step = { learningRate: 0.5, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
const samples = [{ trajectory: "a", turn: 0, context: [1], action: [2] }];
const decide = () => [[1]];

/** Answers every call by its name, and keeps what it was given. */
function recorded(calls: unknown[], names: readonly string[]) {
  const answer =
    (name: string) =>
    async (...args: unknown[]) => {
      calls.push([name, ...args]);
      return name;
    };
  return Object.fromEntries(names.map((name) => [name, answer(name)]));
}

test("an engine's calls are given the rollouts' temperature and the step's settings", async () => {
  const calls: unknown[] = [];
  const engine = recorded(calls, [
    "logprobs",
    "referenceLogprobs",
    "forwardBackward",
    "step",
    "passAndStep",
  ]) as unknown as Engine;
  const critic = recorded(calls, ["values", "forwardBackward", "step"]) as unknown as EngineCritic;
  const policy = enginePolicy(engine, 0.7, step, critic);
  const entropyWeights = [[2]];
  const answers = [
    await policy.logprobs(samples),
    await policy.referenceLogprobs(samples),
    await policy.forwardBackward(samples, decide, entropyWeights),
    await policy.step(),
    await policy.passAndStep?.(samples, [[1]]),
    await policy.critic?.values(samples),
    await policy.critic?.forwardBackward(samples, decide),
    await policy.critic?.step(3),
  ];
  expect(calls).toEqual([
    ["logprobs", samples, { temperature: 0.7 }],
    ["referenceLogprobs", samples, { temperature: 0.7 }],
    ["forwardBackward", samples, decide, { temperature: 0.7, entropyWeights }],
    ["step", step],
    ["passAndStep", samples, [[1]], { temperature: 0.7 }, step],
    ["values", samples],
    ["forwardBackward", samples, decide],
    ["step", { ...step, learningRate: 1.5 }],
  ]);
  expect(answers).toEqual(calls.map((call) => (call as string[])[0]));
  const plain = enginePolicy(recorded(calls, ["logprobs"]) as unknown as Engine, 1, step);
  expect([plain.passAndStep, plain.critic]).toEqual([undefined, undefined]);
});

test("the optimiser's settings are the engine's, and no clipping is a norm without end", () => {
  const { optimizer } = resolveConfig({ optimizer: { clipNorm: "off", beta1: 0.8, weightDecay: 0.1 } });
  expect(stepOptions(optimizer, 0.25)).toEqual({
    ...{ learningRate: 0.25, beta1: 0.8, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 },
    clipNorm: Number.POSITIVE_INFINITY,
  });
  expect(stepOptions({ ...optimizer, clipNorm: 2 }, 1).clipNorm).toBe(2);
});

test("what parts of a step exchanged with a server is added up, in MiB; nothing is said of an engine here", () => {
  const part = { requests: 1, waits: 2, sentBytes: 2 ** 20, receivedBytes: 3 * 2 ** 20, sharedTokens: 4 };
  expect(remoteTiming([part, undefined, { ...part, requests: 9, sharedTokens: 1 }])).toEqual({
    ...{ requests: 10, serverWaits: 4, sentMb: 2, receivedMb: 6, sharedTokens: 5 },
  });
  expect([remoteTiming([undefined]), remoteTiming([])]).toEqual([{}, {}]);
});
