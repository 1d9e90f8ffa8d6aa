import { join } from "node:path";
import type { TokenId } from "../../src/core/trajectory.ts";
import type { EnginePurpose, EngineUse, ModelParts, OpenedEngine } from "../../src/engines/registry.ts";
import { chooseProvider } from "./device-choice.ts";
import { createLocalEngine } from "./engine.ts";
import { planOnGpu } from "./gpu-plan.ts";
import { isGpu } from "./machine/device.ts";
import { availableMemory } from "./machine/memory-available.ts";
import { type MemoryUse, requireMemory } from "./memory.ts";
import { planMemory, planText } from "./memory-plan.ts";
import type { ModelConfig } from "./model/model-config.ts";
import { readModelConfig } from "./model/model-folder.ts";
import type { LocalSettings } from "./settings.ts";

/** The use of a model under the engine's settings. */
export function memoryUse(settings: Partial<LocalSettings>, use: EngineUse): MemoryUse {
  const { lora, sampling, maxLength } = settings;
  return {
    ...{ ...use, length: maxLength ?? use.length, lora },
    ...{ weights: sampling?.weights, cacheBytes: cacheBytesOf(settings) },
  };
}

/** Undefined where the settings do not set it. */
function cacheBytesOf({ sampling }: Partial<LocalSettings>): number | undefined {
  return sampling?.cacheGib === undefined ? undefined : sampling.cacheGib * 2 ** 30;
}

/** As `EngineKind.inspect`. */
export async function inspectModel(
  file: string,
  name: string,
  settings: Partial<LocalSettings> = {},
  use?: EngineUse,
): Promise<void> {
  const model = await readModelConfig(file);
  if (use === undefined) return;
  const { memory, plan, available, limit } = planNow(model, settings, use);
  requireMemory(name, model, { ...memory, ...plan }, available, limit);
}

/** Plans a use of a model in the bytes that there are now (`available`), of which the engine may take `limit`. */
export function planNow(model: ModelConfig, settings: Partial<LocalSettings>, use: EngineUse) {
  const memory = memoryUse(settings, use);
  const available = availableMemory();
  const limit = settings.memory === undefined ? Number.POSITIVE_INFINITY : settings.memory * 2 ** 30;
  const most = Math.min(available, limit);
  return { memory, available, limit, most, plan: planMemory(model, memory, most) };
}

/** As `EngineKind.open`. */
export async function openLocal(
  settings: LocalSettings,
  { folder, tokenizer }: ModelParts,
  { use, seed = 0 }: EnginePurpose,
): Promise<OpenedEngine> {
  const { device, precision, threads, lora, sampling, maxLength } = settings;
  const model = await readModelConfig(join(folder, "config.json"));
  const forModel = { config: model, training: use?.training === true, precision, lora: lora && { ...lora, seed } };
  const { provider, description } = await chooseProvider(device, threads, forModel);
  const planned = use && planNow(model, settings, use);
  const onGpu = planned && planOnGpu(provider, model, planned.memory);
  const onCpu = planned?.memory.training ? planText(model, planned.memory, planned.plan, planned.most) : undefined;
  const said = onGpu ?? onCpu;
  // The plan is of the processor's memory. On a GPU sessions stay open, and passes and caches go by what its driver says is free.
  const { passBytes, restBytes, weightsAsInputs } = isGpu(provider) ? {} : (planned?.plan ?? {});
  const decode = (tokens: readonly TokenId[]) => tokenizer.decode(tokens);
  const adapter = lora && { ...lora, seed };
  return {
    engine: await createLocalEngine({
      ...{ model: folder, threads, provider, precision, lora: adapter, decode },
      ...{ passBytes, restBytes, maxLength },
      sampling: {
        weights: sampling?.weights,
        cacheBytes: cacheBytesOf(settings),
        weightsAsInputs,
      },
    }),
    device: said === undefined ? description : `${description}: ${said}`,
  };
}
