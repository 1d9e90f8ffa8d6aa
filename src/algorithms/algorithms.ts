import { z } from "zod";
import type { Capability, Policy } from "../core/policy.ts";
import { present } from "../core/present.ts";
import type { Random } from "../core/random.ts";
import { parseSettings } from "../core/settings.ts";
import type { Group } from "../core/trajectory.ts";
import type { NamedModel, RunFacts, Scores, StepParts, Unmet } from "./advantages/advantage.ts";
import { advantageKindOf } from "./advantages/kinds.ts";
import type { UpdateMetrics } from "./glossary.ts";
import { policyGradientUpdate } from "./policy-gradient/policy-gradient.ts";
import { presetSettings, presets } from "./presets/kinds.ts";
import type { Composition } from "./presets/parts.ts";
import type { Preset } from "./presets/preset.ts";
import { seeupoUpdate } from "./seeupo/seeupo.ts";
import { type SeeupoConfig, seeupo, seeupoCode } from "./seeupo/settings.ts";
import { sftSettings, sftUpdate } from "./sft.ts";
import type { Correction } from "./step/correction.ts";

/** One choice in one place. Learning rate and schedule are the optimiser's settings, not the algorithm's. */
export const algorithmConfigSchema = z.discriminatedUnion("kind", [seeupo, seeupoCode, ...presetSettings, sftSettings]);
export type AlgorithmConfig = z.output<typeof algorithmConfigSchema>;
export type AlgorithmKind = AlgorithmConfig["kind"];

/** The names of the algorithms that learn from rollouts. */
export const rolloutAlgorithms: readonly AlgorithmKind[] = algorithmConfigSchema.options
  .map(({ shape }) => shape.kind.value)
  .filter((kind) => kind !== "sft");

/**
 * Returns an algorithm's settings with defaults filled in. A name means the defaults of what it names.
 * @throws ConfigError naming the first setting that is wrong
 * @example
 * const config = resolveAlgorithm({ kind: "seeupo", klCoef: 0 });
 * if (config.kind === "seeupo") console.log(config.order); // "reverse"
 */
export function resolveAlgorithm(input: unknown): AlgorithmConfig {
  return parseSettings(algorithmConfigSchema, typeof input === "string" ? { kind: input } : input, "algorithm");
}

/** The facts of an algorithm that the trainer uses before and while it samples. It reads no setting of an algorithm itself. */
export interface Facts {
  /** The capabilities that an engine must have, beyond what every engine has. */
  readonly capabilities: readonly Capability[];
  /** True if it reads the rewards of turns where they were given. Others see the return alone. */
  readonly readsTurnRewards: boolean;
  /** True if the turns of a role can be credited by a return of its own, apart from those of other roles. */
  readonly creditsRoles: boolean;
  /** True if groups whose rollouts all have one return teach nothing: the advantage is relative to the group. */
  readonly comparesWithinGroups: boolean;
  /** True if a group of one always has advantage 0. */
  readonly ignoresGroupsOfOne: boolean;
  /** True if turns that branches of a rollout share are trained once, so that they have no one trajectory. */
  readonly trainsSharedTurnsOnce: boolean;
  /** Another model that it scores with; undefined if there is none. The path of its setting is within `algorithm`. */
  readonly model: NamedModel | undefined;
  /** True if it reads demonstrations of the step's tasks. */
  readonly readsDemonstrations: boolean;
  /** Returns what scores the policy's tokens in a step, as a teacher; undefined if nothing does. */
  readonly teacher: ((step: StepParts) => Scores | Promise<Scores>) | undefined;
  /** The first requirement of a part that a run lacks; undefined if none. The path of its setting is within `algorithm`. */
  readonly unmet: (run: RunFacts) => Unmet | undefined;
}

interface Algorithm<Config extends AlgorithmConfig = AlgorithmConfig> {
  facts(config: Config): Facts;
  update(
    policy: Policy,
    groups: readonly Group[],
    config: Config,
    random: Random,
    correction?: Correction,
  ): Promise<UpdateMetrics>;
  /** How its rollouts are sampled unless the user says otherwise. */
  readonly rollout?: { readonly groupSize?: number; readonly branching?: object };
  /** The optimiser that it has unless the user says otherwise. */
  readonly optimizer?: { readonly beta2?: number; readonly weightDecay?: number };
}

/** The facts of an algorithm that needs nothing. */
const plainFacts: Facts = {
  capabilities: [],
  readsTurnRewards: false,
  creditsRoles: false,
  comparesWithinGroups: false,
  ignoresGroupsOfOne: false,
  trainsSharedTurnsOnce: false,
  model: undefined,
  readsDemonstrations: false,
  teacher: undefined,
  unmet: () => undefined,
};

const seeupoForm: Algorithm<SeeupoConfig> = {
  facts: ({ klCoef, singletonGroups }) => ({
    ...plainFacts,
    capabilities: klCoef > 0 ? ["reference"] : [],
    comparesWithinGroups: true,
    ignoresGroupsOfOne: singletonGroups === "zero",
  }),
  update: async (...args) => (await seeupoUpdate(...args)).metrics,
};

