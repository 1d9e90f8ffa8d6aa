import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { wholeNumber } from "../../../src/cli/numbers.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { mean } from "../../../src/core/mean.ts";
import { withLock } from "../../../src/files/lock.ts";
import { count, duration, percent } from "../../../src/terminal/format.ts";
import { interruptedExitCode, listenForInterrupt } from "../../../src/terminal/interrupt.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { loadModule } from "../../../src/training/config/config-file.ts";
import { ownProgram } from "../../own-program.ts";
import { parseStudy, type RunKey, type Study } from "../definition.ts";
import { estimate, estimateLines } from "../estimate.ts";
import { executeRun } from "../execute.ts";
import type { RunOutcome } from "../outcome.ts";
import { checkPart, openRuns, type Part, remaining, runId, runOf } from "../plan.ts";
import { readOutcomes } from "../store.ts";
import { writeStudy } from "../write.ts";

export interface StudyFlags {
  readonly dryRun?: boolean;
  readonly report?: boolean;
  readonly keep?: boolean;
  readonly out?: string;
  readonly jobs?: string;
  readonly question?: string;
  readonly worlds?: string;
  readonly arms?: string;
  readonly rates?: string;
  readonly seeds?: string;
  readonly tuningSeeds?: string;
  /** One run, in this process: how a study starts its processes. */
  readonly run?: string;
}

/** Does what is left of a study, or of the part that is asked for, and writes its results. @returns the exit code */
export async function studyCommand(name: string, flags: StudyFlags, screen: Screen): Promise<number> {
  const { file, id } = fileOf(name);
  const study = parseStudy(id, await loadModule(resolve(file)));
  const published = file.replace(/\.[cm]?[jt]s$/, "");
  const folder = flags.out ?? published;
  const part = partOf(flags);
  checkPart(study, part);
  if (flags.run !== undefined) {
    const key = runOf(study, flags.run);
    return oneRun(study, key, { folder, published }, flags, screen);
  }
  const jobs = wholeNumber("--jobs", flags.jobs) ?? 1;
  if (flags.dryRun === true) {
    for (const line of estimateLines(study, readOutcomes(study, folder), part, jobs)) screen.line(line);
    return 0;
  }
  if (flags.report !== true) {
    const lock = join(folder, ".lock");
    const busy = () => screen.line(`Another process works on ${folder}; waiting for it.`);
    const finished = await withLock(lock, busy, () =>
      allRuns(study, { file, folder, part, jobs, keep: flags.keep === true }, screen),
    );
    if (!finished) return interruptedExitCode;
  }
  // A stranger's runs do not replace the published page.
  const reported = flags.out === undefined ? study : { ...study, page: undefined };
  for (const path of writeStudy(reported, folder, `npm run research -- study ${name}`)) screen.line(path);
  return 0;
}

/** A study calls no code but the package's own, so it always ends by itself, once its steps are kept. */
const isSaving = () => true;

/** @param folders of the results, and of those that are published with the study */
async function oneRun(
  study: Study,
  key: RunKey,
  { folder, published }: { readonly folder: string; readonly published: string },
  { keep }: StudyFlags,
  screen: Screen,
): Promise<number> {
  const interrupt = listenForInterrupt(() => {}, { isSaving });
  try {
    const outcome = await executeRun(study, key, folder, { keep, signal: interrupt.signal });
    screen.line(`${runId(key).padEnd(40)} ${outcomeWords(outcome)}`);
    const [own, before] = [folder, published].map((of) => readOutcomes(study, of).find((one) => runId(one) === runId(key)));
    if (resolve(folder) !== resolve(published) && own && before) screen.line(comparedWords(own, before));
    return 0;
  } catch (error) {
    if (interrupt.signal.aborted) return interruptedExitCode;
    throw error;
  } finally {
    interrupt.release();
  }
}

