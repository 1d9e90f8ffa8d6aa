import { type AlgorithmConfig, algorithmConfigSchema, needs, rolloutAlgorithms } from "../algorithms/settings/config.ts";
import { ConfigError } from "../core/errors.ts";
import type { Capability } from "../core/policy.ts";
import type { EngineInfo } from "../engines/engine.ts";

/** Before a run begins. @throws ConfigError if rollouts are to be sampled ahead by an engine that cannot be sampled while it trains */
export function requireFrozenPolicies(ahead: number, { name, capabilities }: EngineInfo): void {
  if (ahead === 0 || capabilities.includes("frozen-policies")) return;
  throw new ConfigError("rollout.ahead", ahead, {
    expected: `0, or an engine with the capability "frozen-policies" (${name} has ${capabilities.length === 0 ? "none" : capabilities.join(", ")})`,
    hint: "This engine is either sampled or trained, not both at once; on WebGPU it is so.",
  });
}

/** Before a run begins. @throws ConfigError if an algorithm needs what the engine lacks, with those that it can train */
export function requireCapabilities(algorithm: AlgorithmConfig, { name, capabilities }: EngineInfo): void {
  const has = (capability: Capability) => capabilities.includes(capability);
  const missing = needs(algorithm).find((capability) => !has(capability));
  if (missing === undefined) return;
  const offer = `${name} has ${capabilities.length === 0 ? "none" : capabilities.join(", ")}`;
  if (missing === "entropy-gradient" && "entropyCoef" in algorithm)
    throw new ConfigError("algorithm.entropyCoef", algorithm.entropyCoef, {
      expected: `0, or an engine with the capability "${missing}" (${offer})`,
      hint: "Set it to 0 to train on this engine.",
    });
  const trainable = rolloutAlgorithms.filter((kind) => {
    const defaults = algorithmConfigSchema.safeParse({ kind });
    return defaults.success && needs(defaults.data).every(has);
  });
  throw new ConfigError("algorithm.kind", algorithm.kind, {
    expected: `an engine with the capability "${missing}" (${offer})`,
    hint: `This engine can train ${trainable.map((kind) => `"${kind}"`).join(", ")}.`,
  });
}
