import { mean } from "../../src/core/mean.ts";
import { armsOf, partOf, ratesOf, type Study } from "./definition.ts";
import type { RunOutcome } from "./outcome.ts";
import { type Part, plannedRuns, remaining } from "./plan.ts";

/** Processor seconds of a run: as measured in the runs that are there, else as the study says. */
export function secondsPerRun(study: Study, world: string, outcomes: readonly RunOutcome[]): number {
  const measured = outcomes.filter((run) => run.world === world).map(({ cpuSeconds }) => cpuSeconds);
  return measured.length > 0 ? mean(measured) : partOf(study, "worlds", world).secondsPerRun;
}

/** Returns the seconds that the part still needs, with `jobs` idle cores. */
export function estimate(study: Study, outcomes: readonly RunOutcome[], part: Part, jobs: number): number {
  const seconds = remaining(study, outcomes, part).map(({ world, runs }) => runs * secondsPerRun(study, world, outcomes));
  return seconds.reduce((sum, value) => sum + value, 0) / jobs;
}

/** Arms, runs and hours of a study, before anything is started. */
export function estimateLines(study: Study, outcomes: readonly RunOutcome[], part: Part, jobs: number): string[] {
  const left = new Map(remaining(study, outcomes, part).map(({ world, runs }) => [world, runs]));
  const hours = (seconds: number) => `${(seconds / 3600).toFixed(1)} h`;
  const worlds = Object.entries(study.worlds).flatMap(([world, { title, pending }]) => {
    const { tuning, reported } = plannedRuns(study, world);
    const arms = armsOf(study, world);
    const done = outcomes.filter((run) => run.world === world).length;
    const seconds = secondsPerRun(study, world, outcomes);
    return [
      `${world}  ${title}`,
      `  ${arms.length} arms: ${tuning} runs that choose among rates (${ratesOf(study, world).join(", ")}) + ${reported} reported = ` +
        `${tuning + reported} runs; ${done} done; ${hours((tuning + reported) * seconds)} of one core in all, ` +
        `${seconds.toFixed(0)} s a run`,
      pending === undefined ? `  ${left.get(world) ?? 0} runs left of what is asked for` : `  cannot start: ${pending}`,
    ];
  });
  return [
    study.title,
    "",
    "ARMS",
    ...Object.entries(study.arms).map(
      ([arm, { title, config }]) => `  ${arm.padEnd(24)} ${title.padEnd(36)} ${JSON.stringify(config)}`,
    ),
    "",
    `SEEDS  tuning ${study.tuningSeeds.join(", ")} on validation; reported ${study.seeds.join(", ")} on test`,
    "",
    "WORLDS",
    ...worlds.map((line) => `  ${line}`),
    "",
    `Left of what is asked for: ${hours(estimate(study, outcomes, part, jobs))} with ${jobs} ${jobs === 1 ? "process" : "processes"} on idle cores.`,
    "Nothing was started.",
  ];
}
