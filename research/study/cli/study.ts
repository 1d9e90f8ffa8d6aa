import { existsSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { wholeNumber } from "../../../src/cli/numbers.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { mean } from "../../../src/core/mean.ts";
import { withLock } from "../../../src/files/lock.ts";
import { layout, runsFolder } from "../../../src/runs/layout.ts";
import { requireSameRun } from "../../../src/runs/write.ts";
import { planRun, runPlan } from "../../../src/sdk/train.ts";
import { count, duration, percent, table } from "../../../src/terminal/format.ts";
import { interruptedExitCode, listenForInterrupt } from "../../../src/terminal/interrupt.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { seeupo } from "../../studies/seeupo.ts";
import { answersTo, type ContrastResult } from "../answers.ts";
import { type Part, type RunKey, runId, runsOf, type Study, settingsOf } from "../definition.ts";
import { outcomeOf, type RunOutcome, readOutcomes, writeOutcome } from "../outcome.ts";

export interface StudyFlags {
  readonly dryRun?: boolean;
  readonly report?: boolean;
  readonly out?: string;
  readonly question?: string;
  readonly arms?: string;
  readonly seeds?: string;
}

/** Does what is left of a study, or of the part that is asked for, and prints its differences. @returns the exit code */
export async function studyCommand(name: string, flags: StudyFlags, screen: Screen): Promise<number> {
  if (name !== seeupo.name) throw new ConfigError("study", name, { expected: [seeupo.name] });
  return doStudy(seeupo, join(import.meta.dirname, "../../studies", name), flags, screen);
}

/**
 * @param published the folder of the results that are published with the study
 * @param execute makes a run
 */
export async function doStudy(
  study: Study,
  published: string,
  flags: StudyFlags,
  screen: Screen,
  execute: typeof executeRun = executeRun,
): Promise<number> {
  const { question, arms, seeds, out: folder = published } = flags;
  const part: Part = { question, arms: arms?.split(","), seeds: wholeNumber("--seeds", seeds) };
  const left = missing(study, folder, part);
  if (flags.dryRun === true) {
    for (const line of planLines(study, left)) screen.line(line);
    return 0;
  }
  if (flags.report !== true) {
    const busy = () => screen.line(`Another process works on ${folder}; waiting for it.`);
    const finished = await withLock(join(folder, ".lock"), busy, () =>
      allRuns(study, { folder, published, part, execute }, screen),
    );
    if (!finished) return interruptedExitCode;
  }
  for (const line of reportLines(study, readOutcomes(study, folder), question)) screen.line(line);
  return 0;
}

function missing(study: Study, folder: string, part: Part): RunKey[] {
  const done = new Set(readOutcomes(study, folder).map(runId));
  return runsOf(study, part).filter((key) => !done.has(runId(key)));
}

function planLines(study: Study, left: readonly RunKey[]): string[] {
  const seconds = left.reduce((sum, { world }) => sum + (study.worlds[world]?.secondsPerRun ?? 0), 0);
  return [
    study.title,
    ...Object.entries(study.arms).map(([arm, { title, config }]) => `  ${arm}: ${title} ${JSON.stringify(config)}`),
    ...left.map((key) => `  ${runId(key)}`),
    `${count(left.length)} runs left, about ${(seconds / 3600).toFixed(1)} h on an idle core. Nothing was started.`,
  ];
}

interface Work {
  readonly folder: string;
  readonly published: string;
  readonly part: Part;
  readonly execute: typeof executeRun;
}

/** Makes the missing runs, one after the other. @returns false if it was interrupted */
async function allRuns(study: Study, { folder, published, part, execute }: Work, screen: Screen): Promise<boolean> {
  const stopping = () => screen.line("Stopping: finished steps are kept. The same command continues.");
  // A study calls no code but the package's own, so it always ends by itself, once its steps are kept.
  const interrupt = listenForInterrupt(stopping, { isSaving: () => true });
  const before = new Map(readOutcomes(study, published).map((outcome) => [runId(outcome), outcome]));
  try {
    for (const key of missing(study, folder, part)) {
      const started = performance.now();
      const outcome = await execute(study, key, folder, interrupt.signal);
      screen.line(`${runId(key)}  ${outcomeWords(outcome)}  ${duration((performance.now() - started) / 1000)}`);
      const same = before.get(runId(key));
      if (resolve(folder) !== resolve(published) && same) screen.line(comparedWords(outcome, same));
    }
    return true;
  } catch (error) {
    if (interrupt.signal.aborted) return false;
    throw error;
  } finally {
    interrupt.release();
  }
}

/**
 * Trains one run, or continues it where it was interrupted, and keeps its outcome. The run's folder, whose trajectories are large, is removed then.
 * @param folder of the study's results
 * @throws RunError when interrupted. An error leaves no outcome, and the run is made again.
 */
export async function executeRun(study: Study, key: RunKey, folder: string, signal?: AbortSignal): Promise<RunOutcome> {
  const out = resolve(runsFolder, `study-${study.name}`, runId(key));
  const [below, above] = settingsOf(study, key);
  const resume = existsSync(layout.run(out));
  if (resume) requireSameRun(out, resolveConfig(below, { ...above, out }));
  const plan = await planRun(resume ? { out } : below, resume ? { resume } : { flags: { ...above, out } });
  await runPlan(plan, { signal });
  const outcome = outcomeOf(study, key, out);
  writeOutcome(folder, outcome);
  rmSync(out, { recursive: true, force: true });
  return outcome;
}

function outcomeWords({ curve, final }: RunOutcome): string {
  return `${curve.map(({ values }) => percent(mean(values))).join("  ")}   end ${percent(mean(final.sampled))}`;
}

/** Compares all that was measured of a run. */
function comparedWords(outcome: RunOutcome, published: RunOutcome): string {
  const measured = ({ curve, final, optimiserSteps }: RunOutcome) => JSON.stringify([curve, final, optimiserSteps]);
  if (measured(outcome) === measured(published)) return "  equal to the published run in every task of every evaluation";
  return `  not equal to the published run: ${outcomeWords(published)}`;
}

const intervals = "First, second and their difference in points, with 95 % intervals over seeds and tasks; * marks primaries.";

function reportLines(study: Study, outcomes: readonly RunOutcome[], question: string | undefined): string[] {
  const asked = Object.entries(study.questions).filter(([name]) => question === undefined || name === question);
  const tables = asked.flatMap(([name, asks]) => {
    const rows = answersTo(asks, outcomes).filter(({ seeds }) => seeds.length > 0);
    return [
      "",
      `${name}: ${asks.title}`,
      ...(rows.length === 0
        ? ["no run is done"]
        : table([["", "seeds", "first", "second", "difference", "p"], ...rows.map(row)])),
    ];
  });
  return [intervals, ...tables];
}

function row({ title, outcome, isPrimary, seeds, values, difference, pValue }: ContrastResult): string[] {
  const [more, less] = values ?? [];
  return [
    `${isPrimary ? "* " : "  "}${title}, ${outcome}`,
    String(seeds.length),
    points(more),
    points(less),
    difference === undefined ? "–" : `${points(difference.mean)} [${points(difference.low)}, ${points(difference.high)}]`,
    pValue === undefined ? "–" : pValue < 0.001 ? "< 0.001" : pValue.toFixed(3),
  ];
}

/** 0.123 as "12.3", with a true minus. */
function points(share: number | undefined): string {
  return share === undefined ? "–" : (share * 100).toFixed(1).replace("-", "−");
}
