import { type Setup, setup, type Table } from "./setup.ts";

type Algorithm = "seeupo" | "grpo" | "gspo" | "ppo" | "rloo";

const ours = "of this file: the paper's code has no such setting";
const adam = "torch's default";

/**
 * SeeUPO (arXiv:2602.06554) and its baselines on BFCL v4 multi-turn, as the authors' launch files run in effect: modelscope/AgentEvolver,
 * branch seeupo, commit e59dea4. BF-x is launcher/qwen3_bfcl/qwen3-x-bfcl.yaml, C/ is external/verl/verl/trainer/config/, ALG is verl's core_algos.py.
 */
export function bfcl(model: "Qwen/Qwen3-14B" | "Qwen/Qwen2.5-14B-Instruct", algorithm: Algorithm): Setup {
  const own = algorithm === "rloo" ? "seeupo" : algorithm;
  const published = model === "Qwen/Qwen3-14B" && algorithm !== "rloo";
  const because = published ? "" : "; assumed: this run has no launch file";
  /** Where only the line of the AppWorld file beside it is known. */
  const AW = (line: number) => `AW-${own}:${own === "ppo" && line >= 63 ? line - 2 : line}${because}`;
  /** Lines of the ppo file from 63 on are two fewer. */
  const BF = (line: number) => `BF-${own}:${own === "ppo" && line >= 63 ? line - 2 : line}${because}`;
  const C = (file: string) => `default of C/${file}${because}`;
  const table: Table = {
    environment: [{ name: "bfcl", settings: { reward: "sparse" } }, `bfcl_env.py:397-399${because}`],
    model: [
      model,
      model === "Qwen/Qwen3-14B" ? BF(130) : "named by the paper without its variant; the launch file is not published",
    ],
    engine: [
      { kind: "tinker", url: "http://127.0.0.1:8000", model, rank: 0 },
      `${ours}; rank 0: all weights are trained, as FSDP does there`,
    ],
    ...algorithmTable(algorithm, { AW, BF, C, because }),
    "rollout.tasksPerStep": [32, BF(73)],
    "rollout.groupSize": [8, BF(105)],
    "rollout.split": ["train", BF(78)],
    "rollout.maxTurns": [10, BF(101)],
    "rollout.maxTokens": [3994, `${BF(109)}, less 6 by env_manager.py:192-196`],
    "rollout.temperature": [0.9, BF(112)],
    "rollout.topP": [1, C("rollout/rollout.yaml:14")],
    "rollout.topK": [0, C("rollout/rollout.yaml:11")],
    "optimizer.learningRate": [1e-6, BF(88)],
    "optimizer.schedule": ["constant", C("actor/dp_actor.yaml:48; actor.yaml:117, 126")],
    "optimizer.warmupSteps": [0, C("actor/actor.yaml:117, 126")],
    "optimizer.beta1": [0.9, `default of fsdp_workers.py:436${because}`],
    "optimizer.beta2": [0.999, `default of fsdp_workers.py:436${because}`],
    "optimizer.epsilon": [1e-8, adam],
    "optimizer.weightDecay": [0.01, C("actor/actor.yaml:123")],
    "optimizer.clipNorm": [1, C("actor/dp_actor.yaml:23")],
    steps: [150, `${BF(33)}: 50 epochs of 3 whole batches`],
    "evaluation.split": ["test", "ba_ray_trainer.py:1897-1910"],
    "evaluation.tasks": [100, "rows of the validation file"],
    "evaluation.k": [4, AW(41)],
    "evaluation.temperature": [0, C("rollout/rollout.yaml:114")],
    "evaluation.greedy": [false, `${ours}; all attempts are greedy already`],
    "evaluation.during": [
      { every: 5, split: "test", tasks: 100 },
      `${BF(28)}, 32; the published runs have no other validation split`,
    ],
    "checkpoint.every": [5, `${BF(19)}, 31`],
    "checkpoint.keep": [3, `${BF(19)}, 31`],
  };
  return setup(table, [
    "Sources: modelscope/AgentEvolver, branch seeupo, commit e59dea4; BF-x is launcher/qwen3_bfcl/qwen3-x-bfcl.yaml, AW-x qwen3_appworld/qwen3-x-appworld.yaml beside it. This file has not been run.",
    ...(published ? [] : ["No launch file of this run is published: values are those of the Qwen3 run."]),
    "There: a solved task gives 1.5, and -1 if an answer repeats itself; here 1 and no such override.",
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
  readonly BF: (line: number) => string;
  readonly C: (file: string) => string;
  readonly because: string;
}

function algorithmTable(algorithm: Algorithm, { AW, BF, C, because }: Citations): Table {
  const kl: Table = {
    "algorithm.klCoef": [0.002, `${BF(89)} and the two lines below`],
    "algorithm.klEstimator": ["k3", `${BF(89)} and the two lines below`],
  };
  const clip = C("actor/actor.yaml:36, 39");
  const dual = C("actor/actor.yaml:66");
  if (algorithm === "seeupo")
    return {
      "algorithm.kind": ["seeupo", AW(62)],
      "algorithm.order": ["reverse", AW(59)],
      "algorithm.normalisation": ["batch", AW(68)],
      "algorithm.advantageBound": [3, `ba_ray_trainer.py:465-472${because}`],
      "algorithm.advantageFactor": [true, AW(62)],
      "algorithm.carryClip": [{ low: 0.2, high: 0.2 }, AW(63)],
      "algorithm.level": ["token", `${C("actor/actor.yaml:48")}: in effect, though gspo is set where nothing reads it`],
      "algorithm.clip": [{ low: 0.2, high: 0.2 }, clip],
      "algorithm.dualClip": [3, dual],
      "algorithm.epochs": [1, BF(84)],
      "algorithm.visitScale": ["plain", `dp_actor.py:388-397: no scale${because}`],
      "algorithm.minimumRows": [1, `ba_ray_trainer.py:1444: every turn is a visit${because}`],
      ...kl,
    };
  const common: Table = {
    "algorithm.kind": [algorithm, algorithm === "rloo" ? "ALG:446; no launch file" : AW(50)],
    "algorithm.aggregation": ["sequence-mean-token-mean", `beyond_agent_dataflow.yaml:19${because}`],
    "algorithm.entropyCoef": [0, `beyond_agent_dataflow.yaml:18${because}`],
    "algorithm.epochs": [1, BF(84)],
    "algorithm.miniBatches": [1, BF(84)],
    ...kl,
  };
  if (algorithm === "rloo") return common;
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
