import { expect, test } from "vitest";
import { arpoSetup } from "./papers/setups/arpo.ts";
import { seeupoSetup } from "./papers/setups/seeupo.ts";
import type { Setup } from "./papers/setups/setup.ts";

/** Each setting of a set-up with its value and its source, then the notes. */
function linesOf({ config, sources, notes }: Setup): string[] {
  const at = (path: string) => path.split(".").reduce((parent: unknown, key) => (parent as Record<string, unknown>)[key], config);
  return [...Object.entries(sources).map(([path, source]) => `${path} = ${JSON.stringify(at(path))} [${source}]`), ...notes];
}
/** The lines that another set-up does not have. */
const beside = (setup: Setup, base: Setup) => linesOf(setup).filter((line) => !linesOf(base).includes(line));

const reasoning = arpoSetup("reasoning", "Qwen/Qwen2.5-7B-Instruct");
const bfcl = seeupoSetup("bfcl", "seeupo");

test("ARPO's launch file for reasoning", () => {
  expect(linesOf(reasoning)).toMatchInlineSnapshot(`
    [
      "environment.name = "deep-research" [RT: the rollout with tools]",
      "environment.settings.data = {"train":"data/arpo/train_10k.parquet","validation":"data/arpo/valid.parquet"} [R7:44, 45]",
      "environment.settings.search = {"kind":"serper"} [of this file: there a paid proxy of Bing, which cannot be had]",
      "environment.settings.protocol = "training" [RT:340-354]",
      "environment.settings.limits = {"calls":3,"resultLength":1000,"responseTokens":4096} [Y:153, 173-175; R7:40-41]",
      "environment.settings.grader = "f1" [W/utils/reward_score/deep_research.py:304-351, named at R7:66]",
      "environment.settings.python = {"timeoutMs":120000} [Y:154-156]",
      "model = "Qwen/Qwen2.5-7B-Instruct" [R7:49, 25: a placeholder; the cold start's checkpoint belongs here]",
      "engine = {"kind":"tinker","url":"http://127.0.0.1:8000","model":"Qwen/Qwen2.5-7B-Instruct","rank":0} [of this file: the paper's code has no such setting; rank 0: all weights are trained, as FSDP does there]",
      "algorithm.kind = "arpo" [R7:54, 105]",
      "algorithm.attribution = "soft" [RT:552-555]",
      "algorithm.advantage.std = "group" [core_algos.py:113-166]",
      "algorithm.update.clip = {"low":0.2,"high":0.2} [default of Y:52-54]",
      "algorithm.update.dualClip = 3 [default of Y:52-54]",
      "algorithm.aggregation = "token-mean" [default of Y:55]",
      "algorithm.entropyCoef = 0 [default of Y:56]",
      "algorithm.klCoef = 0 [R7:120-122]",
      "algorithm.epochs = 1 [default of Y:61]",
      "algorithm.miniBatches = 8 [R7:38, 39: 128 tasks in mini-batches of 16]",
      "rollout.tasksPerStep = 128 [R7:38]",
      "rollout.groupSize = 16 [R7:55]",
      "rollout.branching = {"firstRollouts":8,"beam":2,"tokens":20,"entropy":"top-10","rule":{"kind":"reference","weight":0.2,"threshold":0.5}} [R7:55, and 56 for those that begin at the root; beam 57; threshold 58; weight 59; entropy RT:172-177, 284-305]",
      "rollout.split = "train" [R7:44]",
      "rollout.maxTurns = 4 [default of Y:153: an action after the last call]",
      "rollout.maxTokens = 4096 [R7:40-41]",
      "rollout.temperature = 1 [default of Y:102-104]",
      "rollout.topP = 1 [default of Y:102-104]",
      "rollout.topK = 0 [default of Y:102-104]",
      "optimizer.learningRate = 0.000001 [R7:116]",
      "optimizer.schedule = "constant" [default of Y:68-72]",
      "optimizer.warmupSteps = 0 [default of Y:68-72]",
      "optimizer.beta1 = 0.9 [default of W/workers/fsdp_workers.py:361]",
      "optimizer.beta2 = 0.999 [default of W/workers/fsdp_workers.py:361]",
      "optimizer.epsilon = 1e-8 [torch's default]",
      "optimizer.weightDecay = 0.01 [default of Y:74]",
      "optimizer.clipNorm = 1 [default of Y:49]",
      "steps = 156 [R7:71: 2 epochs of 78 whole batches; the last incomplete batch is dropped]",
      "evaluation.split = "validation" [R7:45]",
      "evaluation.tasks = 180 [rows of the validation files]",
      "evaluation.k = 1 [default of Y:139-145]",
      "evaluation.temperature = 0 [default of Y:139-145]",
      "evaluation.greedy = false [of this file: the paper's code has no such setting; the one attempt is greedy already]",
      "evaluation.during = {"every":5,"split":"validation","tasks":180} [R7:73]",
      "checkpoint.every = 5 [R7:72]",
      "checkpoint.keep = 32 [default of Y:299: all are kept]",
      "Sources: RUC-NLPIR/ARPO, commit a95cd08: R7, D8, D14 are ARPO/scripts/ARPO_7B_Reasoning_1node.sh, ARPO_8B_Deepsearch_1node.sh, ARPO_14b_Deepsearch_1node.sh; Y and YD ppo_trainer.yaml and ppo_trainer_dr.yaml; RT vllm_rollout_with_tools.py. This file has not been run.",
      "The data files are ARPO's own and are not part of this package; the search needs a key (SERPER_API_KEY).",
      "There: entropies are compared with the first batch's, which are never cleared; here with those of the same rollout.",
      "There: leaves of a tree are dealt to mini-batches by rows, and trees that cannot branch repeat their last leaf; here whole trees, filled by new rollouts.",
      "There: a prompt of at most 1536 tokens; here the model's context is the limit.",
      "There: mathematics is rewarded by token F1 as well; so it is here (grader f1).",
    ]
  `);
});

