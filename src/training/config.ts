import { z } from "zod";
import { type AlgorithmKind, algorithmConfigSchema, rolloutAlgorithms } from "../algorithms/settings/config.ts";
import {
  defaultMiniBatches,
  defaultOptimizer,
  defaultRollout,
  ignoresGroupsOfOne,
  miniBatchesOf,
  trainsSharedTurnsOnce,
} from "../algorithms/settings/questions.ts";
import { correctionSchema } from "../algorithms/step/correction.ts";
import { chatSettingsSchema } from "../chat/settings.ts";
import { ConfigError } from "../core/errors.ts";
import { findSecret } from "../core/secrets.ts";
import { parseSettings } from "../core/settings.ts";
import { longestTimer } from "../core/timer.ts";
import { defaultEngine, type EngineKind, engineSchema } from "../engines/settings.ts";
import type { Environment } from "../environments/environment.ts";
import { refuseKeys, rewardsSchema } from "../rewards/config.ts";
import type { Reward } from "../rewards/reward.ts";
import { branchingSchema, firstRolloutsOf } from "../rollouts/branching/settings.ts";
import { refuseMovedSettings } from "./moved-settings.ts";

/** Names of splits become names of files. */
const splitName = z.string().regex(/^\w[\w.-]*$/, "a name of letters, digits, _, - and .");

/** Beyond these no machine has the memory, and the run would end in its middle. */
const maxEpisodesOfStep = 100_000;
/** Tokens of an action, turns of an episode: longer than any model's context. */
const maxLength = 10_000_000;
const maxEvaluatedEpisodes = 1_000_000;

/**
 * A run's whole configuration. Defaults are those of the default run; where a number was taken from somewhere, it says so.
 * "Office study" is the prototype whose findings are in docs/environments/office.md.
 */
