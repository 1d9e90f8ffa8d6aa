import { appendFileSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";

/** Vitest's report in JSON, as far as it is read. */
const reportSchema = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().default(""),
      assertionResults: z.array(
        z.object({ fullName: z.string(), status: z.string(), failureMessages: z.array(z.string()).nullish() }),
      ),
    }),
  ),
});

export interface Results {
  readonly passed: number;
  readonly failed: number;
  /** For each failure its file, its name and its message. */
  readonly failures: readonly string[];
  /** For each file and reason a line, with the number of tests; by name where the name says no reason. */
  readonly skipped: readonly string[];
}

/** The reason in the name of a skipped test: `… (skipped: WHY)`, `… (skipped WHY)` or `… skipped: WHY`. */
const reason = /\(skipped:? (?<within>.*)\)$|\bskipped[:,] (?<behind>.*)$/s;

/** Reads what a run of the tests gave. @param report Vitest's, as JSON text @param root the folder that names of files begin in */
export function readResults(report: string, root: string): Results {
  const { numPassedTests, numFailedTests, testResults } = reportSchema.parse(JSON.parse(report));
  // A file that cannot be loaded fails without a failed test.
  const broken = testResults.filter(({ status, assertionResults }) => status === "failed" && assertionResults.length === 0);
  const tests = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map((test) => ({ ...test, file: relative(root, name) })),
  );
  const failed = tests.filter(({ status }) => status === "failed");
  const left = tests.filter(({ status }) => !["failed", "passed"].includes(status));
  const counts = new Map<string, number>();
  for (const { file, fullName } of left) {
    const { within, behind } = reason.exec(fullName)?.groups ?? {};
    const what = `${file}: ${within ?? behind ?? fullName}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return {
    passed: numPassedTests,
    failed: numFailedTests + broken.length,
    failures: [
      ...failed.map(({ file, fullName, failureMessages }) => `${file}: ${fullName}\n${failureMessages?.[0] ?? ""}`),
      ...broken.map(({ name, message }) => `${relative(root, name)}: ${message}`),
    ],
    skipped: [...counts].map(([what, count]) => `skipped: ${what}${count > 1 ? ` (${count} tests)` : ""}`),
  };
}

// Prints how many passed and failed; adds the failures to a file, and what was skipped to another.
if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [report, failures, skipped] = process.argv.slice(2);
  const results = readResults(readFileSync(report, "utf8"), process.cwd());
  appendFileSync(failures, results.failures.map((text) => `FAILED ${text.slice(0, 2000)}\n\n`).join(""));
  appendFileSync(skipped, results.skipped.map((line) => `${line}\n`).join(""));
  console.log(results.passed, results.failed);
}
