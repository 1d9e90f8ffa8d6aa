import { RunError } from "../../core/errors.ts";
import { causeOf } from "../../findings/cause.ts";
import type { EvaluationRecord, StepRecord, Warning } from "../../runs/records.ts";
import type { OnEvent } from "./events.ts";

/** Announces the warnings whose cause the record before did not have. */
export function announceWarnings(
  warnings: readonly Warning[] = [],
  before: readonly Warning[] = [],
  where: string,
  onEvent: OnEvent,
): void {
  for (const warning of warnings)
    if (!before.some(({ rule }) => causeOf(rule) === causeOf(warning.rule)))
      onEvent({ type: "warning", message: warningText(warning, where), warning });
}

/** A warning in one paragraph. @param where such as "step 3" */
function warningText({ rule, cause, example, next }: Warning, where: string): string {
  return `${rule} (${where}): ${cause} ${next}${example === undefined ? "" : ` Example: ${example}`}`;
}

/** @throws RunError with the first warning, under `limits.strict` */
export function requireNoWarnings(folder: string, warnings: readonly Warning[] = [], where: string, strict: boolean): void {
  const [warning] = warnings;
  if (!strict || warning === undefined) return;
  const { rule, cause, next, example } = warning;
  throw new RunError(folder, `stopped by the warning ${rule} in ${where}`, {
    expected: "no warning (--strict)",
    hint: `${cause} ${next}${example === undefined ? "" : ` Example: ${example}.`}`,
  });
}

/** The number of records with each warning; undefined if there are none. */
export function countWarnings(records: readonly (StepRecord | EvaluationRecord)[]): Record<string, number> | undefined {
  const counts: Record<string, number> = {};
  for (const { warnings = [] } of records) for (const { rule } of warnings) counts[rule] = (counts[rule] ?? 0) + 1;
  return Object.keys(counts).length === 0 ? undefined : counts;
}