export const trainingConfigSchema = z.strictObject({
  environment: z.strictObject({
    name: z.string().min(1),
    /** The environment's own settings, checked by itself. */
    settings: z.record(z.string(), z.unknown()).default({}),
  }),
  /** A Hugging Face-format folder, a run's folder, a name on the Hugging Face Hub, "bundled:NAME", or "default": the environment's own. */
  model: z.string().min(1).default("default"),
  /** How the model's chat template is used. */
  chat: chatSettingsSchema.optional(),
  algorithm: algorithmConfigSchema,
  /** The parts that the reward is the sum of. The environment's own reward if left out. */
  rewards: rewardsSchema.optional(),
  rollout: z
    .strictObject({
      /** 16 × 8 learned steadily where 8 × 8 did not (office study). */
      tasksPerStep: z.int().min(1).default(16),
      /** G = 8, as SeeUPO (arXiv:2602.06554, table of hyper-parameters). */
      groupSize: z.int().min(1).default(8),
      /** Adaptive rollout, ARPO's: the rollouts of a task are the leaves of a tree. */
      branching: z.union([z.literal("off"), branchingSchema]).default("off"),
      /** The split of the training tasks. "train" if left out. */
      split: splitName.optional(),
      maxTurns: z.int().min(1).max(maxLength).default(20),
      /** The same since the last message of a user. No limit if left out. */
      maxTurnsPerRequest: z.int().min(1).optional(),
      /**
       * Rewards that an environment gives turn by turn: "per-turn" leaves each where it was given, and needs an algorithm that looks at it;
       * "sum" trains on their sum, the return.
       */
      turnRewards: z.enum(["per-turn", "sum"]).optional(),
      /** The most tokens of one action. Office actions take about 20. */
      maxTokens: z.int().min(1).max(maxLength).default(96),
      /** 1, so that the policy that is sampled is the model itself. */
      temperature: z.number().positive().default(1),
      /** 1 and 0, off: cutting the support makes the ratio wrong. */
      topP: z.number().positive().max(1).default(1),
      topK: z.int().min(0).default(0),
      /** Episodes in flight; where steps are sampled ahead, of each of them. */
      concurrency: z.int().min(1).max(maxEpisodesOfStep).default(64),
      /** Steps whose rollouts are sampled while earlier ones are trained, by weights that are as many steps old. 0: none. */
      ahead: z.int().min(0).default(0),
      episodeTimeoutMs: z.int().min(1).max(longestTimer).default(120_000),
      /** Episodes that fail by the environment's fault: left out of the update, or trained on with reward 0. */
      failures: z.enum(["mask", "punish"]).default("mask"),
      /** Whether a model may be trained whose prompt does not show it the tools. */
      hiddenTools: z.enum(["refuse", "allow"]).default("refuse"),
    })
    .refine(({ branching, groupSize }) => branching === "off" || firstRolloutsOf(branching, groupSize) <= groupSize, {
      path: ["branching", "firstRollouts"],
      message: "at most rollout.groupSize, the leaves of a tree",
    })
    .prefault({}),
  /** Weights rollouts by how much likelier they are under the policy that is trained than under the one that sampled. */
  correction: z.union([z.literal("off"), correctionSchema]).default("off"),
  optimizer: z
    .strictObject({
      /** For a model of a few million parameters: 1e-4 was slower, 6e-4 too much (office study). */
      learningRate: z.number().positive().default(2e-4),
      beta1: z.number().min(0).lt(1).default(0.9),
      /**
       * The value of Llama 2 (arXiv:2307.09288, §2.2) and the office study; PyTorch's 0.999 forgets too slowly for a hundred steps.
       */
      beta2: z.number().min(0).lt(1).default(0.95),
      epsilon: z.number().positive().default(1e-8),
      weightDecay: z.number().min(0).default(0),
      /** The norm that larger gradients are scaled down to. */
      clipNorm: z.union([z.number().positive(), z.literal("off")]).default(1),
      /** The course of the learning rate after the warm-up: it stays, or falls to 0 at the last step. */
      schedule: z.enum(["constant", "linear", "cosine"]).default("linear"),
      warmupSteps: z.int().min(0).default(0),
    })
    .prefault({}),
  /** The engine that samples and trains the model. */
  engine: engineSchema.prefault(defaultEngine),
  steps: z.int().min(1).default(60),
  seed: z.int().default(1),
  /** At the start and at the end. */
  evaluation: z
    .strictObject({
      split: splitName.default("test"),
      /**
       * As many as fit beside ten minutes of training. Fewer show little: a model read 0.53 on 64 tasks and 0.39 on 256. 0: no
       * evaluation.
       */
      tasks: z.int().min(0).default(160),
      /** Attempts at each task. */
      k: z.int().min(1).default(2),
      temperature: z.number().min(0).default(1),
      /** One attempt at temperature 0 at each task, besides the sampled ones. */
      greedy: z.boolean().default(true),
      /** Evaluates on the challenge split too. */
      challenge: z.boolean().default(false),
      /**
       * While training: every `every` steps, one attempt at each of the tasks. On another split, since settings are chosen by it.
       */
      during: z
        .strictObject({
          every: z.int().min(0).default(0),
          split: splitName.default("validation"),
          tasks: z.int().min(1).default(64),
        })
        .prefault({}),
    })
    .prefault({}),
  checkpoint: z
    .strictObject({
      /** The step behind which the first checkpoint is written: a run that is killed before it begins again, paid servers included. */
      first: z.int().min(1).default(1),
      every: z.int().min(1).default(10),
      keep: z.int().min(1).default(2),
      /** Whether a resumed run must have the numbers of one that was never interrupted. An engine that cannot promise it is refused. */
      exact: z.boolean().default(true),
    })
    .prefault({}),
  /** The records that are kept of an update beside its metrics. They move no number. */
  record: z
    .strictObject({
      /** Weights, log-probs and ratios of every token in every optimiser step. */
      credits: z.boolean().default(true),
      /** Groups of a step whose log-probs are computed once more after its update, by a forward pass. */
      after: z.int().min(0).default(1),
    })
    .prefault({}),
  limits: z
    .strictObject({
      /**
       * Largest |sampler − trainer| log-prob in nats of any action token, before a step's first update. "auto" follows the engine's precision: 0.02
       * where it computes in float32, which gives about 1e-4 (0.02 would already move a ratio by 2 %, a tenth of the usual clip range).
       */
      logprobGap: z.union([z.literal("auto"), z.number().positive()]).default("auto"),
      /** Whether a warning that nothing is learned ends the run. */
      strict: z.boolean().default(false),
      /** The most that judges among the rewards may spend, over all processes of the run. No limit if left out. */
      judgeCalls: z.int().min(1).optional(),
      /** The most tokens of questions and answers together. */
      judgeTokens: z.int().min(1).optional(),
    })
    .prefault({}),
  /** The run's folder. A new one under runs/ if left out. */
  out: z.string().min(1).optional(),
});

