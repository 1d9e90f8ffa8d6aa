import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseJson } from "../python/json.ts";
import { equal } from "../python/operators.ts";
import type { Dict, Value } from "../python/values.ts";
import { checkTask } from "./checker.ts";
import { readDocuments } from "./documents.ts";
import { checksums, readVerified } from "./files.ts";
import { callText, decodePythonCalls } from "./formats.ts";
import { parseRecord } from "./records.ts";
import { replayRecord } from "./replay.ts";
import { rightCalls } from "./right-calls.ts";
import { type BfclTask, categories, readTasks } from "./tasks.ts";

const python = process.env.RETROGRADE_BFCL_PYTHON ?? "";
const find = "import importlib.util as u; print(u.find_spec('bfcl_eval').submodule_search_locations[0])";
/** The tasks that the package has. */
const data = python === "" ? "" : join(execFileSync(python, ["-c", find], { encoding: "utf8" }).trim(), "data");

/** Sets print in any order, and an object's address differs from process to process. */
function comparable(text: string): string {
  const known = text.replace(/ at 0x[0-9a-f]+/g, "");
  return known.includes("{'") ? [...known].sort().join("") : known;
}

function differences(line: string): string[] {
  const record = parseRecord(line, "fuzz");
  if (record.value.has("decode")) {
    const wanted = record.value.get("calls") as Value;
    const decoded = decodePythonCalls(record.text("decode")) ?? null;
    return equal(decoded, wanted) ? [] : [`${record.text("decode")}\n${String(decoded)}\n${String(wanted)}`];
  }
  if (record.value.has("native")) {
    const text = callText({ name: record.text("native"), arguments: {}, argumentsText: record.text("arguments") });
    return text === record.text("call") ? [] : [`${record.text("arguments")}\n${text}\n${record.text("call")}`];
  }
  const replayed = parseJson(replayRecord(record)) as Dict;
  const [turn] = record.list("turns") as Dict[];
  const calls = turn.get("calls") as string[];
  const ours = (replayed.get("turns") as Dict[])[0].get("results") as string[];
  const wrong = (turn.get("results") as string[]).flatMap((result, i) =>
    comparable(result) === comparable(ours[i]) ? [] : [`${calls[i]}\n${ours[i]}\n${result}`],
  );
  const sameState = equal(replayed.get("final_state") ?? null, record.dict("final_state"));
  return wrong.length > 0 || sameState ? wrong : [`${record.text("id")}: final_state`];
}

describe.skipIf(python === "")("the official Python (skipped without RETROGRADE_BFCL_PYTHON, the Python of .ci/bfcl)", () => {
  test("the package has the files of the pinned revision, and its 800 published answers are valid for themselves", () => {
    for (const name of Object.keys(checksums)) readVerified(data, name);
    const tasks = categories.flatMap((category) => readTasks(data, category));
    const asModel = (answer: readonly (readonly string[])[]) => answer.map((calls) => (calls.length === 0 ? [] : [calls]));
    expect(tasks.filter((task) => !checkTask(task, asModel(task.groundTruth)).valid).map(({ id }) => id)).toEqual([]);
    expect(tasks).toHaveLength(800);
    const documents = readDocuments(data);
    const own = ({ groundTruth, involvedClasses }: BfclTask) =>
      rightCalls(
        groundTruth,
        groundTruth,
        involvedClasses.flatMap((name) => documents.get(name) ?? []),
      );
    expect(tasks.filter((task) => own(task) !== 1).map(({ id }) => id)).toEqual([]);
  });

  test("recipes/bfcl.ts plays the answers of the training split by the names of their arguments, and all 100 pass", () => {
    const folder = mkdtempSync(join(tmpdir(), "bfcl-answers-"));
    try {
      const [root, out] = [join(import.meta.dirname, "../.."), join(folder, "answers.jsonl")];
      execFileSync(join(root, "node_modules/.bin/jiti"), [join(root, "recipes/bfcl.ts"), out, data]);
      const lines = readFileSync(out, "utf8").trim().split("\n");
      expect(lines).toHaveLength(100);
      expect(lines.join()).not.toContain("Error during execution");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  /** The same call passes 200 of 200 in the official Python (docs/environments/bfcl.md). */
  test("a call that would change the official checker passes no task", () => {
    const checker = "__import__('sys').modules['bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker'].__dict__";
    const change = `${checker}.update(state_checker=lambda *a: {'valid': True}, response_checker=lambda *a: {'valid': True})`;
    const passed = readTasks(data, "base").filter(
      (task) =>
        checkTask(
          task,
          task.groundTruth.map((_, turn) => [[turn === 0 ? change : "None"]]),
        ).valid,
    );
    expect(passed).toEqual([]);
  });

  test("random calls, right and malformed, and both action formats give the same texts and states", () => {
    const program = join(import.meta.dirname, "../../bench/peers/bfcl_fuzz.py");
    const run = execFileSync(python, ["-W", "ignore", program, data, "7", "60"], { encoding: "utf8", maxBuffer: 2 ** 28 });
    const lines = run.split("\n").filter((line) => line !== "");
    expect(lines.flatMap(differences)).toEqual([]);
    expect(lines.length).toBeGreaterThan(150);
  }, 120_000);
});
