import { z } from "zod";
import { algorithmConfigSchema } from "../../algorithms/algorithms.ts";
import { correctionSchema } from "../../algorithms/step/correction.ts";
import { chatSettingsSchema } from "../../chat/settings.ts";
import { acts } from "../../core/acts.ts";
import { settingsDoor } from "../../core/door.ts";
import { longestTimer } from "../../core/timer.ts";
import { wholeContext } from "../../core/whole-context.ts";
import { engineSchema } from "../../engines/registry.ts";
import { rewardsSchema } from "../../rewards/config.ts";
import { branchingSchema } from "../../rollouts/branching/settings.ts";
import { isBundled } from "./known-models.ts";
import { playerSchema } from "./player.ts";
import { anyTaskSampler } from "./task-samplers/kinds.ts";

const [positive, natural] = [z.int().min(1), z.int().min(0)];
/** Names of splits become names of files. */
const splitName = z.string().regex(/^\w[\w.-]*$/, "a name of letters, digits, _, - and .");

/** Beyond these no machine has the memory, and the run would end in its middle. */
export const maxEpisodesOfStep = 100_000;
/** Tokens of an action, turns of an episode: longer than any model's context. */
const maxLength = wholeContext;

/**
 * A run's whole configuration. Defaults are those of the default run; where a number was taken from somewhere, it says so.
 * "Office study" is the prototype whose findings are in docs/environments/office.md.
 */