/** Checks what settings of different parts ask of each other. */
const consistentSchema = trainingConfigSchema
  .refine(({ rollout }) => rollout.tasksPerStep * rollout.groupSize <= maxEpisodesOfStep, {
    path: ["rollout"],
    message: `at most ${maxEpisodesOfStep} episodes in a step (rollout.tasksPerStep × rollout.groupSize): all of them are in memory at once`,
  })
  .refine(({ evaluation }) => evaluation.tasks * evaluation.k <= maxEvaluatedEpisodes, {
    path: ["evaluation"],
    message: `at most ${maxEvaluatedEpisodes} episodes in an evaluation (evaluation.tasks × evaluation.k): all of them are in memory at once`,
  })
  .refine(({ engine }) => engine.kind !== "local" || !isRounded(engine.lora?.base) || engine.sampling?.weights === "int8", {
    path: ["engine", "sampling", "weights"],
    message: '"int8" where engine.lora.base is "int8" or "int4": the frozen layers have no other form',
  })
  .refine(({ algorithm, rollout }) => miniBatchesOf(algorithm) <= rollout.tasksPerStep, {
    path: ["algorithm", "miniBatches"],
    message: "at most rollout.tasksPerStep: groups are dealt out whole",
  })
  .refine(({ algorithm, rollout }) => rollout.groupSize > 1 || !ignoresGroupsOfOne(algorithm), {
    path: ["rollout", "groupSize"],
    message:
      "at least 2 under an algorithm that compares the rollouts of a task: the advantage of a group of one is 0, so nothing is learned " +
      '(ppo and reinforce++ train groups of one, and so does singletonGroups "raw")',
  })
  .refine(
    ({ correction, rollout, algorithm }) =>
      correction === "off" || correction.level !== "sequence" || rollout.branching === "off" || !trainsSharedTurnsOnce(algorithm),
    {
      path: ["correction", "level"],
      message: '"token" or "turn" here: turns that branches share are trained once, so they have no one trajectory',
    },
  );
export type TrainingConfig = z.output<typeof trainingConfigSchema>;

type Settings = z.input<typeof trainingConfigSchema>;

/** Settings of the local engine, which is the default: its kind can be left out. */
type LocalShorthand = Omit<Extract<Settings["engine"], { kind: "local" }>, "kind">;

/** The configuration that a user writes: everything is optional, and names mean the defaults of what they name. */
export interface UserConfig extends Omit<Settings, "environment" | "algorithm" | "rewards" | "engine"> {
  readonly environment?: string | Settings["environment"] | Environment;
  readonly engine?: EngineKind | Settings["engine"] | LocalShorthand;
  /** @deprecated Write `engine: { device }`. */
  readonly device?: LocalShorthand["device"];
  /** @deprecated Write `engine: { threads }`. */
  readonly threads?: LocalShorthand["threads"];
  /** @deprecated Write `engine: { lora }`. */
  readonly lora?: LocalShorthand["lora"];
  readonly algorithm?: AlgorithmKind | Settings["algorithm"];
  readonly rewards?: readonly (z.input<typeof rewardsSchema>[number] | Reward)[];
}

