import "../install.ts";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RunError } from "../../src/core/errors.ts";
import { estimateLines } from "./estimate.ts";
import { runId } from "./plan.ts";
import { smallStudy } from "./small-study.fixture.ts";
import { readOutcomes, studyLayout } from "./store.ts";

const before = process.cwd();
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "retrograde-study-"));
  process.chdir(folder);
});

afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true, force: true });
});

test("outcomes of another plan are refused: a plan is fixed before its first run", () => {
  const changed = smallStudy({ measure: "reward" });
  expect(() => readOutcomes(changed, "results")).toThrow("of another plan");
  expect(() => readOutcomes(smallStudy({ rates: [1e-4, 1e-3, 1e-2] }), "results")).not.toThrow();
});

test("a damaged outcome is named", () => {
  const path = studyLayout.outcomes("results");
  const whole = readFileSync(path);
  writeFileSync(path, "{\n");
  expect(() => readOutcomes(smallStudy(), "results")).toThrow(RunError);
  expect(() => readOutcomes(smallStudy(), "results")).toThrow(/outcomes\.jsonl, line 1 .*Delete the line to run it again/s);
  writeFileSync(path, whole);
});

test("--dry-run says arms, runs and hours, from measured seconds once there are some", () => {
  const study = smallStudy();
  const lines = estimateLines(study, [], {}, 2).join("\n");
  expect(lines).toContain(
    "2 arms: 8 runs that choose among rates (0.0001, 0.001) + 6 reported = 14 runs; 0 done; 0.1 h of one core in all, 36 s a run",
  );
  expect(lines).toContain("cannot start: it has no model.");
  expect(lines).toContain("Nothing was started.");
  const [outcome] = readOutcomes(study, "results");
  const measured = estimateLines(study, [{ ...outcome, cpuSeconds: 72 }], {}, 1).join("\n");
  expect(measured).toContain("1 done; 0.3 h of one core in all, 72 s a run");
  expect(runId(outcome)).toBe("near.b.0.001.1");
});
