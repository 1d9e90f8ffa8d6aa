import { join } from "node:path";
import { MeasurementError } from "../../src/core/errors.ts";
import { groupBy } from "../../src/core/group-by.ts";
import { mean } from "../../src/core/mean.ts";
import { isScored, verdictWithheld } from "../../src/core/outcome.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { applyRewards } from "../../src/rewards/compose.ts";
import { createRewards } from "../../src/rewards/create.ts";
import { lastAnswer, type RewardOptions } from "../../src/rewards/reward.ts";
import type { Estimate } from "../../src/statistics/estimate.ts";
import { meanInterval } from "../../src/statistics/intervals.ts";
import { comparePaired, type PairedComparison } from "../../src/statistics/paired.ts";
import { resolveConfig, rewardsFromCode } from "../../src/training/config/config.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import { environmentsOwn, type RecordedGroups, type RecordedPart, recordedGroups, recordedTasks } from "./recorded-groups.ts";
import { marksOf, readRemarks } from "./remarks.ts";

export interface RescoreOptions extends RewardOptions, RecordedPart {
  /** A reward of so much passes. Default 1. */
  readonly pass?: number;
  /** In milliseconds, for each answer of a reward from code or the environment. Default: two minutes. */
  readonly timeoutMs?: number;
  readonly onWarning?: (message: string) => void;
}

/** An episode under both rewards. */
export interface RescoredEpisode {
  readonly id: string;
  readonly task: string;
  readonly before: number;
  readonly after: number;
  /** Whether it passes by one reward alone. */
  readonly flipped: boolean;
  /** The first line of its last message. */
  readonly line: string;
}

export interface Rescored {
  /** The largest changes first, flipped verdicts before all others. */
  readonly episodes: readonly RescoredEpisode[];
  /** Episodes that an error ended, and those that a reward could not score in time: they are in no number. */
  readonly unscored: readonly string[];
  /** Means of tasks, or of scenarios, the new reward less the recorded one. Absent where too many episodes have no score. */
  readonly change?: PairedComparison & { readonly before: number; readonly after: number };
  /** The agreement of both verdicts: how far a judge, for instance, says what a programmed reward says. */
  readonly agreement?: Agreement;
  readonly withheld?: string;
  readonly nowPass: number;
  readonly noLongerPass: number;
}

/**
 * Gives recorded episodes another reward, and compares it with the recorded one, task by task. Nothing is played again. Judges keep their
 * verdicts in the record's folder, below `rescored/`, so that none is paid twice.
 * @param folder of a run or an evaluation
 * @param rewards as in a configuration: parts whose weighted sum is the reward. "marks": what people gave in the dashboard, to the episodes that
 *   they marked
 * @throws RewardError where one fails: an error is never a score; UntrustedError if the record is from elsewhere and its environment acts;
 *   ConfigError for unusable rewards; MeasurementError if no episode has both rewards
 * @example
 * const { change } = await rescore("runs/office-grpo-1", [defineReward({ name: "brief", verify: ({ answer }) => answer.length < 200 })]);
 */
export async function rescore(
  folder: string,
  rewards: NonNullable<UserConfig["rewards"]> | "marks",
  options: RescoreOptions = {},
): Promise<Rescored> {
  const { pass = 1 } = options;
  const recorded = recordedGroups(folder, options);
  const given = rewards === "marks" ? byMarks(folder, recorded) : await byRewards(folder, rewards, recorded, options);
  const passes = (reward: number) => reward >= pass - 1e-9;
  const episodes = given.flatMap(({ trajectory, after }) => {
    const { reward: before } = trajectory;
    if (after === undefined || !isScored(trajectory)) return [];
    const [line = ""] = lastAnswer(trajectory).trim().split("\n");
    return [{ trajectory, before, after, flipped: passes(before) !== passes(after), line }];
  });
  if (episodes.length === 0)
    throw new MeasurementError(folder, "no episode with both rewards", {
      expected: `at least one: ${rewards === "marks" ? "mark some in the dashboard" : "errors are no scores"}`,
    });
  const rescored = new Set(episodes.map(({ trajectory }) => trajectory.id));
  const withheld = verdictWithheld([{ attempts: given.length, errors: given.length - episodes.length }], [folder]);
  const units = unitsOf(episodes);
  const verdicts = units.map((own) => own.map((each) => [passes(each.before), passes(each.after)] as const));
  const agreement = agreementOf(verdicts, 0);
  const size = (of: { before: number; after: number }) => Math.abs(of.after - of.before);
  return {
    episodes: episodes
      .toSorted((a, b) => Number(b.flipped) - Number(a.flipped) || size(b) - size(a))
      .map(({ trajectory: { id, task }, ...rest }) => ({ id, task, ...rest })),
    unscored: given.flatMap(({ trajectory: { id } }) => (rescored.has(id) ? [] : [id])),
    ...(withheld === undefined ? { change: changeOf(units), agreement } : { withheld }),
    nowPass: episodes.filter(({ flipped, after }) => flipped && passes(after)).length,
    noLongerPass: episodes.filter(({ flipped, before }) => flipped && passes(before)).length,
  };
}