/** The algorithms that a run can train by. */
export { rolloutAlgorithms };

/**
 * Types `retrograde.config.ts`.
 * @example
 * export default defineConfig({ algorithm: "grpo", steps: 20 });
 */
export function defineConfig(config: UserConfig): UserConfig {
  return config;
}

/**
 * The configuration of a run: what the user wrote, flags on top, defaults below.
 * An environment that is given as an object is recorded by its name, and so are rewards from code.
 * @throws ConfigError naming the first setting that is wrong
 */
export function resolveConfig(user: UserConfig = {}, flags: UserConfig = {}): TrainingConfig {
  for (const config of [user, flags] as readonly unknown[])
    if (!isRecord(config)) throw new ConfigError("configuration", config, { expected: "an object with settings" });
  for (const { rewards } of [user, flags]) refuseKeys(rewards);
  for (const config of [user, flags]) refuseSecrets(config);
  const asked = merge(merge(chosenByDefault, spelledOut(user)), spelledOut(flags));
  if (isRecord(asked)) refuseMovedSettings(asked);
  return parseSettings(
    consistentSchema,
    [chosenByAlgorithm, chosenByAhead, chosenByPrecision, chosenByWorld]
      .map((choose) => choose(asked))
      .concat(asked)
      .reduce(merge),
  );
}

/** The configuration is written into `run.json`, which people share. An environment or a reward from code is not. */
function refuseSecrets({ environment, rewards: _, ...config }: UserConfig): void {
  const found = findSecret({ ...config, environment: isEnvironment(environment) ? environment.name : environment });
  if (found === undefined) return;
  throw new ConfigError(found.path, found.shown, {
    expected: "an address without a password or a key: a run records its configuration",
    hint: "Give keys by the environment variable that the setting's page names, or make the environment in code, which is not recorded.",
  });
}

/** Named here and not in the schema, so that a setting of theirs can be given without them. */
const chosenByDefault = {
  environment: { name: "office" },
  algorithm: { kind: "seeupo-scaled" },
  engine: defaultEngine,
};

/**
 * Returns what an algorithm's kind chooses: batches of fewer tasks than it has mini-batches are dealt into as many
 * as there are tasks.
 */
function chosenByAlgorithm(asked: unknown): unknown {
  const { algorithm, rollout } = isRecord(asked) ? asked : {};
  if (!isRecord(algorithm)) return undefined;
  const tasks = isRecord(rollout) && typeof rollout.tasksPerStep === "number" ? rollout.tasksPerStep : Number.NaN;
  const dealt = tasks >= 1 && tasks < defaultMiniBatches(algorithm.kind) ? { miniBatches: tasks } : {};
  return {
    algorithm: { kind: algorithm.kind, ...dealt },
    rollout: defaultRollout(algorithm.kind),
    optimizer: defaultOptimizer(algorithm.kind),
  };
}

/** SeeUPO takes a step for every turn, about ten a batch in the office: at 3e-4 its default model comes to write noise within 20 steps. */
function chosenByWorld(asked: unknown): unknown {
  const { environment, algorithm } = isRecord(asked) ? asked : {};
  const isOffice = isRecord(environment) && environment.name === "office";
  const isSeeupo = isRecord(algorithm) && (algorithm.kind === "seeupo" || algorithm.kind === "seeupo-scaled");
  return isOffice && isSeeupo ? { optimizer: { learningRate: 1e-4 } } : undefined;
}

/** Stale rollouts are corrected unless that is switched off. */
function chosenByAhead(asked: unknown): unknown {
  const rollout = isRecord(asked) ? asked.rollout : undefined;
  return isRecord(rollout) && typeof rollout.ahead === "number" && rollout.ahead > 0 ? { correction: {} } : undefined;
}

