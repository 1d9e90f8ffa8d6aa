import { ConfigError } from "../../src/core/errors.ts";
import { armsOf, isTuning, partOf, type RunKey, ratesOf, type Study } from "./definition.ts";
import type { RunOutcome } from "./outcome.ts";
import { runsOf } from "./questions.ts";
import { chosenRate } from "./tuning.ts";

/** The part of a plan that is asked for. What it leaves out stays planned. */
export interface Part {
  /** The runs that this question needs at rates that it names, and no others. */
  readonly question?: string;
  readonly worlds?: readonly string[];
  readonly arms?: readonly string[];
  readonly rates?: readonly number[];
  /** The first seeds of each kind. */
  readonly tuningSeeds?: number;
  readonly seeds?: number;
}

/** The number of runs that a study has in a world: at every rate with the tuning seeds, then at the chosen one with the reported seeds. */
export function plannedRuns(study: Study, world: string): { readonly tuning: number; readonly reported: number } {
  const arms = armsOf(study, world);
  return {
    tuning: arms.flatMap((arm) => ratesOf(study, world, arm)).length * study.tuningSeeds.length,
    reported: arms.length * study.seeds.length,
  };
}

/** @throws ConfigError where a part names what the study does not have */
export function checkPart(study: Study, { question, worlds = [], arms = [], rates = [] }: Part): void {
  const check = (flag: string, given: readonly (string | number)[], known: readonly (string | number)[]) => {
    for (const value of given) if (!known.includes(value)) throw new ConfigError(flag, value, { expected: known });
  };
  check("--question", question === undefined ? [] : [question], Object.keys(study.questions));
  check("--worlds", worlds, Object.keys(study.worlds));
  check("--arms", arms, Object.keys(study.arms));
  const tried = Object.keys(study.worlds).flatMap((world) => ratesOf(study, world));
  const named = Object.keys(study.questions).flatMap((one) => runsOf(study, one).map(({ rate }) => rate));
  check("--rates", rates, [...new Set([...tried, ...named])]);
}

/**
 * Returns the runs of a part that can start now and have no outcome yet, in the order in which they are done: all arms and rates with one seed
 * before the next seed, so that whatever is there when the time is over is balanced. An arm's reported runs begin once its tuning runs in the part
 * are done. Worlds that are pending have none.
 */
export function openRuns(study: Study, outcomes: readonly RunOutcome[], part: Part = {}): RunKey[] {
  const done = new Set(outcomes.map(runId));
  const isOpen = (key: RunKey) => !done.has(runId(key));
  return worldsOf(study, part).flatMap((world) => {
    if (part.question !== undefined) return questionRuns(study, world, part).filter(isOpen);
    const arms = armsOf(study, world).filter((arm) => part.arms?.includes(arm) ?? true);
    const tuningOf = (arm: string) => tuningRuns(study, world, arm, part);
    const tuning = study.tuningSeeds.flatMap((seed) =>
      arms.flatMap((arm) => tuningOf(arm).filter((key) => key.seed === seed && isOpen(key))),
    );
    const reported = study.seeds.slice(0, part.seeds).flatMap((seed) =>
      arms.flatMap((arm) => {
        if (tuningOf(arm).some(isOpen)) return [];
        const rate = chosenRate(study, world, arm, outcomes);
        return rate === undefined ? [] : [{ world, arm, rate, seed }].filter(isOpen);
      }),
    );
    return [...tuning, ...reported];
  });
}

/** The number of runs of a part that have no outcome yet, those included that wait for a rate. */
export function remaining(study: Study, outcomes: readonly RunOutcome[], part: Part = {}): { world: string; runs: number }[] {
  const done = new Set(outcomes.map(runId));
  return worldsOf(study, part).map((world) => {
    if (part.question !== undefined)
      return { world, runs: questionRuns(study, world, part).filter((key) => !done.has(runId(key))).length };
    const arms = armsOf(study, world).filter((arm) => part.arms?.includes(arm) ?? true);
    const tuning = arms.flatMap((arm) => tuningRuns(study, world, arm, part)).filter((key) => !done.has(runId(key)));
    const seeds = study.seeds.slice(0, part.seeds);
    const reported = arms.flatMap((arm) => {
      const rate = chosenRate(study, world, arm, outcomes);
      return seeds.filter((seed) => rate === undefined || !done.has(runId({ world, arm, rate, seed })));
    });
    return { world, runs: tuning.length + reported.length };
  });
}

/** A run's name, of which its files are named too: "w0.grpo.0.0003.1". */
export function runId({ world, arm, rate, seed }: RunKey): string {
  return `${world}.${arm}.${rate}.${seed}`;
}

/** Reads a run's name. @throws ConfigError where it is of no run of the study */
export function runOf(study: Study, id: string): RunKey {
  const tuned = Object.keys(study.worlds).flatMap((world) =>
    armsOf(study, world).flatMap((arm) =>
      ratesOf(study, world, arm).flatMap((rate) =>
        [...study.tuningSeeds, ...study.seeds].map((seed) => ({ world, arm, rate, seed })),
      ),
    ),
  );
  const requested = Object.keys(study.questions).flatMap((question) => runsOf(study, question, study.seeds.length));
  const key = [...tuned, ...requested].find((one) => runId(one) === id);
  if (key !== undefined) return key;
  throw new ConfigError("--run", id, { expected: "WORLD.ARM.RATE.SEED of the study's plan" });
}

function worldsOf(study: Study, { worlds }: Part): string[] {
  return Object.keys(study.worlds).filter(
    (world) => partOf(study, "worlds", world).pending === undefined && (worlds?.includes(world) ?? true),
  );
}

function questionRuns(study: Study, world: string, { question, arms, rates, seeds }: Part): RunKey[] {
  const requested = question === undefined ? Object.keys(study.questions) : [question];
  const keys = requested
    .flatMap((one) => runsOf(study, one, seeds))
    .filter((key) => key.world === world && (arms?.includes(key.arm) ?? true) && (rates?.includes(key.rate) ?? true));
  return [...new Map(keys.map((key) => [runId(key), key])).values()];
}

function tuningRuns(study: Study, world: string, arm: string, { rates, tuningSeeds }: Part): RunKey[] {
  const seeds = study.tuningSeeds.slice(0, tuningSeeds);
  return ratesOf(study, world, arm)
    .filter((rate) => rates?.includes(rate) ?? true)
    .flatMap((rate) => seeds.map((seed) => ({ world, arm, rate, seed })))
    .filter((key) => isTuning(study, key));
}
