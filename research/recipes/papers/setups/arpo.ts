import { type Setup, setup, type Table } from "./setup.ts";

/** What differs between the launch files. */
interface Launch {
  readonly task: "reasoning" | "deep search";
  /** Short name of the launch file in `sources`. */
  readonly file: "R7" | "D8" | "D14";
  /** The file of defaults that it names. */
  readonly defaults: "Y" | "YD";
  readonly data: { readonly train: string; readonly validation: string | readonly string[] };
  readonly validationTasks: number;
  readonly tasks: number;
  readonly leaves: number;
  readonly firstRollouts: number;
  readonly calls: number;
  readonly promptTokens: number;
  readonly responseTokens: number;
  readonly batches: number;
  readonly epochs: string;
  readonly lines: Readonly<Record<Line, string>>;
}

type Line =
  | "model"
  | "train"
  | "validation"
  | "tasks"
  | "lengths"
  | "leaves"
  | "first"
  | "beam"
  | "threshold"
  | "weight"
  | "rate"
  | "miniBatch"
  | "kl"
  | "epochs"
  | "save"
  | "test";

const deepSearchData = {
  train: "data/arpo/hard_search_1k.parquet",
  validation: ["data/arpo/gaia_test.parquet", "data/arpo/hle_test.parquet"],
};

const launches = {
  reasoning: {
    ...{ task: "reasoning", file: "R7", defaults: "Y", validationTasks: 180, tasks: 128, leaves: 16, firstRollouts: 8, calls: 3 },
    data: { train: "data/arpo/train_10k.parquet", validation: "data/arpo/valid.parquet" },
    ...{ promptTokens: 1536, responseTokens: 4096, batches: 156, epochs: "2 epochs of 78 whole batches" },
    lines: {
      ...{ model: "49, 25", train: "44", validation: "45", tasks: "38", lengths: "40-41", leaves: "55", first: "56", beam: "57" },
      ...{ threshold: "58", weight: "59", rate: "116", miniBatch: "39", kl: "120-122" },
      ...{ epochs: "71", save: "72", test: "73" },
    },
  },
  "deep-search-8b": {
    ...{ task: "deep search", file: "D8", defaults: "YD", validationTasks: 203, tasks: 128, leaves: 16, firstRollouts: 8 },
    ...{
      calls: 6,
      data: deepSearchData,
      promptTokens: 2000,
      responseTokens: 10_000,
      batches: 40,
      epochs: "5 epochs of 8 whole batches",
    },
    lines: {
      ...{ model: "49, 25", train: "44", validation: "45", tasks: "38", lengths: "40-41", leaves: "55", first: "56", beam: "57" },
      ...{ threshold: "58", weight: "59", rate: "118", miniBatch: "39", kl: "122-124" },
      ...{ epochs: "71", save: "72", test: "73" },
    },
  },
  "deep-search-14b": {
    ...{ task: "deep search", file: "D14", defaults: "YD", validationTasks: 203, tasks: 64, leaves: 12, firstRollouts: 6 },
    ...{
      calls: 6,
      data: deepSearchData,
      promptTokens: 2000,
      responseTokens: 6192,
      batches: 80,
      epochs: "5 epochs of 16 whole batches",
    },
    lines: {
      ...{ model: "48, 24", train: "43", validation: "44", tasks: "37", lengths: "39-40", leaves: "53", first: "54", beam: "55" },
      ...{ threshold: "56", weight: "57", rate: "116", miniBatch: "38", kl: "120-122" },
      ...{ epochs: "69", save: "70", test: "71" },
    },
  },
} as const satisfies Record<string, Launch>;

const ours = "of this file: the paper's code has no such setting";

/**
 * ARPO (arXiv:2507.19849) as the authors' launch files run in effect: RUC-NLPIR/ARPO, commit a95cd08. R7, D8 and D14 are
 * ARPO/scripts/ARPO_7B_Reasoning_1node.sh, ARPO_8B_Deepsearch_1node.sh and ARPO_14b_Deepsearch_1node.sh; Y and YD scripts/config/ppo_trainer.yaml
 * and ppo_trainer_dr.yaml; W/ verl_arpo_entropy/verl/; RT its vllm_rollout_with_tools.py.
 */
