import { groupsWithoutSignal } from "../../algorithms/advantages/by-group.ts";
import { maxBatchesOf } from "../../algorithms/algorithms.ts";
import { rolesApart } from "../../algorithms/step/roles.ts";
import { mean } from "../../core/mean.ts";
import { isScored } from "../../core/outcome.ts";
import { present } from "../../core/present.ts";
import { seedOf } from "../../core/random.ts";
import type { Group } from "../../core/trajectory.ts";
import type { Sampler } from "../../engines/engine.ts";
import type { Task } from "../../environments/environment.ts";
import { requireWorkingEnvironment } from "../../findings/environment-faults.ts";
import { applyRewards, type RewardedGroups } from "../../rewards/compose.ts";
import { rolloutTrees } from "../../rollouts/branching/trees.ts";
import { rolloutGroups } from "../../rollouts/rollout.ts";
import type { Metrics } from "../../runs/records.ts";
import { chosenTasks, type Outcomes } from "../config/tasks.ts";
import { announceEpisodes, announceScores } from "../record/events.ts";
import { type Masked, withoutFailures } from "./masking.ts";
import type { StepArguments } from "./step-arguments.ts";
import { settleTurnRewards } from "./turn-rewards.ts";

export interface Sampled {
  /** All that were played, in their order, with their rewards. */
  readonly groups: readonly Group[];
  /** Those that the update learns from. */
  readonly trained: readonly Group[];
  /** Training tasks that were taken. */
  readonly tasks: number;
  readonly chosen: readonly Task[];
  readonly metrics: Metrics;
  readonly rolloutSeconds: number;
  readonly rewardSeconds: number;
}

interface Batch extends RewardedGroups {
  readonly tasks: readonly Task[];
  /** The scored groups without what the environment's faults ended, where these are masked. */
  readonly learned: Masked;
  readonly rolloutSeconds: number;
  readonly rewardSeconds: number;
}

/**
 * Rollouts of a step's tasks and their rewards. With dynamic sampling (DAPO, arXiv:2503.14476, §3.2) further batches of tasks are played
 * until `tasksPerStep` groups have returns that differ: these are trained, the first ones where there are more, as in DAPO's code.
 * @param position training tasks that the steps before have taken
 * @param outcomes of tasks that they have played, for a sampler of tasks that draws by them
 * @throws the signal's reason if it was aborted, RewardError where a batch has no reward
 */
export async function sampleGroups(
  args: Omit<StepArguments, "engine">,
  sampler: Sampler,
  step: number,
  position: number,
  outcomes?: Outcomes,
): Promise<Sampled> {
  const { tasksPerStep } = args.config.rollout;
  const maxBatches = maxBatchesOf(args.config.algorithm);
  const batches: Batch[] = [];
  const varied: Group[] = [];
  do {
    const at = position + batches.length * tasksPerStep;
    const tasks = await chosenTasks(args.environment, at, args.config, outcomes);
    const batch = await playBatch(args, sampler, step, batches.length, tasks);
    batches.push(batch);
    requireWorkingEnvironment(batch.groups, args.environment.name, `step ${step}`);
    varied.push(...batch.learned.groups.filter(hasSignal));
  } while (varied.length < tasksPerStep && batches.length < maxBatches);

  const groups = batches.flatMap((batch) => batch.groups);
  const seconds = (name: "rolloutSeconds" | "rewardSeconds") => batches.reduce((sum, batch) => sum + batch[name], 0);
  const sampled = {
    groups,
    tasks: batches.length * tasksPerStep,
    chosen: batches.flatMap(({ tasks }) => tasks),
    rolloutSeconds: seconds("rolloutSeconds"),
    rewardSeconds: seconds("rewardSeconds"),
  };
  const masked = { maskedEpisodes: batches.reduce((sum, { learned }) => sum + learned.masked, 0) };
  if (maxBatches === 1) {
    const { learned, metrics } = present(batches[0], "a batch");
    return { ...sampled, trained: learned.groups, metrics: { ...metrics, ...masked } };
  }

  if (varied.length < tasksPerStep)
    args.onEvent({
      type: "warning",
      message:
        `Step ${step}: after ${batches.length} batches (algorithm.dynamicSampling.maxBatches) only ${varied.length} of ` +
        `${tasksPerStep} groups have returns that differ; the update learns from these alone. The tasks are too easy or too hard.`,
    });
  const trained = varied.slice(0, tasksPerStep);
  const counts = {
    batchesSampled: batches.length,
    groupsSampled: groups.length,
    groupsDropped: groups.length - trained.length,
  };
  return { ...sampled, trained, metrics: { ...rewardMetrics(batches), ...masked, ...counts } };
}

/** True if the returns of a role differ. */
function hasSignal(group: Group): boolean {
  const credited = rolesApart([group]);
  return groupsWithoutSignal(credited) < credited.length;
}

/** @param batch from 0; the ids of the first are those of a step that has no other */
async function playBatch(
  { config, chat, environment, rewards = [], onEvent, signal }: Omit<StepArguments, "engine">,
  sampler: Sampler,
  step: number,
  batch: number,
  tasks: readonly Task[],
): Promise<Batch> {
  const { seed, rollout } = config;
  const started = performance.now();
  const { branching } = rollout;
  const options = {
    ...rollout,
    seed: seedOf(seed, "rollout", step),
    name: batch === 0 ? `step-${step}` : `step-${step}/batch-${batch}`,
    signal,
    onTrajectory: announceEpisodes(onEvent, "rollout", step, rollout.tasksPerStep * rollout.groupSize),
  };
  const sampled =
    branching === "off"
      ? await rolloutGroups(sampler, chat, environment, tasks, options)
      : await rolloutTrees(sampler, chat, environment, tasks, { ...options, branching });
  signal?.throwIfAborted();
  const played = settleTurnRewards(sampled, config, environment.name);
  const rolled = performance.now();
  const rewarded = await applyRewards(rewards, played, tasks, {
    signal,
    onScored: rewards.length === 0 ? () => {} : announceScores(onEvent, step, played, rewards.length),
    warn: (message) => onEvent({ type: "warning", message: `Step ${step}: ${message}` }),
  });
  return {
    ...rewarded,
    tasks,
    learned: withoutFailures(rewarded.scored),
    rolloutSeconds: (rolled - started) / 1000,
    rewardSeconds: (performance.now() - rolled) / 1000,
  };
}

/** Computes the mean reward of the scored episodes of all batches, and the sums of what parts have counted. */
function rewardMetrics(batches: readonly Batch[]): Metrics {
  const summed: Record<string, number | null> = {};
  for (const { metrics } of batches)
    for (const [name, value] of Object.entries(metrics)) summed[name] = (summed[name] ?? 0) + (value ?? 0);
  if (!("reward" in summed)) return summed;
  const scored = batches.flatMap((batch) => batch.scored.flatMap(({ trajectories }) => trajectories.filter(isScored)));
  return { ...summed, reward: scored.length === 0 ? null : mean(scored.map(({ reward }) => reward)) };
}
