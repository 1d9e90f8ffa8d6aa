import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { parametersOf, readDocuments } from "./documents.ts";
import { openEvaluator } from "./evaluator/evaluator.ts";
import { checksums, readVerified } from "./files.ts";
import { type JsonRecord, parseRecord } from "./records.ts";
import { replayRecord } from "./replay.ts";
import { Scorer } from "./score.ts";
import { type BfclTask, categories, readTasks, taskIndex } from "./tasks.ts";
import { unpassable } from "./unpassable.ts";
import { checkTask, type ModelTurns } from "./verdict.ts";

const python = process.env.RETROGRADE_BFCL_PYTHON ?? "";
const evaluator = openEvaluator(python);
afterAll(() => evaluator.close());

/** The tasks that the package has. */
const find = "import importlib.util as u; print(u.find_spec('bfcl_eval').submodule_search_locations[0])";
const data = python === "" ? "" : join(execFileSync(python, ["-c", find], { encoding: "utf8" }).trim(), "data");

/** Vectors that were recorded with the official Python. They are not part of this repository. */
const shared = join(import.meta.dirname, "../../../shared/bfcl/conformance");
const vectors = existsSync(shared) ? readdirSync(shared).filter((file) => /^(ground|pert|cov)/.test(file)) : [];

function recordsOf(path: string): JsonRecord[] {
  const bytes = readFileSync(path);
  const text = path.endsWith(".gz") ? gunzipSync(bytes).toString("utf8") : bytes.toString("utf8");
  return text.split("\n").flatMap((line, i) => (line === "" ? [] : [parseRecord(line, `${path} line ${i + 1}`)]));
}

interface Turn {
  readonly calls: readonly string[];
  readonly results: readonly string[];
}

/** Forms of expressions that are refused here and evaluated there: the price of a call that reaches nothing. */
const refused = /^Error during execution: .* (is|are) (not allowed in a call|called)$/;

/** What differs from a recorded sequence: results as texts, states by value. Sequences in which a call is refused have another state. */
async function differences(record: JsonRecord): Promise<{ wrong: string[]; refused: number }> {
  const replayed = JSON.parse(await replayRecord(evaluator, record)) as { turns: readonly Turn[]; final_state: unknown };
  const ours = replayed.turns.flatMap(({ results }) => results);
  const turns = record.list("turns") as readonly Turn[];
  const calls = turns.flatMap((turn) => turn.calls);
  const isRefused = ours.map((result) => refused.test(result));
  const wrong = turns
    .flatMap(({ results }) => results)
    .flatMap((result, i) =>
      ours[i] === result || isRefused[i] ? [] : [`${record.text("id")}: ${calls[i]}\n${ours[i]}\n${result}`.slice(0, 1000)],
    );
  const count = isRefused.filter(Boolean).length;
  if (count === 0) expect(replayed.final_state, record.text("id")).toEqual(record.value.final_state);
  return { wrong: count === 0 ? wrong : [], refused: count };
}

async function compared(records: readonly JsonRecord[]): Promise<{ calls: number; refused: number }> {
  let count = 0;
  for (const record of records) {
    const { wrong, refused } = await differences(record);
    expect(wrong).toEqual([]);
    count += refused;
  }
  return {
    calls: records.flatMap((record) => (record.list("turns") as readonly Turn[]).flatMap(({ calls }) => calls)).length,
    refused: count,
  };
}

const asModel = (answer: readonly (readonly string[])[]): ModelTurns =>
  answer.map((calls) => (calls.length === 0 ? [] : [calls]));

