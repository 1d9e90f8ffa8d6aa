import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { RunError } from "../../src/core/errors.ts";
import { writeFileAtomic } from "../../src/runs/files.ts";
import { sealed, unsealed } from "../../src/runs/seal.ts";
import { type RunKey, type Study, settingsOf } from "./definition.ts";
import { type RunOutcome, runOutcomeSchema } from "./outcome.ts";
import { runId } from "./plan.ts";

/** Where a study's files lie. */
export const studyLayout = {
  outcomes: (folder: string) => join(folder, "outcomes"),
  outcome: (folder: string, key: RunKey) => join(folder, "outcomes", `${runId(key)}.json`),
  table: (folder: string) => join(folder, "runs.csv"),
  results: (folder: string) => join(folder, "results.json"),
} as const;

/** SHA-256 of what a run was asked to be, as the study's file says it. Defaults of the package are not in it: the version is beside it. */
export function planHash(study: Study, key: RunKey): string {
  const asked = JSON.stringify([settingsOf(study, key), study.measure]);
  return createHash("sha256").update(asked).digest("hex").slice(0, 16);
}

/**
 * Reads the outcomes of a study.
 * @throws RunError where one is damaged, or of other settings than the study has now: a plan is fixed before its first run
 */
export function readOutcomes(study: Study, folder: string): RunOutcome[] {
  const path = studyLayout.outcomes(folder);
  if (!existsSync(path)) return [];
  const names = readdirSync(path).filter((name) => name.endsWith(".json") && !name.startsWith("."));
  return names.sort().map((name) => readOutcome(study, join(path, name)));
}

function readOutcome(study: Study, path: string): RunOutcome {
  let outcome: RunOutcome;
  try {
    outcome = runOutcomeSchema.parse(unsealed(readFileSync(path, "utf8")));
  } catch (cause) {
    throw new RunError(path, "damaged", { expected: "the outcome of a run", hint: "Delete it to run it again.", cause });
  }
  const known = outcome.world in study.worlds && outcome.arm in study.arms;
  if (known && outcome.plan === planHash(study, outcome)) return outcome;
  throw new RunError(path, "of another plan", {
    expected: `an outcome of ${study.name} as it is defined now`,
    hint: "A plan is fixed before its first run. Restore it, or delete this file to run it again, or give the new plan a folder with --out.",
  });
}

export function writeOutcome(folder: string, outcome: RunOutcome): void {
  writeFileAtomic(studyLayout.outcome(folder, outcome), `${sealed(JSON.stringify(outcome))}\n`);
}