test("ARPO's launch file for deep search with 8 B, where it differs from that for reasoning", () => {
  expect(beside(arpoSetup("deep-search-8b", "Qwen/Qwen3-8B"), reasoning)).toMatchInlineSnapshot(`
    [
      "environment.settings.data = {"train":"data/arpo/hard_search_1k.parquet","validation":["data/arpo/gaia_test.parquet","data/arpo/hle_test.parquet"]} [D8:44, 45]",
      "environment.settings.limits = {"calls":6,"resultLength":1000,"responseTokens":10000} [YD:153, 173-175; D8:40-41]",
      "environment.settings.python = {"timeoutMs":120000} [YD:154-156]",
      "model = "Qwen/Qwen3-8B" [D8:49, 25: a placeholder; the cold start's checkpoint belongs here]",
      "engine = {"kind":"tinker","url":"http://127.0.0.1:8000","model":"Qwen/Qwen3-8B","rank":0} [of this file: the paper's code has no such setting; rank 0: all weights are trained, as FSDP does there]",
      "algorithm.update.clip = {"low":0.2,"high":0.2} [default of YD:52-54]",
      "algorithm.update.dualClip = 3 [default of YD:52-54]",
      "algorithm.aggregation = "token-mean" [default of YD:55]",
      "algorithm.entropyCoef = 0 [default of YD:56]",
      "algorithm.klCoef = 0 [D8:122-124]",
      "algorithm.epochs = 1 [default of YD:61]",
      "algorithm.miniBatches = 8 [D8:38, 39: 128 tasks in mini-batches of 16]",
      "rollout.tasksPerStep = 128 [D8:38]",
      "rollout.groupSize = 16 [D8:55]",
      "rollout.branching = {"firstRollouts":8,"beam":2,"tokens":20,"entropy":"top-10","rule":{"kind":"reference","weight":0.2,"threshold":0.5}} [D8:55, and 56 for those that begin at the root; beam 57; threshold 58; weight 59; entropy RT:172-177, 284-305]",
      "rollout.split = "train" [D8:44]",
      "rollout.maxTurns = 7 [default of YD:153: an action after the last call]",
      "rollout.maxTokens = 10000 [D8:40-41]",
      "rollout.temperature = 1 [default of YD:102-104]",
      "rollout.topP = 1 [default of YD:102-104]",
      "rollout.topK = 0 [default of YD:102-104]",
      "optimizer.learningRate = 0.000001 [D8:118]",
      "optimizer.schedule = "constant" [default of YD:68-72]",
      "optimizer.warmupSteps = 0 [default of YD:68-72]",
      "optimizer.weightDecay = 0.01 [default of YD:74]",
      "optimizer.clipNorm = 1 [default of YD:49]",
      "steps = 40 [D8:71: 5 epochs of 8 whole batches; the last incomplete batch is dropped]",
      "evaluation.split = "validation" [D8:45]",
      "evaluation.tasks = 203 [rows of the validation files]",
      "evaluation.k = 1 [default of YD:139-145]",
      "evaluation.temperature = 0 [default of YD:139-145]",
      "evaluation.during = {"every":5,"split":"validation","tasks":203} [D8:73]",
      "checkpoint.every = 5 [D8:72]",
      "checkpoint.keep = 8 [default of Y:299: all are kept]",
      "There: a prompt of at most 2000 tokens; here the model's context is the limit.",
      "As first published the deep-search files did not run, and their limit of calls was 3 (5 in effect); 6 is the repaired one. Which the paper used cannot be known.",
    ]
  `);
});

