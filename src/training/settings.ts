import { z } from "zod";
import { algorithmConfigSchema } from "../algorithms/settings/config.ts";
import { correctionSchema } from "../algorithms/step/correction.ts";
import { chatSettingsSchema } from "../chat/settings.ts";
import { acts } from "../core/acts.ts";
import { settingsDoor } from "../core/door.ts";
import { longestTimer } from "../core/timer.ts";
import { defaultEngine, engineSchema } from "../engines/settings.ts";
import { rewardsSchema } from "../rewards/config.ts";
import { branchingSchema } from "../rollouts/branching/settings.ts";
import { isBundled } from "./known-models.ts";

/** Names of splits become names of files. */
const splitName = z.string().regex(/^\w[\w.-]*$/, "a name of letters, digits, _, - and .");

/** Beyond these no machine has the memory, and the run would end in its middle. */
export const maxEpisodesOfStep = 100_000;
/** Tokens of an action, turns of an episode: longer than any model's context. */
const maxLength = 10_000_000;

/**
 * A run's whole configuration. Defaults are those of the default run; where a number was taken from somewhere, it says so.
 * "Office study" is the prototype whose findings are in docs/environments/office.md.
 */
export const settingsSchema = settingsDoor("a configuration", {
  environment: z.strictObject({
    name: z.string().regex(/^\P{C}+$/u, "a name in one line, without control characters"),
    /** The environment's own settings, checked by itself. */
    settings: z.record(z.string(), z.unknown()).default({}),
  }),
  /** A Hugging Face-format folder, a run's folder, a name on the Hugging Face Hub, "bundled:NAME", or "default": the environment's own. */
  model: acts.by(z.string().min(1), (what) => (isBundled(what) ? [] : [{ kind: "model", what }])).default("default"),
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
  steps: z.int().min(1).default(40),
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
  out: acts.writes(z.string().min(1)).optional(),
});

export type TrainingConfig = z.output<typeof settingsSchema>;
