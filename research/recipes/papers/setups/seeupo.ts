import { type Setup, setup, type Table } from "./setup.ts";

type Algorithm = "seeupo" | "grpo" | "gspo" | "ppo";
/** Lines of the launch file of a world, by what they set. */
type Line = "model" | "tasks" | "batch" | "group" | "turns" | "tokens" | "temperature" | "rate" | "kl" | "epochs" | "updates";

/** What differs between the worlds. */
interface World {
  /** The launch files' short name: that of the algorithm follows it. */
  readonly file: string;
  readonly environment: Readonly<Record<string, unknown>>;
  readonly rewardSource: string;
  readonly lines: Readonly<Record<Line, number>>;
  readonly maxTokens: number;
  readonly steps: string;
  readonly validation: { readonly split: string; readonly tasks: number; readonly source: string };
  readonly evaluationLines: string;
  readonly saveEvery: number;
  readonly saveLines: string;
  readonly notes: readonly string[];
}

const worlds = {
  bfcl: {
    file: "BF",
    environment: { name: "bfcl", settings: { reward: "sparse" } },
    rewardSource: "bfcl_env.py:397-399",
    lines: {
      ...{ model: 130, tasks: 78, batch: 73, group: 105, turns: 101, tokens: 109, temperature: 112 },
      ...{ rate: 88, kl: 89, epochs: 33, updates: 84 },
    },
    maxTokens: 3994,
    steps: "50 epochs of 3 whole batches",
    validation: { split: "test", tasks: 100, source: "rows of the validation file" },
    evaluationLines: "28, 32",
    saveEvery: 5,
    saveLines: "19, 31",
    notes: ["There: a solved task gives 1.5, and -1 if an answer repeats itself; here 1 and no such override."],
  },
  appworld: {
    file: "AW",
    environment: { name: "appworld", settings: { reward: "seeupo", maxInteractions: 10 } },
    rewardSource: "appworld_env.py:810-829; agent_flow.py:141-150",
    lines: {
      ...{ model: 128, tasks: 77, batch: 73, group: 103, turns: 99, tokens: 107, temperature: 110 },
      ...{ rate: 86, kl: 87, epochs: 33, updates: 82 },
    },
    maxTokens: 2994,
    steps: "75 epochs of 2 whole batches",
    validation: { split: "dev", tasks: 57, source: "rows of dev.parquet; the paper's own split cannot be known" },
    evaluationLines: "28, 32",
    saveEvery: 3,
    saveLines: "19, 31",
    notes: [
      "The reward seeupo is 1.5 for a solved task, else half of the share of its tests that passed, and -1 if an answer repeats itself, as there.",
      "There: the evaluation runs on dev; whether the paper's tables are of dev or test_normal cannot be known.",
    ],
  },
} as const satisfies Record<string, World>;

const ours = "of this file: the paper's code has no such setting";

/**
 * SeeUPO (arXiv:2602.06554) and its baselines on BFCL v4 multi-turn and AppWorld, as the authors' launch files run in effect:
 * modelscope/AgentEvolver, branch seeupo, commit e59dea4. BF-x is launcher/qwen3_bfcl/qwen3-x-bfcl.yaml, AW-x
 * launcher/qwen3_appworld/qwen3-x-appworld.yaml, C/ is external/verl/verl/trainer/config/.
 */