function isRounded(base: unknown): boolean {
  return base === "int8" || base === "int4";
}

/** A sampler in 8 bits draws from another distribution than the trainer's: what it drew is weighted. */
function chosenByPrecision(asked: unknown): unknown {
  const { sampling, lora } = isRecord(asked) && isRecord(asked.engine) ? asked.engine : {};
  const samples = isRecord(sampling) ? sampling.weights : undefined;
  const base = isRecord(lora) ? lora.base : undefined;
  if (samples !== "int8" && !isRounded(base)) return undefined;
  const engine = isRounded(base) ? { engine: { sampling: { weights: "int8" } } } : {};
  return { ...engine, correction: {} };
}

/** True where a configuration brings its own environment rather than the name of one. */
export function isEnvironment(value: UserConfig["environment"]): value is Environment {
  return typeof value === "object" && value !== null && "start" in value && typeof value.start === "function";
}

/** The rewards of a configuration that are functions. */
export function rewardsFromCode({ rewards }: UserConfig): Reward[] {
  return Array.isArray(rewards) ? rewards.filter(isReward) : [];
}

function isReward(value: unknown): value is Reward {
  if (typeof value !== "object" || value === null) return false;
  return ("verify" in value && typeof value.verify === "function") || ("compare" in value && typeof value.compare === "function");
}

function recordedReward(reward: unknown): unknown {
  if (!isReward(reward)) return reward;
  const { name, weight } = reward;
  return { kind: "verify" in reward ? "verifiable" : "compare", name, ...(weight === undefined ? {} : { weight }) };
}

/** Settings of 0.1 that have moved into `engine`. */
const movedToEngine = ["device", "threads", "lora"] as const;

/** The engine as it is written, with what 0.1 wrote beside it. @throws ConfigError where both say something else */
function engineOf(config: UserConfig): unknown {
  const engine: unknown = typeof config.engine === "string" ? { kind: config.engine } : config.engine;
  const moved = movedToEngine.filter((name) => config[name] !== undefined);
  if (moved.length === 0 || (engine !== undefined && !isRecord(engine))) return engine;
  const inside: Record<string, unknown> = { ...engine };
  for (const name of moved) {
    if (inside[name] !== undefined && JSON.stringify(inside[name]) !== JSON.stringify(config[name]))
      throw new ConfigError(name, config[name], {
        expected: `nothing here, since engine.${name} is ${JSON.stringify(inside[name])}`,
        hint: `"${name}" has moved into "engine": delete the one outside.`,
      });
    inside[name] = config[name];
  }
  return inside;
}

/** Shorthands written in full. */
function spelledOut({ device, threads, lora, ...config }: UserConfig): Record<string, unknown> {
  const { environment, algorithm, rewards } = config;
  const engine = engineOf({ ...config, device, threads, lora });
  return {
    ...config,
    ...(engine === undefined ? {} : { engine }),
    environment:
      typeof environment === "string"
        ? { name: environment }
        : isEnvironment(environment)
          ? { name: environment.name }
          : environment,
    algorithm: typeof algorithm === "string" ? { kind: algorithm } : algorithm,
    rewards: Array.isArray(rewards) ? rewards.map(recordedReward) : rewards,
  };
}

/** Objects are merged, anything else is replaced; undefined leaves what is there. Another kind or name takes none of the old one's settings. */
function merge(below: unknown, above: unknown): unknown {
  if (above === undefined) return below;
  if (!isRecord(below) || !isRecord(above)) return above;
  const replaces = (key: string) => above[key] !== undefined && below[key] !== undefined && above[key] !== below[key];
  if (replaces("kind") || replaces("name")) return above;
  const keys = new Set([...Object.keys(below), ...Object.keys(above)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, merge(below[key], above[key])]).filter(([, value]) => value !== undefined),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
