import { z } from "zod";
import type { Context } from "../../core/context.ts";
import type { Kind, SettingsOf } from "../../core/kinds.ts";
import type { Capability, Policy } from "../../core/policy.ts";
import type { Group, Trajectory, Turn } from "../../core/trajectory.ts";
import type { Glossary, MetricValues } from "../metrics.ts";
import type { Aggregation } from "../objectives/aggregation.ts";
import { type TokenRows, total } from "../objectives/objective.ts";
import { type Episode, spread, withReturns } from "../step/episodes.ts";
import type { FixedRows } from "../step/minimise.ts";
import type { Advantages } from "./by-group.ts";

/** The data that advantages are estimated from. */
export interface Evidence {
  /** The policy before the update, for a kind that needs passes of its own. */
  readonly policy: Policy;
  readonly groups: readonly Group[];
  /** β·κ per token, taken from the reward. */
  readonly klPenalties?: FixedRows | undefined;
}

/** One row per trained turn, one number per token. */
export interface Estimate {
  readonly episodes: readonly Episode[];
  readonly advantages: TokenRows;
  readonly metrics: MetricValues;
  /** Runs after each step of the policy, on its mini-batch: one step of a critic. */
  readonly afterStep?: (batch: readonly Episode[], aggregation: Aggregation) => Promise<MetricValues>;
}

/** Log-probs of action tokens, in nats, rows alike. */
export type Scores = Policy["logprobs"];

export interface NamedModel {
  readonly name: string;
  /** The path of the setting that names it, within the kind's own settings. */
  readonly setting: string;
}

/** The parts of a training step that a kind may use before the update, with the step's tasks. */
export interface StepParts {
  readonly groups: readonly Group[];
  /** Tokens of the model's longest sequence. */
  readonly maxLength: number;
  /** Scores under the policy before the update. */
  readonly scores: Scores;
  /** Scores under the model that the kind names. */
  readonly modelScores?: Scores;
  /** Encodes the demonstration of a task of the groups. @throws ConfigError or EnvError if it has none */
  demonstration(task: string): Promise<Context>;
  warn(message: string): void;
}

/** An advantage: its settings, its estimate, and what it needs. One file each, one line in kinds.ts. */
export interface AdvantageKind<
  Name extends string = string,
  Shape extends z.core.$ZodShape = z.core.$ZodShape,
  Measured extends string = string,
> extends Kind<Name, Shape> {
  /** The credit, in words, for the tables of docs/algorithms. */
  readonly formula: string;
  readonly source: string;
  /** Where the returns are compared: in a batch-wide comparison, groups of equal returns teach too. */
  readonly comparedWithin: "group" | "batch";
  /** True if it reads the rewards of turns where they were given. Default false: it sees the return alone. */
  readonly readsTurnRewards?: boolean;
  /** True if turns that branches of a rollout share are trained once. They then belong to no single trajectory. Default false. */
  readonly trainsSharedTurnsOnce?: boolean;
  /** Capabilities that an engine must have. Default none. */
  readonly capabilities?: readonly Capability[];
  /** Returns another model that it scores with, and the setting that names it. Default: there is none. */
  model?(config: SettingsOf<Shape>): NamedModel;
  /** True if it reads demonstrations of the step's tasks. Default false. */
  readonly readsDemonstrations?: boolean;
  /** Returns what scores the policy's tokens in a step, `policy.teacherLogprobs`. Default: there is none. */
  teacher?(step: StepParts, config: SettingsOf<Shape>): Scores | Promise<Scores>;
  /** The metrics that it alone reports. Default none. */
  readonly metrics?: Glossary<Measured>;
  /** Returns the first requirement that a run lacks, before anything is sampled. Default: none. */
  unmet?(config: SettingsOf<Shape>, run: RunFacts): Unmet | undefined;
  estimate(evidence: Evidence, config: SettingsOf<Shape>): Estimate | Promise<Estimate>;
}

/** The parts of a run that an advantage may need. */
export interface RunFacts {
  /** Names of the rewards that trajectories record, "environment" among them. Empty where `rewards` is. */
  readonly rewards: readonly string[];
  readonly branching: boolean;
  readonly klInReward: boolean;
}

/** A requirement that a run lacks. */
export interface Unmet {
  /** The path of the setting that has it, within the kind's own settings. */
  readonly setting: string;
  readonly value: unknown;
  readonly expected: string | readonly string[];
}

/** For advantages that compare the branches of a rollout. */
export const needsBranches = (_: unknown, { branching }: RunFacts): Unmet | undefined =>
  branching
    ? undefined
    : { setting: "kind", value: "off", expected: "rollout.branching with settings: it compares the branches of a rollout" };

export function defineAdvantage<const Name extends string, Shape extends z.core.$ZodShape, const Measured extends string = never>(
  kind: AdvantageKind<Name, Shape, Measured>,
): AdvantageKind<Name, Shape, Measured> {
  return kind;
}

/** A group of one: advantage 0, or its bare return as in verl. */
export const singletonGroups = z.enum(["zero", "raw"]).default("zero");
/** The divisor of R − mean: the group's deviation, or nothing. */
export const std = z.enum(["group", "none"]).default("group");
export const discount = (value: number) => z.number().min(0).max(1).default(value);

export function episodesOf(
  groups: readonly Group[],
  turnsOfOne: (trajectory: Trajectory) => readonly Turn[] = ({ turns }) => turns,
): Episode[] {
  return groups.flatMap(({ trajectories }) => trajectories.map((trajectory) => ({ trajectory, turns: turnsOfOne(trajectory) })));
}

/** The groups with the KL penalty of a trajectory's tokens taken from its return. */
export function penalised({ groups, klPenalties }: Evidence): readonly Group[] {
  if (klPenalties === undefined) return groups;
  return withReturns(groups, (trajectory) => trajectory.reward - total(klPenalties(trajectory.turns)));
}

/** One number for all tokens of a trajectory. */
export function perTrajectory(groups: readonly Group[], advantages: Advantages): Estimate {
  const episodes = episodesOf(groups);
  return {
    episodes,
    advantages: episodes.flatMap(({ trajectory, turns }) =>
      spread(
        turns,
        turns.map(() => advantages.get(trajectory.id) ?? 0),
      ),
    ),
    metrics: {},
  };
}

/**
 * r: the reward of each turn at its last token and the rest of R at the last one of all, less the KL penalty of each token.
 * One row per turn.
 */
export function tokenRewards(episodes: readonly Episode[], klPenalties: FixedRows | undefined): number[][] {
  return episodes.flatMap(({ trajectory, turns }) => {
    const rows =
      klPenalties === undefined
        ? spread(
            turns,
            turns.map(() => 0),
          )
        : klPenalties(turns).map((row) => row.map((k) => -k));
    let rest = trajectory.reward;
    for (const [i, { reward }] of turns.entries()) {
      if (reward === undefined) continue;
      rest -= reward;
      addAtEnd(rows[i], reward);
    }
    const last = rows.at(-1);
    if (last !== undefined) addAtEnd(last, rest);
    return rows;
  });
}

function addAtEnd(row: number[], reward: number): void {
  if (row.length > 0) row[row.length - 1] += reward;
}