function outcomeWords({ curve, final, cpuSeconds, collapsed, ended }: RunOutcome): string {
  if (collapsed !== undefined) return `collapsed: ${collapsed}`;
  const end = ended ? "fell" : `end ${percent(mean(final.sampled))}`;
  return `${curve.map(({ values }) => percent(mean(values))).join("  ")}   ${end}   ${duration(cpuSeconds)}`;
}

/** Compares all that was measured of a run, but time. */
function comparedWords(outcome: RunOutcome, published: RunOutcome): string {
  const measured = ({ curve, final, optimiserSteps, collapsed, ended }: RunOutcome) =>
    JSON.stringify([curve, final, optimiserSteps, collapsed, ended]);
  if (measured(outcome) === measured(published)) return "  equal to the published run in every task of every evaluation";
  return `  not equal to the published run: ${outcomeWords(published)}`;
}

interface Work {
  readonly file: string;
  readonly folder: string;
  readonly part: Part;
  readonly jobs: number;
  readonly keep: boolean;
}

/** Keeps `work.jobs` processes at work until nothing of the part is left. @returns false if it was interrupted */
async function allRuns(study: Study, work: Work, screen: Screen): Promise<boolean> {
  const stopping = () => screen.line("Stopping: finished steps are kept. The same command continues.");
  const interrupt = listenForInterrupt(stopping, { isSaving });
  const running = new Map<string, Promise<void>>();
  try {
    for (;;) {
      const outcomes = readOutcomes(study, work.folder);
      const left = remaining(study, outcomes, work.part).reduce((sum, { runs }) => sum + runs, 0);
      const next = openRuns(study, outcomes, work.part).find((key) => !running.has(runId(key)));
      if (running.size < work.jobs && next !== undefined && !interrupt.signal.aborted) {
        const id = runId(next);
        screen.line(`${count(left)} runs left, about ${duration(estimate(study, outcomes, work.part, work.jobs))}: ${id}`);
        running.set(
          id,
          start(id, work, interrupt.signal).finally(() => running.delete(id)),
        );
      } else if (running.size > 0) await Promise.race(running.values());
      else return !interrupt.signal.aborted;
    }
  } finally {
    await Promise.allSettled(running.values());
    interrupt.release();
  }
}

/** A process of its own for each run: memory is given back, and runs cannot disturb each other. */
function start(id: string, { file, folder, keep }: Work, signal: AbortSignal): Promise<void> {
  const args = [...ownProgram, "study", file, "--run", id, "--out", folder, ...(keep ? ["--keep"] : [])];
  const child = spawn(process.execPath, [...process.execArgv, ...args], { stdio: "inherit" });
  const stop = () => child.kill("SIGINT");
  signal.addEventListener("abort", stop);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => {
      signal.removeEventListener("abort", stop);
      if (code === 0 || signal.aborted) resolve();
      else reject(new Error(`The run ${id} ended with exit code ${code}. What other runs have finished is kept.`));
    });
  });
}

/** Where a study is found by its name: those beside one's own runs, and those of this repository. */
const places = ["studies", "research/studies"];

/** A study by its name or by its file. */
function fileOf(name: string): { readonly file: string; readonly id: string } {
  const candidates = /\.[cm]?[jt]s$/.test(name)
    ? [name]
    : places.flatMap((place) => ["ts", "mts", "js", "mjs"].map((end) => join(place, `${name}.${end}`)));
  const file = candidates.find((path) => existsSync(path));
  if (file === undefined)
    throw new ConfigError("study", name, {
      expected: `the name of a file in ${resolve("studies")}, or the path of one`,
      hint: "Run it in the folder that has studies/.",
    });
  return { file, id: basename(file).replace(/\.[cm]?[jt]s$/, "") };
}

function partOf({ question, worlds, arms, rates, seeds, tuningSeeds }: StudyFlags): Part {
  return {
    question,
    worlds: worlds?.split(","),
    arms: arms?.split(","),
    rates: rates?.split(",").map(Number),
    seeds: wholeNumber("--seeds", seeds, 0),
    tuningSeeds: wholeNumber("--tuning-seeds", tuningSeeds, 0),
  };
}
