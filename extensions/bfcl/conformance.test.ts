import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { parseJson } from "../python/json.ts";
import { equal } from "../python/operators.ts";
import type { Dict, Value } from "../python/values.ts";
import { checkTask, type ModelTurns } from "./checker.ts";
import { type JsonRecord, parseRecord } from "./records.ts";
import { replayRecord } from "./replay.ts";
import { Scorer } from "./score.ts";
import { Session } from "./session.ts";
import { categories, readTasks, taskIndex } from "./tasks.ts";
import { unpassable } from "./unpassable.ts";

/** Vectors that were recorded with the official Python. They are not part of this repository. */
const shared = join(import.meta.dirname, "../../../shared/bfcl");
const vectors = existsSync(shared)
  ? readdirSync(join(shared, "conformance")).filter((file) => /^(ground|pert|cov)/.test(file))
  : [];

function recordsOf(path: string): JsonRecord[] {
  const bytes = readFileSync(path);
  const text = path.endsWith(".gz") ? gunzipSync(bytes).toString("utf8") : bytes.toString("utf8");
  return text.split("\n").flatMap((line, i) => (line === "" ? [] : [parseRecord(line, `${path} line ${i + 1}`)]));
}

/** What differs from a recorded sequence: results as texts, states by value. */
function differences(record: JsonRecord): string[] {
  const replayed = parseJson(replayRecord(record)) as Dict;
  const ours = (replayed.get("turns") as Dict[]).flatMap((turn) => turn.get("results") as string[]);
  const turns = record.list("turns") as Dict[];
  const calls = turns.flatMap((turn) => turn.get("calls") as string[]);
  const wrong = turns
    .flatMap((turn) => turn.get("results") as string[])
    .flatMap((result, i) =>
      ours[i] === result ? [] : [`${record.text("id")}: ${calls[i]}\n${ours[i]}\n${result}`.slice(0, 1000)],
    );
  for (const state of ["final_state", "private_state"])
    if (record.value.has(state) && !equal(replayed.get(state) ?? null, record.value.get(state) as Value))
      wrong.push(`${record.text("id")}: ${state}`);
  return wrong;
}

/** Sequences of our own making, with the results of the official Python (CPython 3.11, bfcl-eval 2026.3.23). */
test("own sequences over all 128 methods have the results and states of the official Python", () => {
  const records = recordsOf(join(import.meta.dirname, "fixtures/vectors.jsonl"));
  expect(records.flatMap(differences)).toEqual([]);
  const calls = records.flatMap((record) => (record.list("turns") as Dict[]).flatMap((turn) => turn.get("calls") as string[]));
  expect(calls.length).toBeGreaterThan(250);
});

/** Odd arguments, wrong types, missing ones, other forms of expressions; recorded in the same way. */
test("own sequences of odd calls on all eight backends have the results and states of the official Python", () => {
  const records = recordsOf(join(import.meta.dirname, "fixtures/odd-vectors.jsonl"));
  expect(records.flatMap(differences)).toEqual([]);
  expect(new Set(records.flatMap((record) => record.texts("involved_classes"))).size).toBe(8);
});

describe.skipIf(vectors.length === 0)("official vectors (skipped where ../shared/bfcl is not there)", () => {
  test.each(vectors)("%s: equal texts and states", (file) => {
    expect(recordsOf(join(shared, "conformance", file)).flatMap(differences)).toEqual([]);
  });

  test("100 of 100 checker verdicts are equal", () => {
    const scorer = new Scorer(taskIndex(join(shared, "data")));
    const cases = recordsOf(join(shared, "conformance/checker_cases.jsonl"));
    const wrong = cases.filter(
      (record) => !equal(parseJson(JSON.stringify(scorer.score(record).verdict)), record.value.get("verdict") as Value),
    );
    expect(wrong.map((record) => record.text("id"))).toEqual([]);
    expect(cases).toHaveLength(100);
  });

  test("all 800 published answers are valid for themselves", () => {
    const tasks = categories.flatMap((category) => readTasks(join(shared, "data"), category));
    const asModel = (answer: readonly (readonly string[])[]): ModelTurns =>
      answer.map((calls) => (calls.length === 0 ? [] : [calls]));
    expect(tasks.filter((task) => !checkTask(task, asModel(task.groundTruth)).valid).map(({ id }) => id)).toEqual([]);
    expect(tasks).toHaveLength(800);
  });

  test.each([...unpassable])("%s: the published answer is valid, and what the tools give is not", (id, { wanted, given }) => {
    const task = taskIndex(join(shared, "data"))(id);
    const asModel = (replace: (call: string) => string): ModelTurns =>
      task.groundTruth.map((calls) => (calls.length === 0 ? [] : [calls.map(replace)]));
    expect(
      checkTask(
        task,
        asModel((call) => call),
      ),
    ).toMatchObject({ valid: true });
    expect(
      checkTask(
        task,
        asModel((call) => call.replace(wanted, given)),
      ),
    ).toMatchObject({
      valid: false,
      error_type: "multi_turn:instance_state_mismatch",
      differing_attributes: ["tweets"],
    });
    // The text is in nothing that the model reads: not in the user's messages, and not in any result.
    const results = new Session(task).execute(task.groundTruth.flat().filter((call) => !call.startsWith("post_tweet(")));
    expect([...task.userTurns, ...results].filter((text) => text?.includes(wanted))).toEqual([]);
    expect(results.some((text) => text.includes(given))).toBe(true);
  });
});
