import { z } from "zod";
import { RunError } from "../core/errors.ts";

/**
 * The version of a run's files that this program writes. It is in every file but `metrics.jsonl` and `timing.jsonl`, whose lines have the
 * version of `run.json`: they are compared byte for byte between versions. A file without one is of version 1, which retrograde 0.1 wrote.
 */
export const schemaVersion = 2;

/** The version of a file, for schemas. */
export const versionSchema = z.int().min(1).default(1);

/**
 * Refuses what a newer program wrote, before its contents are parsed: half-understood files show wrong numbers.
 * @throws RunError naming both versions
 */
export function requireKnownVersion(path: string, content: unknown): void {
  const version = typeof content === "object" && content !== null && "schema" in content ? content.schema : 1;
  if (typeof version !== "number" || version <= schemaVersion) return;
  throw new RunError(path, `of schema version ${version}`, {
    expected: `a version up to ${schemaVersion}`,
    hint: "A newer retrograde wrote this run. Update retrograde-rl to read it.",
  });
}