export const settingsSchema = settingsDoor("a configuration", {
  environment: z.strictObject({
    name: z
      .string()
      .regex(/^\P{C}+$/u, "a name in one line, without control characters")
      .describe("the environment. A configuration file may give an environment object instead of `environment`"),
    settings: z.record(z.string(), z.unknown()).default({}).describe("the environment's own settings"),
  }),
  model: acts
    .by(z.string().min(1), (what) => (isBundled(what) ? [] : [{ kind: "model", what }]))
    .default("default")
    .describe(
      "the start model: a folder, a run, `bundled:NAME`, a published model, a name on the Hub ([models.md](models.md)), or `default`, the model bundled with the environment",
    ),
  /** How the model's chat template is used. */
  chat: chatSettingsSchema.optional(),
  algorithm: algorithmConfigSchema,
  rewards: rewardsSchema
    .optional()
    .describe("the parts whose weighted sum is the reward; the environment's own if omitted ([rewards.md](rewards.md))"),
  rollout: z
    .strictObject({
      /** 16 × 8 learned steadily where 8 × 8 did not (office study). */
      tasksPerStep: positive.default(16).describe("tasks of a step"),
      /** G = 8, as SeeUPO (arXiv:2602.06554, table of hyper-parameters). */
      groupSize: positive.default(8).describe("rollouts of each task; with branching, the leaves of its tree"),
      branching: z
        .union([z.literal("off"), branchingSchema])
        .default("off")
        .describe(
          '`"off"`, or settings of rollouts that branch where the model grows unsure ([rollouts.md](rollouts.md#branching))',
        ),
      tasks: anyTaskSampler
        .prefault({ kind: "epochs" })
        .describe("which training tasks a step takes: `epochs` or `difficulty` ([samplers](algorithms/custom.md#task-samplers))"),
      split: splitName.optional().describe("split of the training tasks; `train` if omitted"),
      maxTurns: positive.max(maxLength).default(20).describe("assistant messages of an episode, at most"),
      maxTurnsPerRequest: positive.optional().describe("the same since the last user message; no limit if omitted"),
      turnRewards: z
        .enum(["per-turn", "sum"])
        .optional()
        .describe(
          "an environment's turn rewards: `per-turn` (default) leaves each at its turn and needs an algorithm that uses them; `sum` trains on the return",
        ),
      /** Office actions take about 20. */
      maxTokens: positive
        .max(maxLength)
        .default(96)
        .describe("tokens of one assistant message, at most; of an agent by default what the model's context holds (10,000,000)"),
      /** 1, so that the policy that is sampled is the model itself. */
      temperature: z.number().positive().default(1).describe("of sampling, and of the trained distribution"),
      topP: z
        .number()
        .positive()
        .max(1)
        .default(1)
        .describe("nucleus sampling; 1 is off. Cutting the distribution makes training ratios wrong"),
      topK: natural.default(0).describe("number of most likely tokens to sample from; 0 is off"),
      concurrency: positive
        .max(maxEpisodesOfStep)
        .default(64)
        .describe("episodes in flight; with `ahead`, of each step being sampled"),
      ahead: natural
        .default(0)
        .describe(
          "steps sampled while earlier ones train, by weights as many steps old ([rollouts.md](rollouts.md#asynchronous-training))",
        ),
      episodeTimeoutMs: positive
        .max(longestTimer)
        .default(120_000)
        .describe("longest wait for the environment, a reward in code, or an agent's next request"),
      hiddenTools: z
        .enum(["refuse", "allow"])
        .default("refuse")
        .describe(
          "a prompt that does not show the model its tools is an error (`refuse`), unless the model was trained in this environment",
        ),
    })
    .prefault({}),
  correction: z
    .union([z.literal("off"), correctionSchema])
    .default("off")
    .describe('`"off"`, or settings of the [importance correction](rollouts.md#importance-correction); on with `rollout.ahead`'),
  optimizer: z
    .strictObject({
      /** For a model of a few million parameters: 1e-4 was slower, 6e-4 too much (office study). */
      learningRate: z
        .number()
        .positive()
        .default(2e-4)
        .describe("the highest, after the warm-up; some environments bring another"),
      beta1: z.number().min(0).lt(1).default(0.9).describe("decay of the gradient's mean"),
      /**
       * The value of Llama 2 (arXiv:2307.09288, §2.2) and the office study; PyTorch's 0.999 forgets too slowly for a hundred steps.
       */
      beta2: z.number().min(0).lt(1).default(0.95).describe("decay of the squared gradient's mean; 0.999 for `seeupo-code`"),
      epsilon: z.number().positive().default(1e-8).describe("added to the deviation"),
      weightDecay: z.number().min(0).default(0).describe("decoupled weight decay; 0.01 for `seeupo-code`"),
      clipNorm: z
        .union([z.number().positive(), z.literal("off")])
        .default(1)
        .describe('norm that larger gradients are scaled down to, or `"off"`'),
      schedule: z
        .enum(["constant", "linear", "cosine"])
        .default("linear")
        .describe("after the warm-up: `constant`, or `linear` or `cosine` down to 0 at the last step"),
      warmupSteps: natural.default(0).describe("steps in which the learning rate rises"),
    })
    .prefault({}),
  engine: engineSchema.describe("the engine that samples and trains, by its `kind` ([below](#engine))"),
  steps: positive.default(40).describe("training steps: each is a batch of rollouts and an update"),
  seed: z.int().default(1).describe("decides all randomness: tasks, sampling, mini-batches, bootstrap"),
  /** At the start and at the end. */
  evaluation: z
    .strictObject({
      split: splitName
        .default("test")
        .describe("`train`, `validation`, `test` or `challenge`; measured at the start and at the end"),
      /** As many as fit beside ten minutes of training: a model read 0.53 on 64 tasks and 0.39 on 256. */
      tasks: natural.default(160).describe("tasks; 0 is no evaluation. Fewer show little: the interval of 40 is twice as wide"),
      k: positive.default(2).describe("attempts at each task"),
      temperature: z.number().min(0).default(1).describe("of sampling; 0 is greedy, with one attempt a task"),
      greedy: z.boolean().default(true).describe("one more attempt at each task at temperature 0"),
      challenge: z.boolean().default(false).describe("also measures the challenge split"),
      /** Who answers in `eval`. Default: the model itself. */
      player: playerSchema.optional(),
      /**
       * While training: every `every` steps, one attempt at each of the tasks. On another split, since settings are chosen by it.
       */
      during: z
        .strictObject({
          every: natural.default(0).describe("measures every this many training steps; 0 is never"),
          split: splitName.default("validation").describe("another split than the final one, since settings are chosen by it"),
          tasks: positive.default(64).describe("one attempt at each"),
        })
        .prefault({}),
    })
    .prefault({}),
  checkpoint: z
    .strictObject({
      first: positive.default(1).describe("step after which the first checkpoint is written; a run killed before it starts over"),
      every: positive.default(10).describe("steps between checkpoints"),
      keep: positive.default(2).describe("newest checkpoints that are kept"),
      exact: z
        .boolean()
        .default(true)
        .describe("a resumed run must have the numbers of an uninterrupted one; engines that cannot promise it are refused"),
    })
    .prefault({}),
  /** The records that are kept of an update beside its metrics. They move no number. */
  record: z
    .strictObject({
      credits: z
        .boolean()
        .default(true)
        .describe("records weight, log-probs and ratio of every token in every optimiser step ([runs.md](runs.md#credits))"),
      after: natural.default(1).describe("groups of a step whose log-probs are computed again after its update; 0 for none"),
    })
    .prefault({}),
  limits: z
    .strictObject({
      /**
       * Largest |sampler − trainer| log-prob in nats of any action token, before a step's first update. "auto" follows the engine's precision: 0.02
       * where it computes in float32, which gives about 1e-4 (0.02 would already move a ratio by 2 %, a tenth of the usual clip range).
       */
      logprobGap: z
        .union([z.literal("auto"), z.number().positive()])
        .default("auto")
        .describe(
          'nats between sampler and trainer for one token, above which the run stops. `"auto"`: 0.02 in float32; 1 with an 8-bit sampler; of other engines their own. Above 0.02, one token of 1,000 may exceed it',
        ),
      strict: z.boolean().default(false).describe("ends the run at the first [warning](warnings.md); `--strict`"),
      judgeCalls: positive.optional().describe("calls of all judges of the run, at most; no limit if omitted"),
      judgeTokens: positive.optional().describe("the same for tokens, questions and answers together"),
    })
    .prefault({}),
  out: acts.writes(z.string().min(1)).optional().describe("the run's folder; a new one under `runs/` if omitted"),
});

export type TrainingConfig = z.output<typeof settingsSchema>;
