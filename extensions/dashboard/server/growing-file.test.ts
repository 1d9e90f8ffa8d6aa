import { appendFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { layout } from "../../../src/runs/layout.ts";
import { stepRecordSchema } from "../../../src/runs/records.ts";
import { newRun } from "../../../src/runs/store.fixture.ts";
import { GrowingFile } from "./growing-file.ts";

test("a growing file is read from where the last look ended, without its half line, and again once it was cut", () => {
  const folder = newRun();
  const path = layout.metrics(folder);
  const file = new GrowingFile(path, stepRecordSchema);
  expect(file.lines()).toEqual([]);
  appendFileSync(path, '{"step":1,"metrics":{}}\n{"step":2,"met');
  expect(file.lines().map(({ step }) => step)).toEqual([1]);
  appendFileSync(path, 'rics":{}}\n');
  expect(file.lines().map(({ step }) => step)).toEqual([1, 2]);
  writeFileSync(path, '{"step":7,"metrics":{}}\n');
  expect(file.lines().map(({ step }) => step)).toEqual([7]);
  appendFileSync(path, "not JSON\n");
  expect(() => file.lines()).toThrow(/metrics\.jsonl/);
});
