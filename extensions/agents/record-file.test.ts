import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { attemptId, attemptsFile, measuredSchema, openAttempts, openRecord, type RecordHead } from "./record-file.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-attempts-"));
afterAll(() => rmSync(folder, { recursive: true }));
const scored = (id: string) => ({ id, outcome: { kind: "score", reward: 1, success: true } as const, episode: "e" });
const failed = (id: string) => ({ id, outcome: { kind: "error", error: "503" } as const, episode: "e" });
const head: RecordHead = { model: "m", scoredBy: "r" };
const open = (file: string, of = head) => openAttempts(file, of, measuredSchema);

test("attempts are there with the first of them, and those without a score are played again", () => {
  const file = join(folder, "a.jsonl");
  const first = open(file);
  expect([first.made, existsSync(file)]).toEqual([[], false]);
  first.add(failed("0"));
  first.add(scored("1"));
  expect(() => open(file)).toThrow(/written by process \d+"?; expected one process at a time/);
  first.close();
  const again = open(file);
  expect([[...again.known.keys()], again.made.map(({ id }) => id)]).toEqual([["1"], ["0", "1"]]);
  again.add(scored("2"));
  again.close();
  expect(
    readFileSync(file, "utf8")
      .split("\n")
      .map((line) => JSON.parse(line || "null")),
  ).toEqual([...[head, failed("0"), scored("1"), scored("2"), null]]);
});

test("half a line that a kill left is dropped; another origin is refused by its subject, and gives the lock back", () => {
  const file = join(folder, "b.jsonl");
  writeFileSync(file, `${JSON.stringify(head)}\n${JSON.stringify(scored("1"))}\n{"id":"2","out`);
  for (const [other, subject] of [
    [{ ...head, model: "n" }, 'the model is "n"; expected m, as in'],
    [{ ...head, scoredBy: "s" }, 'the SHA-256 of the reward is "s"; expected r'],
    [{ ...head, tasks: "t" }, 'the SHA-256 of the tasks is "t"; expected undefined'],
  ] as const)
    expect(() => open(file, other)).toThrow(subject);
  const again = open(file);
  expect([...again.known.keys()]).toEqual(["1"]);
  again.close();
  expect(readFileSync(file, "utf8").endsWith("}\n")).toBe(true);
});

test("where every attempt failed another origin begins again under its own head", () => {
  const file = join(folder, "c.jsonl");
  writeFileSync(file, [head, failed("1")].map((line) => `${JSON.stringify(line)}\n`).join(""));
  const repaired = open(file, { ...head, scoredBy: "s" });
  expect([repaired.known.size, repaired.made.length]).toEqual([0, 1]);
  repaired.close();
  expect(JSON.parse(readFileSync(file, "utf8").split("\n")[0] ?? "")).toEqual({ ...head, scoredBy: "s" });
});

test("a line of another form is named by its number", () => {
  const file = join(folder, "d.jsonl");
  writeFileSync(file, `${JSON.stringify(head)}\n${JSON.stringify({ ...scored("1"), more: 1 })}\n`);
  expect(() => open(file)).toThrow("d.jsonl:2 is ");
  writeFileSync(file, `{"editor":"x"}\n`);
  expect(() => open(file)).toThrow("d.jsonl:1 is ");
});

test("demonstrations that no recording wrote are not overwritten", () => {
  const out = join(folder, "demos.jsonl");
  expect(attemptsFile(out)).toBe(join(folder, "demos.attempts.jsonl"));
  expect(attemptsFile("demos")).toBe("demos.attempts.jsonl");
  writeFileSync(out, "mine\n");
  expect(() => openRecord(out, head)).toThrow("it would be overwritten");
});

test("an attempt's id is of its task's content", () => {
  const [a, b] = [attemptId({ prompt: "a" }, 0), attemptId({ prompt: "b" }, 0)];
  expect(a).toMatch(/^[0-9a-f]{16}\/0$/);
  expect(attemptId({ prompt: "a" }, 1)).toBe(a.replace("/0", "/1"));
  expect(b).not.toBe(a);
});
