import { requireAll } from "../../src/core/settings.ts";
import type { EngineKind, ModelFiles } from "../../src/engines/registry.ts";
import { localCapabilities } from "./capabilities.ts";
import { ollamaFile } from "./model/gguf/ollama.ts";
import { isRounded, localChecks, localSettings } from "./settings.ts";

const ollamaPrefix = "ollama:";

/** GGUF files, by their paths or by their names in Ollama's store. */
const ggufModels: ModelFiles = {
  names: ["a GGUF file", `"${ollamaPrefix}NAME"`],
  find(name) {
    if (name.startsWith(ollamaPrefix)) return ollamaFile(name.slice(ollamaPrefix.length));
    return name.endsWith(".gguf") ? name : undefined;
  },
  parts: async (file) => (await import("./model/gguf/file.ts")).ggufParts(file, () => true),
  folder: async (file) => (await import("./model/gguf/folder.ts")).ggufFolder(file),
  async elsewhere(folder) {
    const { namedBase } = await import("./model/adapted.ts");
    const { namedParts } = await import("./model/gguf/folder.ts");
    const [base, parts] = [namedBase(folder), namedParts(folder)];
    const places = [...(base === undefined ? [] : [base.model]), ...(parts?.parts ?? [])];
    return { places, isOwn: base?.isOwn !== false && parts?.isOwn !== false };
  },
};

/** ONNX Runtime on this machine, as a configuration chooses it. What computes is loaded when it is opened. */
export const localEngine: EngineKind<typeof localSettings> = {
  settings: localSettings,
  check(settings) {
    const checks = localChecks.map((check) => ({
      ...check,
      holds: ({ engine }: { readonly engine: typeof settings }) => check.holds(engine),
      setting: `engine.${check.setting}`,
    }));
    requireAll(checks, { engine: settings });
  },
  implies: impliedByPrecision,
  capabilities({ device }) {
    if (device === "auto") return { certain: localCapabilities("webgpu"), possible: localCapabilities("cpu") };
    return { certain: localCapabilities(device), possible: localCapabilities(device) };
  },
  open: async (settings, model, purpose) => (await import("./open.ts")).openLocal(settings, model, purpose),
  inspect: async (file, name, settings, use) => (await import("./open.ts")).inspectModel(file, name, settings, use),
  diagnose: async (settings) => (await import("./diagnosis.ts")).diagnoseLocal(settings),
  models: ggufModels,
};

/** A sampler in 8 bits draws from another distribution than the trainer's: what it drew is weighted. */
function impliedByPrecision({ sampling, lora }: Readonly<Record<string, unknown>>): object | undefined {
  const { weights } = (sampling ?? {}) as { readonly weights?: unknown };
  const { base } = (lora ?? {}) as { readonly base?: unknown };
  if (weights !== "int8" && !isRounded(base)) return undefined;
  const engine = isRounded(base) ? { engine: { sampling: { weights: "int8" } } } : {};
  return { ...engine, correction: {} };
}
