import { appendFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
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
  const lines = file.lines();
  expect(lines.map(({ step }) => step)).toEqual([1, 2]);
  // Nothing was added: nothing is read.
  expect(file.lines()).toBe(lines);
  expect(lines).toHaveLength(2);
  writeFileSync(path, '{"step":7,"metrics":{}}\n');
  expect(file.lines().map(({ step }) => step)).toEqual([7]);
  appendFileSync(path, "not JSON\n");
  expect(() => file.lines()).toThrow(/metrics\.jsonl/);
});

test("a file that was replaced by a longer one is read from its start, and one that is gone is empty", () => {
  const path = layout.metrics(newRun());
  const file = new GrowingFile(path, stepRecordSchema);
  appendFileSync(path, '{"step":1,"metrics":{}}\n');
  expect(file.lines().map(({ step }) => step)).toEqual([1]);
  writeFileSync(`${path}.new`, '{"step":7,"metrics":{}}\n{"step":8,"metrics":{}}\n');
  renameSync(`${path}.new`, path);
  expect(file.lines().map(({ step }) => step)).toEqual([7, 8]);
  rmSync(path);
  expect(file.lines()).toEqual([]);
  appendFileSync(path, '{"step":3,"metrics":{}}\n');
  expect(file.lines().map(({ step }) => step)).toEqual([3]);
});

test("a line whose checksum is another one is damaged, and so is what is no file", () => {
  const path = layout.metrics(newRun());
  appendFileSync(path, '{"step":1,"metrics":{}}\n{"step":2,"metrics":{}}\n');
  const asked: number[] = [];
  const file = new GrowingFile(path, stepRecordSchema, (line) => {
    asked.push(line);
    return line === 1 ? 5 : undefined;
  });
  expect(() => file.lines()).toThrow(/metrics\.jsonl is "unreadable \(it has another checksum than when it was written\)"/);
  expect(asked).toEqual([0, 1]);
  const folder = new GrowingFile(dirname(path), stepRecordSchema);
  expect(() => folder.lines()).toThrow(/is "unreadable/);
});
