import { ConfigError } from "../../src/core/errors.ts";
import type { TrainingConfig, UserConfig } from "../../src/training/config.ts";

type Branching = Exclude<NonNullable<NonNullable<UserConfig["rollout"]>["branching"]>, "off">;

interface Arm {
  readonly title: string;
  readonly algorithm: NonNullable<UserConfig["algorithm"]>;
  /** M, where it is not the study's. */
  readonly leaves?: (leaves: number) => number;
  /** How rollouts branch, given M; off if left out. */
  readonly branching?: (leaves: number) => Branching;
}

const grpo = { kind: "grpo", aggregation: "token-mean" } as const;
const arpo = { kind: "arpo", aggregation: "token-mean", miniBatches: 1 } as const;

/**
 * What is compared. All arms have the same number M of leaves (trajectories) for each task, but for "grpo-half": the calls that fewer
 * rollouts save without any tree. Half of the leaves are first rollouts unless something else is said. Losses are averaged over tokens
 * everywhere, as in ARPO and DAPO, so that GRPO differs from ARPO in its rollouts alone.
 */
const arms: Readonly<Record<string, Arm>> = {
  grpo: { title: "GRPO", algorithm: grpo },
  "grpo-half": { title: "GRPO, half of the leaves", algorithm: grpo, leaves: (leaves) => Math.ceil(leaves / 2) },
  dapo: { title: "DAPO", algorithm: { kind: "dapo", aggregation: "token-mean", miniBatches: 1 } },
  arpo: { title: "ARPO, reference rule", algorithm: arpo, branching: () => ({}) },
  "arpo-paper": { title: "ARPO, paper's rule", algorithm: arpo, branching: () => ({ rule: { kind: "paper" } }) },
  "arpo-quarter": {
    title: "ARPO, a quarter first",
    algorithm: arpo,
    branching: (leaves) => ({ firstRollouts: Math.ceil(leaves / 4) }),
  },
  "arpo-tree": { title: "ARPO, tree attribution", algorithm: { ...arpo, attribution: "tree" }, branching: () => ({}) },
  seeupo: {
    title: "SeeUPO on trees",
    algorithm: { kind: "seeupo", advantage: "tree", klCoef: 0 },
    branching: () => ({}),
  },
};

export const armNames = Object.keys(arms);
export const armsByDefault = ["grpo", "grpo-half", "dapo", "arpo", "arpo-paper"];
/** What the others are held against. */
export const baselines = ["grpo", "dapo"];

export function titleOf(arm: string): string {
  return arms[arm].title;
}

/**
 * What all arms share. A constant learning rate: with one that falls, the reward after so many calls would depend on how many there are to come.
 * One attempt at each of the same held-out tasks, before, during and after training, on rollouts that do not branch.
 */
export function sharedConfig({ every, tasks }: { readonly every: number; readonly tasks: number }): UserConfig {
  return {
    rollout: { tasksPerStep: 16, groupSize: 16 },
    optimizer: { schedule: "constant" },
    evaluation: { split: "test", tasks, k: 1, during: { every, split: "test", tasks } },
    checkpoint: { every: 10, keep: 1 },
  };
}

/**
 * @param shared of the study, resolved; what it says of branching holds for all trees
 * @throws ConfigError where there is no such arm
 */
export function armConfig(arm: string, shared: TrainingConfig): UserConfig {
  if (!(arm in arms)) throw new ConfigError("--arms", arm, { expected: armNames });
  const { algorithm, leaves, branching } = arms[arm];
  const { groupSize, branching: wished } = shared.rollout;
  const trees = wished === "off" ? {} : wished;
  return {
    ...shared,
    algorithm,
    rollout: {
      ...shared.rollout,
      groupSize: leaves?.(groupSize) ?? groupSize,
      branching: branching === undefined ? "off" : { ...trees, ...branching(groupSize) },
    },
  };
}