test("ARPO's launch file for deep search with 14 B, where it differs from that with 8 B", () => {
  expect(
    beside(arpoSetup("deep-search-14b", "Qwen/Qwen3-14B"), arpoSetup("deep-search-8b", "Qwen/Qwen3-8B")),
  ).toMatchInlineSnapshot(`
    [
      "environment.settings.data = {"train":"data/arpo/hard_search_1k.parquet","validation":["data/arpo/gaia_test.parquet","data/arpo/hle_test.parquet"]} [D14:43, 44]",
      "environment.settings.limits = {"calls":6,"resultLength":1000,"responseTokens":6192} [YD:153, 173-175; D14:39-40]",
      "model = "Qwen/Qwen3-14B" [D14:48, 24: a placeholder; the cold start's checkpoint belongs here]",
      "engine = {"kind":"tinker","url":"http://127.0.0.1:8000","model":"Qwen/Qwen3-14B","rank":0} [of this file: the paper's code has no such setting; rank 0: all weights are trained, as FSDP does there]",
      "algorithm.klCoef = 0 [D14:120-122]",
      "algorithm.miniBatches = 8 [D14:37, 38: 64 tasks in mini-batches of 8]",
      "rollout.tasksPerStep = 64 [D14:37]",
      "rollout.groupSize = 12 [D14:53]",
      "rollout.branching = {"firstRollouts":6,"beam":2,"tokens":20,"entropy":"top-10","rule":{"kind":"reference","weight":0.2,"threshold":0.5}} [D14:53, and 54 for those that begin at the root; beam 55; threshold 56; weight 57; entropy RT:172-177, 284-305]",
      "rollout.split = "train" [D14:43]",
      "rollout.maxTokens = 6192 [D14:39-40]",
      "optimizer.learningRate = 0.000001 [D14:116]",
      "steps = 80 [D14:69: 5 epochs of 16 whole batches; the last incomplete batch is dropped]",
      "evaluation.split = "validation" [D14:44]",
      "evaluation.during = {"every":5,"split":"validation","tasks":203} [D14:71]",
      "checkpoint.every = 5 [D14:70]",
      "checkpoint.keep = 16 [default of Y:299: all are kept]",
    ]
  `);
});