/** The setting of an advantage by its path within `algorithm`. */
const within = <Of extends { readonly setting: string }>(of: Of): Of => ({ ...of, setting: `advantage.${of.setting}` });

/** An advantage, an update rule and an aggregation, which take the one loop of policy-gradient.ts. */
function composed({ composition, rollout }: Preset): Algorithm {
  const compositionOf = (config: AlgorithmConfig) =>
    composition === undefined ? (config as Extract<AlgorithmConfig, Composition>) : composition(config);
  return {
    facts: (config) => {
      const { advantage, klCoef, entropyCoef } = compositionOf(config);
      const kind = advantageKindOf(advantage);
      const teacher = kind.teacher?.bind(kind);
      const comparesWithinGroups = kind.comparedWithin === "group";
      return {
        capabilities: [
          ...(klCoef > 0 ? (["reference"] as const) : []),
          ...(kind.capabilities ?? []),
          ...(entropyCoef > 0 ? (["entropy-gradient"] as const) : []),
        ],
        readsTurnRewards: kind.readsTurnRewards === true,
        creditsRoles: kind.readsDemonstrations !== true,
        comparesWithinGroups,
        ignoresGroupsOfOne: comparesWithinGroups && !("singletonGroups" in advantage && advantage.singletonGroups === "raw"),
        trainsSharedTurnsOnce: kind.trainsSharedTurnsOnce === true,
        model: kind.model && within(kind.model(advantage)),
        readsDemonstrations: kind.readsDemonstrations === true,
        teacher: teacher && ((step) => teacher(step, advantage)),
        unmet: (run) => {
          const unmet = kind.unmet?.(advantage, run);
          return unmet && within(unmet);
        },
      };
    },
    update: (policy, groups, config, random, correction) =>
      policyGradientUpdate(policy, groups, compositionOf(config), random, correction),
    ...(rollout && { rollout }),
  };
}

const supervised: Algorithm = {
  facts: () => plainFacts,
  update: (policy, groups) =>
    sftUpdate(
      policy,
      groups.flatMap(({ trajectories }) => trajectories.flatMap(({ turns }) => turns)),
    ),
};

const algorithms = new Map<unknown, Algorithm>([
  ["seeupo", seeupoForm],
  /** The launch files of SeeUPO's code leave the optimiser to verl's and torch's defaults. */
  ["seeupo-code", { ...seeupoForm, optimizer: { beta2: 0.999, weightDecay: 0.01 } }],
  ...presets.map((preset): [string, Algorithm] => [preset.settings.shape.kind.value, composed(preset as Preset)]),
  ["sft", supervised],
]);

function algorithmOf({ kind }: AlgorithmConfig): Algorithm {
  return present(algorithms.get(kind), kind);
}

export function factsOf(config: AlgorithmConfig): Facts {
  return algorithmOf(config).facts(config);
}

/** Returns how an algorithm of this kind samples, steps and counts its steps unless the user says otherwise. */
export function defaultsOf(kind: unknown): Pick<Algorithm, "rollout" | "optimizer"> & { readonly miniBatches: number } {
  const { rollout, optimizer } = algorithms.get(kind) ?? {};
  const settings = algorithmConfigSchema.options.find(({ shape }) => shape.kind.value === kind);
  const miniBatches = settings !== undefined && "miniBatches" in settings.shape ? settings.shape.miniBatches.parse(undefined) : 1;
  return { ...(rollout && { rollout }), ...(optimizer && { optimizer }), miniBatches };
}

/** Optimiser steps an epoch that the groups of a batch are dealt out to. */
export function miniBatchesOf(config: AlgorithmConfig): number {
  return "miniBatches" in config ? config.miniBatches : 1;
}

/** Returns the settings for a batch that has come out smaller than planned: at most as many mini-batches as groups, so that none is empty. */
export function dealtTo(groups: number, config: AlgorithmConfig): AlgorithmConfig {
  if (!("miniBatches" in config) || config.miniBatches <= groups) return config;
  return { ...config, miniBatches: Math.max(1, groups) };
}

/** Most batches that a step may sample until enough groups differ; 1 where an algorithm does not sample dynamically. */
export function maxBatchesOf(config: AlgorithmConfig): number {
  return ("dynamicSampling" in config && config.dynamicSampling?.maxBatches) || 1;
}

/**
 * Moves the policy once by what a batch of rollouts teaches: one or several optimiser steps.
 * @param groups all trajectories of the batch, failed ones with their reward of 0 included; sft takes them as demonstrations
 * @param random for what an algorithm draws: a random order of turns, mini-batches
 * @param correction weights rollouts that another policy sampled, by what its sampler recorded; none if left out, and none for sft
 * @example
 * const metrics = await runUpdate(policy, groups, resolveAlgorithm("grpo"), randomStream(1));
 */
export function runUpdate(
  policy: Policy,
  groups: readonly Group[],
  config: AlgorithmConfig,
  random: Random,
  correction?: Correction,
): Promise<UpdateMetrics> {
  return algorithmOf(config).update(policy, groups, config, random, correction);
}
