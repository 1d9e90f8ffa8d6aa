import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { RunError } from "../../src/core/errors.ts";
import { makeFolder } from "../../src/files/folder.ts";
import { sealed, unsealed } from "../../src/runs/seal.ts";
import { type RunKey, type Study, settingsOf } from "./definition.ts";
import { type RunOutcome, runOutcomeSchema } from "./outcome.ts";

/** Where a study's files lie. */
export const studyLayout = {
  outcomes: (folder: string) => join(folder, "outcomes.jsonl"),
  table: (folder: string) => join(folder, "runs.csv"),
  results: (folder: string) => join(folder, "results.json"),
} as const;

/** SHA-256 of what a run was asked to be, as the study's file says it. Defaults of the package are not in it: the version is beside it. */
export function planHash(study: Study, key: RunKey): string {
  const identity = JSON.stringify([settingsOf(study, key), "success"]);
  return createHash("sha256").update(identity).digest("hex").slice(0, 16);
}

/**
 * Reads the outcomes of a study.
 * @throws RunError where one is damaged, or of other settings than the study has now: a plan is fixed before its first run
 */
export function readOutcomes(study: Study, folder: string): RunOutcome[] {
  const path = studyLayout.outcomes(folder);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.flatMap((line, index) => (line === "" ? [] : [readOutcome(study, line, `${path}, line ${index + 1}`)]));
}

function readOutcome(study: Study, line: string, where: string): RunOutcome {
  let outcome: RunOutcome;
  try {
    outcome = runOutcomeSchema.parse(unsealed(line));
  } catch (cause) {
    throw new RunError(where, "damaged", { expected: "the outcome of a run", hint: "Delete the line to run it again.", cause });
  }
  const known = outcome.world in study.worlds && outcome.arm in study.arms;
  if (known && outcome.plan === planHash(study, outcome)) return outcome;
  throw new RunError(where, "of another plan", {
    expected: `an outcome of ${study.name} as it is defined now`,
    hint: "A plan is fixed before its first run. Restore it, or delete the line to run it again, or give the new plan a folder with --out.",
  });
}

/** Appends the outcome of a run. Processes of one study may append at the same time: a line is one write. */
export function writeOutcome(folder: string, outcome: RunOutcome): void {
  makeFolder(folder);
  appendFileSync(studyLayout.outcomes(folder), `${sealed(JSON.stringify(outcome))}\n`);
}
