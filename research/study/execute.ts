import { existsSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { DivergenceError } from "../../src/core/errors.ts";
import { layout, runsFolder } from "../../src/runs/layout.ts";
import { packageVersion, requireSameRun } from "../../src/runs/write.ts";
import { planRun, runPlan, type TrainOptions } from "../../src/sdk/train.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import type { OnEvent } from "../../src/training/record/events.ts";
import { configOf, isTuning, type RunKey, type Study, settingsOf } from "./definition.ts";
import { curveOf, outcomeOf, type RunOutcome } from "./outcome.ts";
import { runId } from "./plan.ts";
import { planHash, writeOutcome } from "./store.ts";
import { fell } from "./tuning.ts";

/** Where the runs of a study train: outside of its results, since their trajectories are large. */
export function trainingFolder(study: Study, key: RunKey): string {
  return join(runsFolder, `study-${study.name}`, runId(key));
}

/**
 * Trains one run of a study, or continues it where it was interrupted, and keeps its outcome. The run's folder is removed then.
 * @param folder of the study's results
 * @param keep leaves the run's folder, with its trajectories and its model
 * A tuning run ends where it falls: its rate cannot be chosen.
 * @throws RunError when interrupted. A DivergenceError is an outcome: the run collapsed. Any other error leaves none, and the run is made again.
 */
export async function executeRun(
  study: Study,
  key: RunKey,
  folder: string,
  { keep = false, ...options }: TrainOptions & { readonly keep?: boolean } = {},
): Promise<RunOutcome> {
  const [out, results] = [resolve(trainingFolder(study, key)), resolve(folder)]; // a tool may change the current folder
  const resume = existsSync(layout.run(out));
  const [below, above] = settingsOf(study, key);
  if (resume) requireSameRun(out, resolveConfig(below, { ...above, out }));
  const plan = await planRun(resume ? { out } : below, resume ? { resume } : { flags: { ...above, out } });
  const started = process.cpuUsage();
  const fall = new AbortController();
  const onEvent: OnEvent = (event) => {
    options.onEvent?.(event);
    if (event.type === "evaluated" && isTuning(study, key) && fell({ curve: curveOf(out) })) fall.abort();
  };
  const signal = AbortSignal.any([fall.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  let collapsed: string | undefined;
  let ended: true | undefined;
  try {
    await runPlan(plan, { onEvent, signal });
  } catch (error) {
    if (fall.signal.aborted) ended = true;
    else if (error instanceof DivergenceError) collapsed = error.message;
    else throw error;
  }
  const { user, system } = process.cpuUsage(started);
  const outcome = outcomeOf(out, {
    ...{ key, plan: planHash(study, key), version: packageVersion(), steps: configOf(study, key).steps },
    cpuSeconds: (user + system) / 1e6,
    ...{ collapsed, ended },
  });
  writeOutcome(results, outcome);
  if (!keep) rmSync(out, { recursive: true, force: true });
  return outcome;
}
