import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { AgentRecord } from "../record-agent.ts";
import { keptLines, teacherOf } from "./record.ts";

test("a teacher is a model at an address, or a module that exists", () => {
  const env = { OPENAI_API_KEY: "sk-1" };
  const openai = { name: "gpt-5-mini", baseUrl: "https://api.openai.com/v1", apiKey: "sk-1" };
  expect(teacherOf("gpt-5-mini@https://api.openai.com/v1", env)).toEqual(openai);
  expect(teacherOf("m@http://localhost:1/v1", {})).toEqual({ name: "m", baseUrl: "http://localhost:1/v1", apiKey: "none" });
  expect(() => teacherOf("gpt-5-mini@https://api.openai.com/v1", {})).toThrow("OPENAI_API_KEY");
  const folder = mkdtempSync(join(tmpdir(), "retrograde-teacher-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "expert.mts");
  expect(() => teacherOf(file, env)).toThrow(/expert\.mts"; expected a module that exists/);
  writeFileSync(file, "");
  expect(teacherOf(file, env)).toBe(file);
  for (const text of ["", "gpt-5-mini", "@http://localhost:1/v1"])
    expect(() => teacherOf(text, env)).toThrow(/--teacher is .*expected NAME@ADDRESS/);
});

const record = {
  ...{ attempts: 5, errors: 1, kept: 2, rows: 3, unreadable: { "no answer": 1 }, errorCounts: { "503": 1 } },
  usage: { requests: 12, promptTokens: 1100, completionTokens: 110, unreported: 0 },
} as unknown as AgentRecord<object>;

test("a recording says what was kept, left out and spent", () => {
  expect(keptLines(record, "reward >= 1", "demos.jsonl")).toEqual([
    "kept 2 of 4 attempts (50.0 %), by reward >= 1: 3 conversations in demos.jsonl",
    "left out, 1×: no answer",
    "error, 1×: 503",
    "12 requests, 1,100 prompt and 110 completion tokens, as the server counted them",
  ]);
  const priced = { ...record, cost: { total: 0.0022, currency: "USD" }, usage: { ...record.usage, unreported: 2 } };
  expect(keptLines(priced, "reward >= 1", "demos.jsonl").at(-1)).toBe(
    "12 requests, 1,100 prompt and 110 completion tokens, as the server counted them, without 2 answers whose tokens it did not report: 0.0022 USD",
  );
  const scripted = { ...record, rows: 0, usage: { requests: 3, promptTokens: 0, completionTokens: 0, unreported: 0 } };
  const [kept = "", , , spent] = keptLines(scripted, "reward > 0", "demos.jsonl");
  expect([kept.endsWith("by reward > 0: 0 conversations"), spent]).toEqual([true, "3 requests, no tokens: it is a script"]);
});