describe.skipIf(python === "")("the official evaluator (skipped without RETROGRADE_BFCL_PYTHON, the Python of .ci/bfcl)", () => {
  /** Sequences of our own making, with the results of the official Python (CPython 3.11, bfcl-eval 2026.3.23). */
  test("own sequences over all 128 methods have its results and states", async () => {
    const { calls, refused } = await compared(recordsOf(join(import.meta.dirname, "fixtures/vectors.jsonl")));
    expect(calls).toBeGreaterThan(250);
    expect(refused).toBeLessThan(0.1 * calls);
  });

  /** Odd arguments, wrong types, missing ones, other forms of expressions; recorded in the same way. */
  test("own sequences of odd calls on all eight backends have its results and states", async () => {
    const records = recordsOf(join(import.meta.dirname, "fixtures/odd-vectors.jsonl"));
    const { calls, refused } = await compared(records);
    expect(new Set(records.flatMap((record) => record.texts("involved_classes"))).size).toBe(8);
    expect(refused).toBeLessThan(0.1 * calls);
  });

  test("the package has the files of the pinned revision, and its 800 published answers are valid for themselves", async () => {
    for (const name of Object.keys(checksums)) readVerified(data, name);
    const tasks = categories.flatMap((category) => readTasks(data, category));
    const documents = readDocuments(data);
    const failed: string[] = [];
    const holds = async (task: BfclTask) => {
      const { verdict } = await checkTask(evaluator, task, asModel(task.groundTruth));
      const parameters = parametersOf(task.involvedClasses.flatMap((name) => documents.get(name) ?? []));
      const right = await evaluator.judge({ op: "right", answer: task.groundTruth, turns: task.groundTruth, parameters });
      if (!verdict.valid || right !== 1) failed.push(task.id);
    };
    for (let from = 0; from < tasks.length; from += 4) await Promise.all(tasks.slice(from, from + 4).map(holds));
    expect(failed).toEqual([]);
    expect(tasks).toHaveLength(800);
  });

  /** In the official Python, where model and checker share a process, the same call passes 200 of 200. */
  test("a call that would change the official checker passes no task", async () => {
    const checker = "__import__('sys').modules['bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker'].__dict__";
    const change = `${checker}.update(state_checker=lambda *a: {'valid': True}, response_checker=lambda *a: {'valid': True})`;
    for (const task of readTasks(data, "base").slice(0, 20)) {
      const turns = task.groundTruth.map((_, turn) => [[turn === 0 ? change : "None"]]);
      expect((await checkTask(evaluator, task, turns)).verdict.valid).toBe(false);
    }
  });

  test.each([...unpassable])(
    "%s: the published answer is valid, and what the tools give is not",
    async (id, { wanted, given }) => {
      const task = taskIndex(data)(id);
      const changed = task.groundTruth.map((calls) => calls.map((call) => call.replace(wanted, given)));
      expect((await checkTask(evaluator, task, asModel(task.groundTruth))).verdict.valid).toBe(true);
      expect((await checkTask(evaluator, task, asModel(changed))).verdict).toMatchObject({
        valid: false,
        error_type: "multi_turn:instance_state_mismatch",
        differing_attributes: ["tweets"],
      });
      // The text is in nothing that the model reads: not in the user's messages, and not in any result.
      const calls = task.groundTruth.flat().filter((call) => !call.startsWith("post_tweet("));
      const { turns } = JSON.parse(String(await evaluator.execute({ op: "replay", record: task.record, turns: [calls] })));
      const results: string[] = turns[0].results;
      expect([...task.userTurns, ...results].filter((text) => text?.includes(wanted))).toEqual([]);
      expect(results.some((text) => text.includes(given))).toBe(true);
    },
  );

  describe.skipIf(vectors.length === 0)("recorded vectors (skipped where ../shared/bfcl is not there)", () => {
    test.each(vectors)("%s: equal texts and states", async (file) => {
      const { refused, calls } = await compared(recordsOf(join(shared, file)));
      expect(refused).toBeLessThan(0.01 * calls);
    });

    test("100 of 100 checker verdicts are equal", async () => {
      const scorer = new Scorer(evaluator, taskIndex(data));
      const cases = recordsOf(join(shared, "checker_cases.jsonl"));
      for (const record of cases) expect((await scorer.score(record)).verdict, record.text("id")).toEqual(record.value.verdict);
      expect(cases).toHaveLength(100);
    });
  });
});