export function seeupoSetup(world: keyof typeof worlds, algorithm: Algorithm): Setup {
  const { file, environment, rewardSource, lines, maxTokens, validation, saveEvery, ...about }: World = worlds[world];
  /** Lines of the ppo files from 63 on are two fewer. */
  const shifted = (line: number) => (algorithm === "ppo" && line >= 63 ? line - 2 : line);
  /** Where only the line of the AppWorld file is known; the others have the same lines there. */
  const AW = (line: number) => `AW-${algorithm}:${shifted(line)}`;
  const at = (line: Line) => `${file}-${algorithm}:${shifted(lines[line])}`;
  const C = (path: string) => `default of C/${path}`;
  const table: Table = {
    environment: [environment, `${rewardSource}`],
    model: ["Qwen/Qwen3-14B", at("model")],
    engine: [
      { kind: "tinker", url: "http://127.0.0.1:8000", model: "Qwen/Qwen3-14B", rank: 0 },
      `${ours}; rank 0: all weights are trained, as FSDP does there`,
    ],
    ...algorithmTable(algorithm, { AW, at, C }),
    "rollout.tasksPerStep": [32, at("batch")],
    "rollout.groupSize": [8, at("group")],
    "rollout.split": ["train", at("tasks")],
    "rollout.maxTurns": [10, at("turns")],
    "rollout.maxTokens": [maxTokens, `${at("tokens")}, less 6 by env_manager.py:192-196`],
    "rollout.temperature": [0.9, at("temperature")],
    "rollout.topP": [1, C("rollout/rollout.yaml:14")],
    "rollout.topK": [0, C("rollout/rollout.yaml:11")],
    "optimizer.learningRate": [1e-6, at("rate")],
    "optimizer.schedule": ["constant", C("actor/dp_actor.yaml:48; actor.yaml:117, 126")],
    "optimizer.warmupSteps": [0, C("actor/actor.yaml:117, 126")],
    "optimizer.beta1": [0.9, "default of fsdp_workers.py:436"],
    "optimizer.beta2": [0.999, "default of fsdp_workers.py:436"],
    "optimizer.epsilon": [1e-8, "torch's default"],
    "optimizer.weightDecay": [0.01, C("actor/actor.yaml:123")],
    "optimizer.clipNorm": [1, C("actor/dp_actor.yaml:23")],
    steps: [150, `${at("epochs")}: ${about.steps}`],
    "evaluation.split": [validation.split, "ba_ray_trainer.py:1897-1910"],
    "evaluation.tasks": [validation.tasks, validation.source],
    "evaluation.k": [4, AW(41)],
    "evaluation.temperature": [0, C("rollout/rollout.yaml:114")],
    "evaluation.greedy": [false, `${ours}; all attempts are greedy already`],
    "evaluation.during": [
      { every: 5, split: validation.split, tasks: validation.tasks },
      `${file}-${algorithm}:${about.evaluationLines}; the published runs have no other validation split`,
    ],
    "checkpoint.every": [saveEvery, `${file}-${algorithm}:${about.saveLines}`],
    "checkpoint.keep": [3, `${file}-${algorithm}:${about.saveLines}`],
  };
  return setup(table, [
    "Sources: modelscope/AgentEvolver, branch seeupo, commit e59dea4; BF-x is launcher/qwen3_bfcl/qwen3-x-bfcl.yaml, AW-x qwen3_appworld/qwen3-x-appworld.yaml beside it. This file has not been run.",
    ...about.notes,
    algorithm === "seeupo"
      ? "There: M of a padded turn moves and its KL counts; here a trajectory has only the turns that it has."
      : "There: baselines have one row for each turn, so long trajectories weigh more; here a trajectory is one sequence.",
    "There: a hint to think briefly is added to each context, and tool results are cut to 3,000 tokens; here neither.",
    ...(algorithm === "gspo"
      ? [
          "There: the key for sequence ratios is set where nothing reads it, and ratios are 1 in the one step: the run equals GRPO's.",
        ]
      : []),
    ...(algorithm === "ppo"
      ? ["There: the critic is Qwen2.5-14B-Instruct with up to 20 steps a batch; here it is the engine's own critic."]
      : []),
  ]);
}

interface Citations {
  readonly AW: (line: number) => string;
  readonly at: (line: Line) => string;
  readonly C: (file: string) => string;
}

function algorithmTable(algorithm: Algorithm, { AW, at, C }: Citations): Table {
  const kl: Table = {
    "algorithm.klCoef": [0.002, `${at("kl")} and the two lines below`],
    "algorithm.klEstimator": ["k3", `${at("kl")} and the two lines below`],
  };
  const clip = C("actor/actor.yaml:36, 39");
  const dual = C("actor/actor.yaml:66");
  if (algorithm === "seeupo")
    return {
      "algorithm.kind": ["seeupo-code", AW(62)],
      "algorithm.order": ["reverse", AW(59)],
      "algorithm.normalisation": ["batch", AW(68)],
      "algorithm.advantageBound": [3, "ba_ray_trainer.py:465-472"],
      "algorithm.advantageFactor": [true, AW(62)],
      "algorithm.carryClip": [{ low: 0.2, high: 0.2 }, AW(63)],
      "algorithm.level": ["token", `${C("actor/actor.yaml:48")}: in effect, though gspo is set where nothing reads it`],
      "algorithm.clip": [{ low: 0.2, high: 0.2 }, clip],
      "algorithm.dualClip": [3, dual],
      "algorithm.epochs": [1, at("updates")],
      ...kl,
    };
  const common: Table = {
    "algorithm.kind": [algorithm, AW(50)],
    "algorithm.aggregation": ["sequence-mean-token-mean", "beyond_agent_dataflow.yaml:19"],
    "algorithm.entropyCoef": [0, "beyond_agent_dataflow.yaml:18"],
    "algorithm.epochs": [1, at("updates")],
    "algorithm.miniBatches": [1, at("updates")],
    ...kl,
  };
  const update: Table = {
    "algorithm.update.clip": [{ low: 0.2, high: 0.2 }, clip],
    "algorithm.update.dualClip": [3, dual],
  };
  if (algorithm !== "ppo") return { ...common, ...update };
  return {
    ...common,
    ...update,
    "algorithm.advantage.gamma": [1, C("ppo_trainer.yaml:147")],
    "algorithm.advantage.lambda": [1, C("ppo_trainer.yaml:150")],
    "algorithm.advantage.critic.learningRateScale": [10, C("critic/critic.yaml:19: 1e-5")],
    "algorithm.advantage.critic.valueClip": [0.5, C("critic/critic.yaml:77")],
  };
}
