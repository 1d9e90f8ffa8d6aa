import { isDeepStrictEqual } from "node:util";
import { ConfigError } from "../../src/core/errors.ts";
import { present } from "../../src/core/present.ts";
import { isRecord } from "../../src/core/record.ts";
import { readEpisodes, readEvaluations, readRun } from "../../src/runs/read.ts";
import type { Decoding, EvaluationRecord } from "../../src/runs/records.ts";
import { type AcrossSeeds, acrossSeeds, differenceAcrossSeeds, outcomesOf } from "../../src/training/evaluation/compare.ts";

/**
 * The change that training made in one split and decoding, over the seeds of one configuration. Shares of success, with 95 %
 * intervals over seeds and tasks.
 */
export interface SeedsChange {
  readonly split: string;
  readonly decoding: Decoding;
  readonly before: AcrossSeeds;
  readonly after: AcrossSeeds;
  /** After minus before, paired by seed and task. */
  readonly change: AcrossSeeds;
  /** Over the episodes of all seeds. */
  readonly behaviours: readonly { readonly name: string; readonly before: number; readonly after: number }[];
}

export interface SeedsReport {
  readonly seeds: readonly number[];
  readonly changes: readonly SeedsChange[];
}

/**
 * Reads runs that differ in nothing but their seeds.
 * @throws ConfigError where two have one seed or differ in another setting, or one has no evaluation at the end
 */
export function seedsReport(folders: readonly string[]): SeedsReport {
  const seeds = requireSeedsOnly(folders);
  const changes = endsOf(folders).map(({ split, decoding }) => {
    const start = measuredIn(folders, "before", split, decoding);
    const end = measuredIn(folders, "after", split, decoding);
    const [before, after] = [start.outcomes, end.outcomes];
    return {
      ...{ split, decoding, before: acrossSeeds(before, 0), after: acrossSeeds(after, 0) },
      change: differenceAcrossSeeds(before, after, 0),
      behaviours: behaviourChanges(start.records, end.records),
    };
  });
  return { seeds, changes };
}

/** The end of one configuration beside that of another, paired by seed and task. */
export interface AgainstReport {
  readonly split: string;
  readonly decoding: Decoding;
  readonly first: AcrossSeeds;
  readonly second: AcrossSeeds;
  /** Second minus first. */
  readonly difference: AcrossSeeds;
}

/**
 * Compares what two configurations reach, each with the same seeds.
 * @throws ConfigError as `seedsReport`, and where their seeds differ
 */
export function seedsAgainst(first: readonly string[], second: readonly string[]): AgainstReport[] {
  const [seeds, others] = [requireSeedsOnly(first), requireSeedsOnly(second)];
  if (JSON.stringify(seeds) !== JSON.stringify(others))
    throw new ConfigError("seeds of --against", others, {
      expected: `${JSON.stringify(seeds)}, those of the first runs, in their order`,
      hint: "The difference is paired by seed.",
    });
  return endsOf(first).map(({ split, decoding }) => {
    const a = measuredIn(first, "after", split, decoding).outcomes;
    const b = measuredIn(second, "after", split, decoding).outcomes;
    return {
      ...{ split, decoding, first: acrossSeeds(a, 0), second: acrossSeeds(b, 0) },
      difference: differenceAcrossSeeds(a, b, 0),
    };
  });
}

/** @returns their seeds */
function requireSeedsOnly(folders: readonly string[]): number[] {
  const configs = folders.map((folder) => readRun(folder).config);
  const seeds = folders.map((folder) => readRun(folder).seed);
  for (const [i, config] of configs.entries()) {
    const other = differingSettings(configs[0], config).find(({ path }) => path !== "seed" && path !== "out");
    if (other !== undefined)
      throw new ConfigError(`${other.path} of ${folders[i]}`, other.b === "–" ? undefined : JSON.parse(other.b), {
        expected: `${other.a}, that of ${folders[0]}`,
        hint: "Runs of several seeds differ in nothing else. Compare two configurations with --against.",
      });
  }
  for (const [i, seed] of seeds.entries())
    if (seeds.indexOf(seed) !== i)
      throw new ConfigError(`seed of ${folders[i]}`, seed, { expected: "a seed that no other run has" });
  return seeds;
}

/** The evaluations at the end of a run, as the last screen has them: challenge last, greedy before sampled. */
function endsOf(folders: readonly string[]): EvaluationRecord[] {
  const folder = present(folders[0], "a run");
  const rank = ({ split, decoding }: EvaluationRecord) => Number(split === "challenge") * 2 + Number(decoding === "sampled");
  const ends = readEvaluations(folder).filter(({ when }) => when === "after");
  if (ends.length > 0) return ends.toSorted((a, b) => rank(a) - rank(b));
  throw new ConfigError("the evaluation after training", undefined, {
    expected: `one in ${folder}`,
    hint: "The run is unfinished, or had evaluation.tasks=0.",
  });
}

/** The evaluation of each run at one moment, and what its episodes came to. */
function measuredIn(folders: readonly string[], when: "before" | "after", split: string, decoding: Decoding) {
  const measured = folders.map((folder) => {
    const record = evaluation(folder, when, split, decoding);
    return { record, outcomes: outcomesOf(readEpisodes(folder, record)) };
  });
  return { records: measured.map(({ record }) => record), outcomes: measured.map(({ outcomes }) => outcomes) };
}

function evaluation(folder: string, when: "before" | "after", split: string, decoding: Decoding): EvaluationRecord {
  const found = readEvaluations(folder).find(
    (record) => record.when === when && record.split === split && record.decoding === decoding,
  );
  if (found !== undefined) return found;
  throw new ConfigError(`the evaluation ${when} training`, undefined, {
    expected: `one on ${split}, ${decoding}, in ${folder}`,
    hint: "The run is unfinished, or was evaluated differently.",
  });
}

function behaviourChanges(before: readonly EvaluationRecord[], after: readonly EvaluationRecord[]): SeedsChange["behaviours"] {
  const share = (records: readonly EvaluationRecord[], name: string) => {
    const own = records.flatMap(({ behaviours }) => behaviours.filter((behaviour) => behaviour.name === name));
    const called = own.reduce((sum, behaviour) => sum + behaviour.called, 0);
    return own.reduce((sum, behaviour) => sum + behaviour.done, 0) / called;
  };
  const names = [...new Set([...before, ...after].flatMap(({ behaviours }) => behaviours.map(({ name }) => name)))];
  return names.map((name) => ({ name, before: share(before, name), after: share(after, name) }));
}

/** Lists the settings in which two configurations differ, by their paths. */
function differingSettings(a: unknown, b: unknown, path = ""): { path: string; a: string; b: string }[] {
  if (isRecord(a) && isRecord(b)) {
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
    return keys.flatMap((key) => differingSettings(a[key], b[key], path === "" ? key : `${path}.${key}`));
  }
  if (isDeepStrictEqual(a, b)) return [];
  const shown = (value: unknown) => (value === undefined ? "–" : JSON.stringify(value));
  return [{ path, a: shown(a), b: shown(b) }];
}