test("SeeUPO's launch file for BFCL", () => {
  expect(linesOf(bfcl)).toMatchInlineSnapshot(`
    [
      "environment = {"name":"bfcl","settings":{"reward":"sparse"}} [bfcl_env.py:397-399]",
      "model = "Qwen/Qwen3-14B" [BF-seeupo:130]",
      "engine = {"kind":"tinker","url":"http://127.0.0.1:8000","model":"Qwen/Qwen3-14B","rank":0} [of this file: the paper's code has no such setting; rank 0: all weights are trained, as FSDP does there]",
      "algorithm.kind = "seeupo-code" [AW-seeupo:62]",
      "algorithm.order = "reverse" [AW-seeupo:59]",
      "algorithm.normalisation = "batch" [AW-seeupo:68]",
      "algorithm.advantageBound = 3 [ba_ray_trainer.py:465-472]",
      "algorithm.advantageFactor = true [AW-seeupo:62]",
      "algorithm.carryClip = {"low":0.2,"high":0.2} [AW-seeupo:63]",
      "algorithm.level = "token" [default of C/actor/actor.yaml:48: in effect, though gspo is set where nothing reads it]",
      "algorithm.clip = {"low":0.2,"high":0.2} [default of C/actor/actor.yaml:36, 39]",
      "algorithm.dualClip = 3 [default of C/actor/actor.yaml:66]",
      "algorithm.epochs = 1 [BF-seeupo:84]",
      "algorithm.klCoef = 0.002 [BF-seeupo:89 and the two lines below]",
      "algorithm.klEstimator = "k3" [BF-seeupo:89 and the two lines below]",
      "rollout.tasksPerStep = 32 [BF-seeupo:73]",
      "rollout.groupSize = 8 [BF-seeupo:105]",
      "rollout.split = "train" [BF-seeupo:78]",
      "rollout.maxTurns = 10 [BF-seeupo:101]",
      "rollout.maxTokens = 3994 [BF-seeupo:109, less 6 by env_manager.py:192-196]",
      "rollout.temperature = 0.9 [BF-seeupo:112]",
      "rollout.topP = 1 [default of C/rollout/rollout.yaml:14]",
      "rollout.topK = 0 [default of C/rollout/rollout.yaml:11]",
      "optimizer.learningRate = 0.000001 [BF-seeupo:88]",
      "optimizer.schedule = "constant" [default of C/actor/dp_actor.yaml:48; actor.yaml:117, 126]",
      "optimizer.warmupSteps = 0 [default of C/actor/actor.yaml:117, 126]",
      "optimizer.beta1 = 0.9 [default of fsdp_workers.py:436]",
      "optimizer.beta2 = 0.999 [default of fsdp_workers.py:436]",
      "optimizer.epsilon = 1e-8 [torch's default]",
      "optimizer.weightDecay = 0.01 [default of C/actor/actor.yaml:123]",
      "optimizer.clipNorm = 1 [default of C/actor/dp_actor.yaml:23]",
      "steps = 150 [BF-seeupo:33: 50 epochs of 3 whole batches]",
      "evaluation.split = "test" [ba_ray_trainer.py:1897-1910]",
      "evaluation.tasks = 100 [rows of the validation file]",
      "evaluation.k = 4 [AW-seeupo:41]",
      "evaluation.temperature = 0 [default of C/rollout/rollout.yaml:114]",
      "evaluation.greedy = false [of this file: the paper's code has no such setting; all attempts are greedy already]",
      "evaluation.during = {"every":5,"split":"test","tasks":100} [BF-seeupo:28, 32; the published runs have no other validation split]",
      "checkpoint.every = 5 [BF-seeupo:19, 31]",
      "checkpoint.keep = 3 [BF-seeupo:19, 31]",
      "Sources: modelscope/AgentEvolver, branch seeupo, commit e59dea4; BF-x is launcher/qwen3_bfcl/qwen3-x-bfcl.yaml, AW-x qwen3_appworld/qwen3-x-appworld.yaml beside it. This file has not been run.",
      "There: a solved task gives 1.5, and -1 if an answer repeats itself; here 1 and no such override.",
      "There: M of a padded turn moves and its KL counts; here a trajectory has only the turns that it has.",
      "There: a hint to think briefly is added to each context, and tool results are cut to 3,000 tokens; here neither.",
    ]
  `);
});

test("SeeUPO's launch file for AppWorld, where it differs from that for BFCL", () => {
  expect(beside(seeupoSetup("appworld", "seeupo"), bfcl)).toMatchInlineSnapshot(`
    [
      "environment = {"name":"appworld","settings":{"reward":"seeupo","maxInteractions":10}} [appworld_env.py:810-829; agent_flow.py:141-150]",
      "model = "Qwen/Qwen3-14B" [AW-seeupo:128]",
      "algorithm.epochs = 1 [AW-seeupo:82]",
      "algorithm.klCoef = 0.002 [AW-seeupo:87 and the two lines below]",
      "algorithm.klEstimator = "k3" [AW-seeupo:87 and the two lines below]",
      "rollout.tasksPerStep = 32 [AW-seeupo:73]",
      "rollout.groupSize = 8 [AW-seeupo:103]",
      "rollout.split = "train" [AW-seeupo:77]",
      "rollout.maxTurns = 10 [AW-seeupo:99]",
      "rollout.maxTokens = 2994 [AW-seeupo:107, less 6 by env_manager.py:192-196]",
      "rollout.temperature = 0.9 [AW-seeupo:110]",
      "optimizer.learningRate = 0.000001 [AW-seeupo:86]",
      "steps = 150 [AW-seeupo:33: 75 epochs of 2 whole batches]",
      "evaluation.split = "dev" [ba_ray_trainer.py:1897-1910]",
      "evaluation.tasks = 57 [rows of dev.parquet; the paper's own split cannot be known]",
      "evaluation.during = {"every":5,"split":"dev","tasks":57} [AW-seeupo:28, 32; the published runs have no other validation split]",
      "checkpoint.every = 3 [AW-seeupo:19, 31]",
      "checkpoint.keep = 3 [AW-seeupo:19, 31]",
      "The reward seeupo is 1.5 for a solved task, else half of the share of its tests that passed, and -1 if an answer repeats itself, as there.",
      "There: the evaluation runs on dev; whether the paper's tables are of dev or test_normal cannot be known.",
    ]
  `);
});