/** An episode, and its other reward; undefined if that could not be given in time. */
interface Given {
  readonly trajectory: Trajectory;
  readonly after: number | undefined;
}

async function byRewards(
  folder: string,
  rewards: NonNullable<UserConfig["rewards"]>,
  recorded: RecordedGroups,
  { timeoutMs = 120_000, onWarning: warn = () => {}, signal, environment }: RescoreOptions,
): Promise<Given[]> {
  const code = rewardsFromCode({ rewards });
  const { rewards: configs = [], limits } = resolveConfig({ rewards });
  const parts = createRewards(configs, { code, limits, timeoutMs, folder: join(folder, "rescored"), env: process.env });
  const { groups } = recorded;
  const tasks = await recordedTasks(folder, recorded, { timeoutMs, signal, environment });
  const given = await applyRewards(parts, groups.map(environmentsOwn), tasks, { signal, warn, onScored: () => {} });
  const scored = new Set(given.scored.map(({ id }) => id));
  const after = given.groups.flatMap(({ trajectories }) => trajectories.map(({ reward }) => reward));
  return groups
    .flatMap(({ trajectories }) => trajectories)
    .map((trajectory, i) => ({ trajectory, after: scored.has(trajectory.group) ? after[i] : undefined }));
}

function byMarks(folder: string, { groups }: RecordedGroups): Given[] {
  const marks = marksOf(readRemarks(folder));
  const marked = groups.flatMap(({ trajectories }) => trajectories).filter(({ id }) => marks.has(id));
  return marked.map((trajectory) => ({ trajectory, after: marks.get(trajectory.id) }));
}

type Both = { readonly trajectory: Trajectory; readonly before: number; readonly after: number };

/** Episodes of one task, or scenario, resemble each other: it is the unit. */
function unitsOf(episodes: readonly Both[]): Both[][] {
  return [...groupBy(episodes, ({ trajectory: { scenario, task } }) => scenario ?? task).values()];
}

function changeOf(units: readonly (readonly Both[])[]): NonNullable<Rescored["change"]> {
  const [first, second] = [units.map((own) => mean(own.map((e) => e.before))), units.map((own) => mean(own.map((e) => e.after)))];
  return { ...comparePaired(first, second, { seed: 0 }), before: mean(first), after: mean(second) };
}

/** How far two verdicts on the same episodes agree. */
export interface Agreement extends Estimate {
  /** Cohen's κ (1960): the agreement beyond what the two shares of passes give by chance; undefined where chance gives all of it. */
  readonly kappa?: number;
}

/**
 *   p_o = share of equal verdicts,   p_e = p·q + (1 − p)(1 − q),   κ = (p_o − p_e) / (1 − p_e)         p, q: the shares that pass
 *
 * @param units the pairs of verdicts of each task, or scenario: the interval of p_o is over these
 */
export function agreementOf(units: readonly (readonly (readonly [boolean, boolean])[])[], seed: number): Agreement {
  const pairs = units.flat();
  const [p, q] = [mean(pairs.map(([first]) => Number(first))), mean(pairs.map(([, second]) => Number(second)))];
  const chance = p * q + (1 - p) * (1 - q);
  const equal = (of: readonly (readonly [boolean, boolean])[]) => mean(of.map(([first, second]) => Number(first === second)));
  const interval = meanInterval(units.map(equal), { seed, range: [0, 1] });
  return { ...interval, ...(chance < 1 && { kappa: (equal(pairs) - chance) / (1 - chance) }) };
}
