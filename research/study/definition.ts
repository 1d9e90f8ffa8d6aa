import { ConfigError } from "../../src/core/errors.ts";
import { isRecord } from "../../src/core/record.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";

/** The plan of a study, fixed before its first run: arms in worlds, at learning rates that its questions name. */
export interface Study {
  readonly name: string;
  readonly title: string;
  readonly worlds: Readonly<Record<string, World>>;
  readonly arms: Readonly<Record<string, Arm>>;
  readonly questions: Readonly<Record<string, Question>>;
}

interface World {
  readonly title: string;
  readonly config: UserConfig;
  /** Seconds that one run takes on one idle core, as measured. */
  readonly secondsPerRun: number;
}

interface Arm {
  readonly title: string;
  /** Settings above those of the world. */
  readonly config: UserConfig;
}

/** Runs of an arm in a world at a learning rate. */
export type Cell = readonly [world: string, arm: string, rate: number];

/** Two cells whose runs are paired by seed and task. */
export interface Contrast {
  readonly title: string;
  /** The outcome that is compared: success of sampled or of greedy attempts at the end, or the share of runs that fell. */
  readonly outcome: "sampled" | "greedy" | "fell";
  readonly more: Cell;
  readonly less: Cell;
}

export interface Question {
  readonly title: string;
  /** The seeds of each of its cells. */
  readonly seeds: readonly number[];
  /** The first two, greedy and sampled, are the primaries: both are tested, each at half of the level. The others describe. */
  readonly contrasts: readonly Contrast[];
}

/** The properties that distinguish the runs of a study. */
export interface RunKey {
  readonly world: string;
  readonly arm: string;
  readonly rate: number;
  readonly seed: number;
}

/** The part of a plan that is asked for. */
export interface Part {
  readonly question?: string;
  readonly arms?: readonly string[];
  /** The first seeds of each question. */
  readonly seeds?: number;
}

/** A run's name, of which its folder is named too: "office.grpo.0.0003.11". */
export function runId({ world, arm, rate, seed }: RunKey): string {
  return `${world}.${arm}.${rate}.${seed}`;
}

/**
 * Returns the runs of a part, once each: those of a question's primaries first, and all cells with one seed before the next seed, so that an
 * interrupted study is balanced.
 * @throws ConfigError where a part names what the study does not have
 */
export function runsOf(study: Study, { question, arms = [], seeds: first }: Part = {}): RunKey[] {
  requireKnown("--question", question === undefined ? [] : [question], study.questions);
  requireKnown("--arms", arms, study.arms);
  const asked = Object.entries(study.questions).filter(([name]) => question === undefined || name === question);
  const keys = asked.flatMap(([, { contrasts, seeds }]) =>
    [contrasts.slice(0, 2), contrasts.slice(2)].flatMap((part) =>
      seeds
        .slice(0, first)
        .flatMap((seed) =>
          part.flatMap(({ more, less }) => [more, less].map(([world, arm, rate]) => ({ world, arm, rate, seed }))),
        ),
    ),
  );
  const wanted = keys.filter(({ arm }) => arms.length === 0 || arms.includes(arm));
  return [...new Map(wanted.map((key) => [runId(key), key])).values()];
}

function requireKnown(flag: string, given: readonly string[], known: object): void {
  for (const value of given)
    if (!Object.hasOwn(known, value)) throw new ConfigError(flag, value, { expected: Object.keys(known) });
}

/** Returns the settings of a run as they were written: the world's, then the arm's with rate, seed and split. */
export function settingsOf({ worlds, arms }: Study, { world, arm, rate, seed }: RunKey): readonly [UserConfig, UserConfig] {
  const evaluation = { split: "test", during: { split: "test" } };
  const own = { seed, optimizer: { learningRate: rate }, evaluation };
  return [worlds[world]?.config ?? {}, merged(arms[arm]?.config, own) as UserConfig];
}

function merged(below: unknown, above: unknown): unknown {
  if (!isRecord(below) || !isRecord(above)) return above ?? below;
  const keys = new Set([...Object.keys(below), ...Object.keys(above)]);
  return Object.fromEntries([...keys].map((key) => [key, merged(below[key], above[key])]));
}