test("PPO's launch file for AppWorld, where it differs from SeeUPO's", () => {
  expect(beside(seeupoSetup("appworld", "ppo"), seeupoSetup("appworld", "seeupo"))).toMatchInlineSnapshot(`
    [
      "model = "Qwen/Qwen3-14B" [AW-ppo:126]",
      "algorithm.kind = "ppo" [AW-ppo:50]",
      "algorithm.aggregation = "sequence-mean-token-mean" [beyond_agent_dataflow.yaml:19]",
      "algorithm.entropyCoef = 0 [beyond_agent_dataflow.yaml:18]",
      "algorithm.epochs = 1 [AW-ppo:80]",
      "algorithm.miniBatches = 1 [AW-ppo:80]",
      "algorithm.klCoef = 0.002 [AW-ppo:85 and the two lines below]",
      "algorithm.klEstimator = "k3" [AW-ppo:85 and the two lines below]",
      "algorithm.update.clip = {"low":0.2,"high":0.2} [default of C/actor/actor.yaml:36, 39]",
      "algorithm.update.dualClip = 3 [default of C/actor/actor.yaml:66]",
      "algorithm.advantage.gamma = 1 [default of C/ppo_trainer.yaml:147]",
      "algorithm.advantage.lambda = 1 [default of C/ppo_trainer.yaml:150]",
      "algorithm.advantage.critic.learningRateScale = 10 [default of C/critic/critic.yaml:19: 1e-5]",
      "algorithm.advantage.critic.valueClip = 0.5 [default of C/critic/critic.yaml:77]",
      "rollout.tasksPerStep = 32 [AW-ppo:71]",
      "rollout.groupSize = 8 [AW-ppo:101]",
      "rollout.split = "train" [AW-ppo:75]",
      "rollout.maxTurns = 10 [AW-ppo:97]",
      "rollout.maxTokens = 2994 [AW-ppo:105, less 6 by env_manager.py:192-196]",
      "rollout.temperature = 0.9 [AW-ppo:108]",
      "optimizer.learningRate = 0.000001 [AW-ppo:84]",
      "steps = 150 [AW-ppo:33: 75 epochs of 2 whole batches]",
      "evaluation.k = 4 [AW-ppo:41]",
      "evaluation.during = {"every":5,"split":"dev","tasks":57} [AW-ppo:28, 32; the published runs have no other validation split]",
      "checkpoint.every = 3 [AW-ppo:19, 31]",
      "checkpoint.keep = 3 [AW-ppo:19, 31]",
      "There: baselines have one row for each turn, so long trajectories weigh more; here a trajectory is one sequence.",
      "There: the critic is Qwen2.5-14B-Instruct with up to 20 steps a batch; here it is the engine's own critic.",
    ]
  `);
});

test("GRPO's and GSPO's launch files for BFCL, where they differ from PPO's and from each other", () => {
  const grpo = seeupoSetup("bfcl", "grpo");
  expect(beside(grpo, seeupoSetup("bfcl", "ppo"))).toMatchInlineSnapshot(`
    [
      "model = "Qwen/Qwen3-14B" [BF-grpo:130]",
      "algorithm.kind = "grpo" [AW-grpo:50]",
      "algorithm.epochs = 1 [BF-grpo:84]",
      "algorithm.miniBatches = 1 [BF-grpo:84]",
      "algorithm.klCoef = 0.002 [BF-grpo:89 and the two lines below]",
      "algorithm.klEstimator = "k3" [BF-grpo:89 and the two lines below]",
      "rollout.tasksPerStep = 32 [BF-grpo:73]",
      "rollout.groupSize = 8 [BF-grpo:105]",
      "rollout.split = "train" [BF-grpo:78]",
      "rollout.maxTurns = 10 [BF-grpo:101]",
      "rollout.maxTokens = 3994 [BF-grpo:109, less 6 by env_manager.py:192-196]",
      "rollout.temperature = 0.9 [BF-grpo:112]",
      "optimizer.learningRate = 0.000001 [BF-grpo:88]",
      "steps = 150 [BF-grpo:33: 50 epochs of 3 whole batches]",
      "evaluation.k = 4 [AW-grpo:41]",
      "evaluation.during = {"every":5,"split":"test","tasks":100} [BF-grpo:28, 32; the published runs have no other validation split]",
      "checkpoint.every = 5 [BF-grpo:19, 31]",
      "checkpoint.keep = 3 [BF-grpo:19, 31]",
    ]
  `);
  const renamed = {
    ...grpo,
    sources: Object.fromEntries(
      Object.entries(grpo.sources).map(([path, source]) => [path, source.replaceAll("-grpo:", "-gspo:")]),
    ),
  };
  expect(beside(seeupoSetup("bfcl", "gspo"), renamed)).toMatchInlineSnapshot(`
    [
      "algorithm.kind = "gspo" [AW-gspo:50]",
      "There: the key for sequence ratios is set where nothing reads it, and ratios are 1 in the one step: the run equals GRPO's.",
    ]
  `);
});
