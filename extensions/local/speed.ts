import { count } from "../../src/terminal/format.ts";
import { LocalEngine } from "./engine.ts";
import { type ModelConfig, parameterShapes } from "./model/model-config.ts";
import type { LocalEngineOptions } from "./options.ts";

/** Tokens a second. */
export interface Speed {
  /** The tokens of sequences that are trained, the step included. */
  readonly training: number;
  readonly sampling: number;
}

const [length, drawn, mostRows] = [64, 16, 64];
/** Seconds of a measurement after which no larger one is made. */
const enough = 1;
const adam = { learningRate: 1e-9, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };

/** Times a step of training and sampling by one row, then by more as long as that takes no second: the best of each. Changes the model. */
export async function measureSpeed(engine: LocalEngine): Promise<Speed> {
  const best = { training: 0, sampling: 0 };
  for (let rows = 1; rows <= mostRows; rows *= 8) {
    const started = performance.now();
    const { training, sampling } = await speedOf(engine, rows);
    best.training = Math.max(best.training, training);
    best.sampling = Math.max(best.sampling, sampling);
    if (performance.now() - started > 1000 * enough) break;
  }
  return best;
}

async function speedOf(engine: LocalEngine, rows: number): Promise<Speed> {
  const { vocabularySize, maxLength } = engine.info;
  const half = Math.floor(Math.min(length, maxLength) / 2);
  const maxTokens = Math.min(drawn, half);
  const ids = (row: number) => Array.from({ length: half }, (_, i) => (7 + 31 * row + 17 * i) % vocabularySize);
  const samples = Array.from({ length: rows }, (_, row) => ({
    ...{ trajectory: `speed-${row}`, turn: 0 },
    ...{ context: ids(row), action: ids(row + rows) },
  }));
  const weights = samples.map(({ action }) => action.map(() => 1));
  const training = await fastest(async () => {
    await engine.forwardBackward(samples, weights, { temperature: 1 });
    await engine.step(adam);
  });
  const sampling = await fastest(() =>
    Promise.all(samples.map(({ context }, seed) => engine.sample({ context, maxTokens, stopTokens: [], seed }))),
  );
  return { training: (rows * 2 * half) / training, sampling: (rows * maxTokens) / sampling };
}

/** Seconds of the faster of two runs. */
async function fastest(work: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 2; i++) {
    const started = performance.now();
    await work();
    best = Math.min(best, (performance.now() - started) / 1000);
  }
  return best;
}

export function speedText({ training, sampling }: Speed): string {
  return `trains ${count(training)} and samples ${count(sampling)} tokens/s`;
}

/** The layers of a model that are measured instead of all, and the most of its vocabulary. */
export const few = { layers: 2, vocabulary: 32_768 };

/** Measures the shape of a model by a few of its layers, whose weights are arbitrary. @throws EngineError as a session */
export async function measureShape(
  config: ModelConfig,
  { provider, threads, precision, lora }: Pick<LocalEngineOptions, "provider" | "threads" | "precision" | "lora">,
): Promise<Speed> {
  const { layers, vocabSize } = config;
  const small = { ...config, layers: Math.min(layers, few.layers), vocabSize: Math.min(vocabSize, few.vocabulary) };
  const parameters = [...parameterShapes(small)].map(([name, shape]) => {
    const data = new Float32Array(shape.reduce((product, size) => product * size, 1)).fill(0.01);
    return [name, { data, shape }] as const;
  });
  const model = { config: small, parameters: new Map(parameters), configFile: {}, companions: new Map() };
  const adapter = lora && { rank: lora.rank, alpha: lora.alpha, targets: lora.targets, seed: 0 };
  const engine = new LocalEngine(model, { model: "a part of the model", provider, threads, precision, lora: adapter });
  try {
    return await measureSpeed(engine);
  } finally {
    await engine.dispose();
  }
}