export function arpoSetup(launch: keyof typeof launches, model: string): Setup {
  const { task, file, defaults, data, validationTasks, lines, ...numbers }: Launch = launches[launch];
  const at = (line: Line) => `${file}:${lines[line]}`;
  const D = (line: string) => `default of ${defaults}:${line}`;
  const RT = (line: string) => `RT:${line}`;
  const trees = `${at("leaves")}, and ${lines.first} for those that begin at the root`;
  const table: Table = {
    "environment.name": ["deep-research", "RT: the rollout with tools"],
    "environment.settings.data": [data, `${at("train")}, ${lines.validation}`],
    "environment.settings.search": [{ kind: "serper" }, "of this file: there a paid proxy of Bing, which cannot be had"],
    "environment.settings.protocol": ["training", RT("340-354")],
    "environment.settings.limits": [
      { calls: numbers.calls, resultLength: 1000, responseTokens: numbers.responseTokens },
      `${defaults}:153, 173-175; ${at("lengths")}`,
    ],
    "environment.settings.grader": ["f1", "W/utils/reward_score/deep_research.py:304-351, named at R7:66"],
    "environment.settings.python": [{ timeoutMs: 120_000 }, `${defaults}:154-156`],
    model: [model, `${at("model")}: a placeholder; the cold start's checkpoint belongs here`],
    engine: [
      { kind: "tinker", url: "http://127.0.0.1:8000", model, rank: 0 },
      `${ours}; rank 0: all weights are trained, as FSDP does there`,
    ],
    "algorithm.kind": ["arpo", "R7:54, 105"],
    "algorithm.attribution": ["soft", RT("552-555")],
    "algorithm.advantage.std": ["group", "core_algos.py:113-166"],
    "algorithm.update.clip": [{ low: 0.2, high: 0.2 }, D("52-54")],
    "algorithm.update.dualClip": [3, D("52-54")],
    "algorithm.aggregation": ["token-mean", D("55")],
    "algorithm.entropyCoef": [0, D("56")],
    "algorithm.klCoef": [0, at("kl")],
    "algorithm.epochs": [1, D("61")],
    "algorithm.miniBatches": [
      8,
      `${at("tasks")}, ${lines.miniBatch}: ${numbers.tasks} tasks in mini-batches of ${numbers.tasks / 8}`,
    ],
    "rollout.tasksPerStep": [numbers.tasks, at("tasks")],
    "rollout.groupSize": [numbers.leaves, at("leaves")],
    "rollout.branching": [
      {
        ...{ firstRollouts: numbers.firstRollouts, beam: 2, tokens: 20, entropy: "top-10" },
        rule: { kind: "reference", weight: 0.2, threshold: 0.5 },
      },
      `${trees}; beam ${lines.beam}; threshold ${lines.threshold}; weight ${lines.weight}; entropy RT:172-177, 284-305`,
    ],
    "rollout.split": ["train", at("train")],
    "rollout.maxTurns": [numbers.calls + 1, `${D("153")}: an action after the last call`],
    "rollout.maxTokens": [numbers.responseTokens, at("lengths")],
    "rollout.temperature": [1, D("102-104")],
    "rollout.topP": [1, D("102-104")],
    "rollout.topK": [0, D("102-104")],
    "optimizer.learningRate": [1e-6, at("rate")],
    "optimizer.schedule": ["constant", D("68-72")],
    "optimizer.warmupSteps": [0, D("68-72")],
    "optimizer.beta1": [0.9, "default of W/workers/fsdp_workers.py:361"],
    "optimizer.beta2": [0.999, "default of W/workers/fsdp_workers.py:361"],
    "optimizer.epsilon": [1e-8, "torch's default"],
    "optimizer.weightDecay": [0.01, D("74")],
    "optimizer.clipNorm": [1, D("49")],
    steps: [numbers.batches, `${at("epochs")}: ${numbers.epochs}; the last incomplete batch is dropped`],
    "evaluation.split": ["validation", at("validation")],
    "evaluation.tasks": [validationTasks, "rows of the validation files"],
    "evaluation.k": [1, D("139-145")],
    "evaluation.temperature": [0, D("139-145")],
    "evaluation.greedy": [false, `${ours}; the one attempt is greedy already`],
    "evaluation.during": [{ every: 5, split: "validation", tasks: validationTasks }, at("test")],
    "checkpoint.every": [5, at("save")],
    "checkpoint.keep": [Math.ceil(numbers.batches / 5), "default of Y:299: all are kept"],
  };
  return setup(table, [
    "Sources: RUC-NLPIR/ARPO, commit a95cd08: R7, D8, D14 are ARPO/scripts/ARPO_7B_Reasoning_1node.sh, ARPO_8B_Deepsearch_1node.sh, ARPO_14b_Deepsearch_1node.sh; Y and YD ppo_trainer.yaml and ppo_trainer_dr.yaml; RT vllm_rollout_with_tools.py. This file has not been run.",
    "The data files are ARPO's own and are not part of this package; the search needs a key (SERPER_API_KEY).",
    "There: entropies are compared with the first batch's, which are never cleared; here with those of the same rollout.",
    "There: leaves of a tree are dealt to mini-batches by rows, and trees that cannot branch repeat their last leaf; here whole trees, filled by new rollouts.",
    `There: a prompt of at most ${numbers.promptTokens} tokens; here the model's context is the limit.`,
    ...(task === "deep search"
      ? [
          "As first published the deep-search files did not run, and their limit of calls was 3 (5 in effect); 6 is the repaired one. Which the paper used cannot be known.",
        ]
      : ["There: mathematics is rewarded by token F1 as well; so it is here (grader f1)."]),
  ]);
}
