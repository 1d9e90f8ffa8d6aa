import { type AlgorithmConfig, algorithmConfigSchema, factsOf, rolloutAlgorithms } from "../../algorithms/algorithms.ts";
import { ConfigError } from "../../core/errors.ts";
import type { Capability } from "../../core/policy.ts";
import { differentAdam, type EngineInfo } from "../../engines/engine.ts";
import type { TrainingConfig } from "./settings.ts";

/** A setting that an engine must have a capability for. */
export interface Need {
  readonly capability: Capability;
  readonly setting: string;
  readonly value: unknown;
  /** The value that the setting can have on an engine that lacks it. */
  readonly instead: string;
  readonly hint?: string;
}

/**
 * Checks before a run begins that the engine can do all that the configuration asks for.
 * @throws ConfigError naming the first setting that needs what the engine lacks, and what to write instead
 */
export function requireCapabilities(config: TrainingConfig, info: Pick<EngineInfo, "name" | "capabilities" | "fixedAdam">): void {
  const { name, capabilities } = info;
  const offer = `${name} has ${capabilities.length === 0 ? "none" : capabilities.join(", ")}`;
  const missing = unmetNeeds(config, info).at(0);
  if (missing === undefined) return;
  const { capability, setting, value, instead, hint = "Change the setting, or choose another engine." } = missing;
  throw new ConfigError(setting, value, {
    expected: `${instead === "" ? "" : `${instead}, or `}an engine with the capability "${capability}" (${offer})`,
    hint,
  });
}

/** Every setting that needs what the engine lacks, in the order in which they would be refused. */
export function unmetNeeds(config: TrainingConfig, info: Pick<EngineInfo, "capabilities" | "fixedAdam">): Need[] {
  return needsOf(config, info).filter(({ capability }) => !info.capabilities.includes(capability));
}

function needsOf(config: TrainingConfig, info: Pick<EngineInfo, "capabilities" | "fixedAdam">): Need[] {
  const { algorithm, rollout, optimizer, checkpoint } = config;
  const adam = differentAdam(info, optimizer);
  const all: (Need | false)[] = [
    ...algorithmNeeds(algorithm),
    rollout.temperature !== 1 && {
      capability: "tempered-logprobs",
      setting: "rollout.temperature",
      value: rollout.temperature,
      instead: "1",
    },
    rollout.ahead > 0 && {
      capability: "frozen-policies",
      setting: "rollout.ahead",
      value: rollout.ahead,
      instead: "0",
      hint: "This engine is either sampled or trained, not both at once. It is so on WebGPU.",
    },
    rollout.branching !== "off" && {
      capability: rollout.branching.entropy === "exact" ? "token-entropies" : "top-logprobs",
      setting: "rollout.branching.entropy",
      value: rollout.branching.entropy,
      instead: rollout.branching.entropy === "exact" ? '"top-10"' : '"exact"',
      hint: 'Without either capability rollouts cannot branch: set rollout.branching to "off".',
    },
    optimizer.clipNorm !== "off" && {
      capability: "gradient-clipping",
      setting: "optimizer.clipNorm",
      value: optimizer.clipNorm,
      instead: '"off"',
    },
    adam !== undefined && {
      capability: "adam-settings",
      setting: `optimizer.${adam}`,
      value: optimizer[adam],
      instead: String(info.fixedAdam?.[adam] ?? "the server's own"),
    },
    ...(["exact-state", "full-precision-state"] as const).map(
      (capability) =>
        checkpoint.exact && {
          capability,
          setting: "checkpoint.exact",
          value: true,
          instead: "false",
          hint: "With false a resumed run continues near where it was, not with the same numbers.",
        },
    ),
  ];
  return all.filter((need) => need !== false);
}

function algorithmNeeds(algorithm: AlgorithmConfig): Need[] {
  return factsOf(algorithm).capabilities.map((capability) => {
    switch (capability) {
      case "entropy-gradient":
        return { capability, setting: "algorithm.entropyCoef", value: setting(algorithm, "entropyCoef"), instead: "0" };
      case "reference":
        return { capability, setting: "algorithm.klCoef", value: setting(algorithm, "klCoef"), instead: "0" };
      default: {
        const trainable = rolloutAlgorithms.filter((kind) => {
          const defaults = algorithmConfigSchema.safeParse({ kind });
          return defaults.success && !factsOf(defaults.data).capabilities.includes(capability);
        });
        const hint = `This engine can train ${trainable.map((kind) => `"${kind}"`).join(", ")}.`;
        return { capability, setting: "algorithm.kind", value: algorithm.kind, instead: "", hint };
      }
    }
  });
}

function setting(algorithm: AlgorithmConfig, name: "entropyCoef" | "klCoef"): unknown {
  return (algorithm as Partial<Record<typeof name, unknown>>)[name];
}
