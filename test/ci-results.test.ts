import { expect, test } from "vitest";
import { readResults } from "../.ci/results.ts";

test("what was skipped is named with its reason, and files that cannot be loaded count as failures", () => {
  const named = (status: string, ...names: readonly string[]) => names.map((fullName) => ({ fullName, status }));
  const file = (name: string, assertionResults: readonly object[], status = "passed", message = "") => ({
    ...{ name: `/here/${name}`, status, message, assertionResults },
  });
  const reports = [
    file("a.test.ts", [...named("passed", "one"), { fullName: "two", status: "failed", failureMessages: ["no"] }], "failed"),
    file("b.test.ts", named("skipped", "x — skipped: no Python (P)", "y — skipped: no Python (P)", "z (skipped: set A (b))")),
    file("c.test.ts", named("skipped", "only in Chromium")),
    file("d.test.ts", [], "failed", "SyntaxError"),
  ];
  const report = JSON.stringify({ numPassedTests: 1, numFailedTests: 1, testResults: reports });
  expect(readResults(report, "/here")).toEqual({
    ...{ passed: 1, failed: 2, failures: ["a.test.ts: two\nno", "d.test.ts: SyntaxError"] },
    skipped: [
      ...["skipped: b.test.ts: no Python (P) (2 tests)", "skipped: b.test.ts: set A (b)"],
      "skipped: c.test.ts: only in Chromium",
    ],
  });
});
