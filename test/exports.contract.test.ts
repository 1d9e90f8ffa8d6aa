import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { exportRun } from "../extensions/inspect/export/export.ts";
import type { EvaluationRecord } from "../src/runs/records.ts";
import { addStep, newRun, trajectoryOf } from "../src/runs/store.fixture.ts";
import { writeEvaluation } from "../src/runs/write.ts";
import { output, withPackage } from "./environment-sdks/packages.ts";

/** A run without an evaluation: no episode of it has a split. */
function run(): string {
  const folder = newRun();
  addStep(folder, 1, [trajectoryOf("step-1/0/0", { task: 'a "task",\nof two lines' })], {
    "score/成功": 1 / 3,
    "score/a|b": 1e-300,
  });
  addStep(folder, 2, [trajectoryOf("step-2/0/0")], { "score/失败": 2 });
  return folder;
}

function evaluatedRun(): string {
  const folder = newRun();
  addStep(folder, 1, [trajectoryOf("step-1/0/0")]);
  const record = { step: 1, when: "after", split: "test", decoding: "greedy" };
  writeEvaluation(folder, record as unknown as EvaluationRecord, [trajectoryOf("after-test-1/0/0")]);
  return folder;
}

withPackage("nemo-gym", "pandas and PyArrow read what is exported, value by value, and two runs as one table", async () => {
  const folder = run();
  const exported = [folder, evaluatedRun()].map((each) => {
    const into = mkdtempSync(join(tmpdir(), "retrograde-exports-"));
    for (const format of ["csv", "parquet"] as const) exportRun(each, format, into);
    return into;
  });
  const { steps, splits, types } = await output("nemo-gym", [
    fileURLToPath(new URL("read_exports.py", import.meta.url)),
    ...exported,
  ]);
  const expected = [
    { step: 1, reward: 0.1, "score/成功": 1 / 3, "score/a|b": 1e-300, "score/失败": null },
    { step: 2, reward: 0.2, "score/成功": null, "score/a|b": null, "score/失败": 2 },
  ];
  expect(steps).toMatchObject({ csv: expected, parquet: expected });
  expect(splits).toEqual([null, null, null, "test"]);
  expect(types).toMatchObject({ split: "string", step: "int32", reward: "double", success: "bool", tokens: "int32" });
});
