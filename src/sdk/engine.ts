import { join } from "node:path";
import type { Tokenizer } from "../chat/tokenizer.ts";
import { ConfigError } from "../core/errors.ts";
import type { TokenId } from "../core/trajectory.ts";
import type { Engine } from "../engines/engine.ts";
import { chooseProvider } from "../engines/local/device-choice.ts";
import { createLocalEngine } from "../engines/local/engine.ts";
import { availableMemory } from "../engines/local/machine/memory-available.ts";
import { type MemoryUse, requireMemory } from "../engines/local/memory.ts";
import { readModelConfig } from "../engines/local/model/model-folder.ts";
import type { EngineConfig, LocalEngineConfig, TinkerEngineConfig } from "../engines/settings.ts";
import { createTinkerEngine } from "../engines/tinker/engine.ts";

export interface EnginePurpose {
  /** The use that the model is for: whether the machine's memory suffices is then checked before anything is loaded. */
  readonly use?: MemoryUse;
  /** Decides the first values of a new adapter. Default 0. */
  readonly seed?: number;
}

/** The parts of the model that an engine is given, besides its settings. */
interface ModelParts {
  readonly folder: string;
  readonly tokenizer: Tokenizer;
}

export interface OpenedEngine {
  readonly engine: Engine;
  /** The device that computes, in words for people. */
  readonly device: string;
}

/** Opens the engine of a configuration. The one place that knows every kind. */
export function openEngine(config: EngineConfig, model: ModelParts, purpose: EnginePurpose): Promise<OpenedEngine> {
  switch (config.kind) {
    case "local":
      return openLocal(config, model, purpose);
    case "tinker":
      return openTinker(config, model, purpose);
    case "openai":
      throw refusedEndpoint();
    default:
      return config satisfies never;
  }
}

/** Refuses a chat endpoint where tokens are needed: to train, to talk, to look at a model. */
export function refusedEndpoint(): ConfigError {
  return new ConfigError("engine.kind", "openai", {
    expected: ["local", "tinker"],
    hint: "A chat endpoint gives messages and no tokens: `retrograde eval` measures it, and nothing trains it. To train elsewhere use a Tinker server.",
  });
}

/** Whether an engine computes on this machine, and so needs the weights and their memory here. */
export function computesHere(config: EngineConfig): config is LocalEngineConfig {
  return config.kind === "local";
}

/** @throws EngineError if the engine computes here and this machine has too little memory for the model */
export async function requireRoom(folder: string, config: EngineConfig, { use }: EnginePurpose): Promise<void> {
  if (use === undefined || !computesHere(config)) return;
  requireMemory(folder, await readModelConfig(join(folder, "config.json")), use, availableMemory());
}

async function openLocal(
  { device, threads, lora, sampling }: LocalEngineConfig,
  { folder, tokenizer }: ModelParts,
  { seed = 0 }: EnginePurpose,
): Promise<OpenedEngine> {
  const { provider, description } = await chooseProvider(device, threads);
  const decode = (tokens: readonly TokenId[]) => tokenizer.decode(tokens);
  const adapter = lora && { ...lora, seed };
  return {
    engine: await createLocalEngine({
      ...{ model: folder, threads, provider, lora: adapter, decode },
      sampling: { weights: sampling?.weights, cacheBytes: cacheBytesOf(sampling) },
    }),
    device: description,
  };
}

/** Returns the bytes of the cache from a local engine's settings; undefined where they do not set it. */
export function cacheBytesOf(sampling: LocalEngineConfig["sampling"]): number | undefined {
  return sampling && sampling.cacheGib * 2 ** 30;
}

async function openTinker(
  { url, model, rank, maxLength, inFlight, adam }: TinkerEngineConfig,
  { tokenizer }: ModelParts,
  { seed = 0 }: EnginePurpose,
): Promise<OpenedEngine> {
  const engine = await createTinkerEngine({
    ...{ baseUrl: url, model, rank, maxLength, inFlight, seed, tags: ["retrograde"] },
    vocabularySize: tokenizer.size,
    fixedAdam: adam,
    decode: (tokens: readonly TokenId[]) => tokenizer.decode(tokens),
  });
  const { form, logprobGap, bfloat16 } = engine.findings;
  const gap = logprobGap.toExponential(1);
  const rounded = bfloat16 ? ", log-probs in bfloat16" : "";
  const own = engine.findings.adam ? "" : ", with Adam's settings and clipping of its own";
  return { engine, device: `Tinker server ${url}: ${form.name}, sampler within ${gap} nats of the trainer${rounded}${own}` };
}
