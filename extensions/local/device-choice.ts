import { EngineError } from "../../src/core/errors.ts";
import { count } from "../../src/terminal/format.ts";
import { Graph } from "./graph/graph.ts";
import { Session } from "./graph/session.ts";
import { isGpu, type Provider } from "./machine/device.ts";
import type { Runtime } from "./machine/runtime.ts";
import type { ModelConfig } from "./model/model-config.ts";
import type { LocalEngineOptions, LoraOptions } from "./options.ts";
import { isHardware, measurePeak } from "./peak.ts";
import { few, measureShape, speedText } from "./speed.ts";

/** The device that a user asks for: a provider, or whichever works here and is fastest. */
export type Device = Provider | "auto";

export interface Choice {
  readonly provider: Provider;
  /** For people: what was taken, and for "auto" what else was tried. */
  readonly description: string;
}

/** The model that a device is to be fast for. */
export interface ForModel {
  readonly config: ModelConfig;
  readonly training: boolean;
  readonly lora?: LoraOptions;
  readonly precision?: LocalEngineOptions["precision"];
}

/**
 * Tries what was asked for.
 * @param threads of the CPU
 * @param model that "auto" measures by. Default: products of matrices
 * @throws EngineError if a provider that was asked for by name does not work here, with what to install
 */
export async function chooseProvider(
  device: Device,
  threads: number,
  model?: ForModel,
  measures: Measures = ours,
): Promise<Choice> {
  if (device === "auto") return fastest((provider) => measure(provider, threads, model, measures));
  await measures.tryProvider(device);
  return { provider: device, description: device };
}

/** How fast something is: more is faster. */
interface Measured {
  readonly score: number;
  readonly text: string;
}

/** Takes the provider that is the fastest by a measurement; those that fail are not available, and against them the processor needs none. */
export async function fastest(measured: (provider: Provider) => Promise<Measured>): Promise<Choice> {
  const tried: (Measured & { readonly provider: Provider })[] = [];
  for (const provider of ["cuda", "webgpu", "cpu"] as const) {
    if (provider === "cpu" && tried.every(({ score }) => score === 0)) {
      tried.push({ provider, score: 1, text: provider });
      break;
    }
    try {
      const { score, text } = await measured(provider);
      tried.push({ provider, score, text: `${provider} ${text}` });
    } catch (error) {
      if (provider === "cpu" || !(error instanceof EngineError)) throw error;
      tried.push({ provider, score: 0, text: `${provider} not available` });
    }
  }
  const taken = tried.reduce((best, each) => (each.score > best.score ? each : best));
  const others = tried.filter((each) => each !== taken).map(({ text }) => text);
  return { provider: taken.provider, description: `${taken.text}, the fastest here (${others.join(", ")})` };
}

async function measure(
  provider: Provider,
  threads: number,
  model: ForModel | undefined,
  { isHardware, measurePeak, measureShape }: Measures,
): Promise<Measured> {
  const gflops = async () => {
    const score = await measurePeak({ threads, provider });
    return { score, text: `${score < 10 ? score.toFixed(1) : count(score)} GFLOP/s` };
  };
  // A driver in software would take minutes for what hardware does in a second.
  if (model === undefined || (isGpu(provider) && !(await isHardware({ threads, provider })))) {
    const { score, text } = await gflops();
    return { score: model === undefined ? score : 0, text };
  }
  const speed = await measureShape(model.config, { ...model, provider, threads });
  // Seconds of a token that is sampled and, where it is, trained.
  const score = 1 / (1 / speed.sampling + (model.training ? 1 / speed.training : 0));
  return { score, text: `${speedText(speed)} in ${few.layers} of the model's layers` };
}

/** Runs the smallest graph there. */
export async function tryProvider(provider: Provider, runtime?: Runtime): Promise<void> {
  if (provider === "cpu") return;
  const graph = new Graph();
  graph.output("y", graph.neg(graph.input("x", [1])));
  const session = await Session.open(graph, { threads: 1, provider, runtime });
  try {
    await session.run({ x: { data: Float32Array.of(1), shape: [1] } }, ["y"]);
  } finally {
    await session.close();
  }
}

const ours = { isHardware, measurePeak, measureShape, tryProvider };
export type Measures = typeof ours;
