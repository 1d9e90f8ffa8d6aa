import { join } from "node:path";
import type { Tokenizer } from "../chat/tokenizer.ts";
import { ConfigError } from "../core/errors.ts";
import type { Capability } from "../core/policy.ts";
import type { TokenId } from "../core/trajectory.ts";
import type { Engine } from "../engines/engine.ts";
import { localCapabilities } from "../engines/local/capabilities.ts";
import { chooseProvider } from "../engines/local/device-choice.ts";
import { createLocalEngine } from "../engines/local/engine.ts";
import { isGpu } from "../engines/local/machine/device.ts";
import { passBytesOn } from "../engines/local/machine/gpu-memory.ts";
import { availableMemory } from "../engines/local/machine/memory-available.ts";
import { type MemoryUse, requireMemory } from "../engines/local/memory.ts";
import { planMemory, planText } from "../engines/local/memory-plan.ts";
import { readModelConfig } from "../engines/local/model/model-folder.ts";
import type { EngineConfig, LocalEngineConfig, TinkerEngineConfig } from "../engines/settings.ts";

export interface EnginePurpose {
  /** The use that the model is for: whether the machine's memory suffices is then checked before anything is loaded. */
  readonly use?: MemoryUse;
  /** Decides the first values of a new adapter. Default 0. */
  readonly seed?: number;
}

/** The parts of the model that an engine is given, besides its settings. */
export interface ModelParts {
  readonly folder: string;
  readonly tokenizer: Tokenizer;
}

export interface OpenedEngine {
  readonly engine: Engine;
  /** The device that computes, in words for people. */
  readonly device: string;
}

/** An engine on another machine, which an extension brings. */
export interface RemoteEngine {
  readonly open: (config: TinkerEngineConfig, model: ModelParts, purpose: EnginePurpose) => Promise<OpenedEngine>;
  /** Capabilities that it surely has, before a server was asked. */
  readonly certain: readonly Capability[];
  /** Capabilities that it may have. */
  readonly possible: readonly Capability[];
}

let remote: RemoteEngine | undefined;

/** Adds the engine of the kind "tinker". */
export function addEngine(engine: RemoteEngine): void {
  remote = engine;
}

/** @throws ConfigError if no extension has brought the engine */
function remoteEngine(): RemoteEngine {
  if (remote === undefined)
    throw new ConfigError("engine.kind", "tinker", {
      expected: ["local"],
      hint: 'This program did not load the engine: import "retrograde-rl" itself, which adds it.',
    });
  return remote;
}

/** Returns the capabilities that an engine surely has, and those that it may have, before it is opened. */
export function capabilityRange(engine: EngineConfig): Pick<RemoteEngine, "certain" | "possible"> {
  switch (engine.kind) {
    case "local": {
      const { device } = engine;
      if (device === "auto") return { certain: localCapabilities("webgpu"), possible: localCapabilities("cpu") };
      return { certain: localCapabilities(device), possible: localCapabilities(device) };
    }
    case "openai":
      throw refusedEndpoint();
    case "tinker":
      return remoteEngine();
  }
}

/** Opens the engine of a configuration. The one place that knows every kind. */
export function openEngine(config: EngineConfig, model: ModelParts, purpose: EnginePurpose): Promise<OpenedEngine> {
  switch (config.kind) {
    case "local":
      return openLocal(config, model, purpose);
    case "tinker":
      return remoteEngine().open(config, model, purpose);
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
    hint: "A chat endpoint gives messages and no tokens: `retrograde-rl eval` measures it, and nothing trains it. To train elsewhere use a Tinker server.",
  });
}

/** Whether an engine computes on this machine, and so needs the weights and their memory here. */
export function computesHere(config: EngineConfig): config is LocalEngineConfig {
  return config.kind === "local";
}

/** @throws EngineError if the engine computes here and this machine has too little memory for the model */
export async function requireRoom(folder: string, config: EngineConfig, { use }: EnginePurpose): Promise<void> {
  if (use === undefined || !computesHere(config)) return;
  const model = await readModelConfig(join(folder, "config.json"));
  const { available, limit } = memoryOf(config);
  const plan = planMemory(model, use, { available: Math.min(available, limit) });
  requireMemory(folder, model, { ...use, ...plan }, available, limit);
}

/** The bytes that there are, and those that the engine may take. */
function memoryOf({ memory }: LocalEngineConfig): { available: number; limit: number } {
  return { available: availableMemory(), limit: memory === undefined ? Number.POSITIVE_INFINITY : memory * 2 ** 30 };
}

async function openLocal(
  config: LocalEngineConfig,
  { folder, tokenizer }: ModelParts,
  { use, seed = 0 }: EnginePurpose,
): Promise<OpenedEngine> {
  const { device, threads, workers, lora, sampling, maxLength } = config;
  const { provider, description } = await chooseProvider(device, threads);
  const { available, limit } = memoryOf(config);
  const most = Math.min(available, limit);
  const budget = { available: most };
  const model = await readModelConfig(join(folder, "config.json"));
  const plan = use && planMemory(model, { ...use, workers }, budget);
  const said = use?.training && plan ? planText(model, use, plan, most) : undefined;
  const decode = (tokens: readonly TokenId[]) => tokenizer.decode(tokens);
  const adapter = lora && { ...lora, seed };
  return {
    engine: await createLocalEngine({
      ...{ model: folder, threads, provider, lora: adapter, decode },
      ...{ workers: plan?.workers ?? workers, restBytes: plan?.restBytes, maxLength },
      passBytes: passBytesOn(provider, plan?.passBytes),
      sampling: {
        weights: sampling?.weights,
        cacheBytes: cacheBytesOf(sampling),
        weightsAsInputs: isGpu(provider) ? undefined : plan?.weightsAsInputs,
        lookup: use?.training === false,
      },
    }),
    device: said === undefined ? description : `${description}: ${said}`,
  };
}

/** Returns the bytes of the cache from a local engine's settings; undefined where they do not set it. */
export function cacheBytesOf(sampling: LocalEngineConfig["sampling"]): number | undefined {
  return sampling && sampling.cacheGib * 2 ** 30;
}
