import { randomStream } from "../../../src/core/random.ts";
import type { ActionInContext } from "../../../src/core/trajectory.ts";
import { createLocalEngine, type LocalEngine } from "../engine.ts";
import type { LocalEngineOptions } from "../options.ts";

export const model = new URL("../../../models/office", import.meta.url).pathname;
export const steps = { learningRate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };

/** Trajectories of unequal lengths that share nothing: several rows. */
export const samples: readonly ActionInContext[] = Array.from({ length: 6 }, (_, i) => {
  const random = randomStream(1, "sample", i);
  const tokens = (length: number) => Array.from({ length }, () => random.integer(500));
  return { trajectory: `${i}`, turn: 0, context: tokens(20 + 20 * i), action: tokens(8) };
});
export const weights = samples.map(({ action }, i) => action.map(() => (i % 2 === 0 ? 0.1 : -0.1)));

export const opened: LocalEngine[] = [];

export async function trained(options: Partial<LocalEngineOptions>, entropyWeights = false) {
  const engine = await createLocalEngine({ model, threads: 1, ...options });
  opened.push(engine);
  const numbers: (readonly number[])[] = [];
  for (let step = 0; step < 2; step++) {
    numbers.push(...(await engine.logprobs(samples, { temperature: 0.8 })));
    await engine.forwardBackward(samples, () => weights, {
      ...{ temperature: 1 },
      entropyWeights: entropyWeights ? weights : undefined,
    });
    await engine.forwardBackward(samples, weights, { temperature: 1 }); // adds to it
    numbers.push([(await engine.step(steps)).gradientNorm]);
  }
  const { tokens } = await engine.sample({ context: [1, 2, 3], maxTokens: 4, stopTokens: [], seed: 1 });
  return { engine, numbers: [...numbers, tokens], training: engine.takeStats().training };
}
