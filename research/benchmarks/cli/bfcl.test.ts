import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createScreen } from "../../../src/terminal/screen.ts";
import type { Evaluator, EvaluatorRequest } from "../../bfcl/evaluator/evaluator.ts";
import { defaultFolder, publicSource } from "../../bfcl/files.ts";
import { harbourTask } from "../../bfcl/fixtures/tasks.fixture.ts";
import { downloadBfcl, replayBfcl, scoreBfcl } from "./bfcl.ts";

function screens() {
  const text = { out: "", notes: "" };
  const screen = (name: keyof typeof text) => createScreen({ write: (part: string) => (text[name] += part) });
  const linesOf = (name: keyof typeof text) => text[name].split("\n").slice(0, -1);
  return { output: screen("out"), notes: screen("notes"), said: () => [linesOf("out"), linesOf("notes")] };
}
const folder = mkdtempSync(join(tmpdir(), "bfcl-cli-"));
const fileOf = (...rows: readonly object[]) => {
  const file = join(folder, `${Math.random()}.jsonl`);
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return file;
};

/** An evaluator that answers by a function, and says when it was closed. */
function evaluator(answer: (request: EvaluatorRequest) => unknown) {
  const closed: string[] = [];
  const ask = async (request: EvaluatorRequest) => answer(request);
  const open = (python: string): Evaluator => ({ execute: ask, judge: ask, close: async () => void closed.push(python) });
  return { open, closed };
}

test("replay prints each call sequence with its results; a file without one is an error", async () => {
  const { open, closed } = evaluator(({ op, record }) => `${op} of ${JSON.parse(String(record)).id}`);
  const { output, notes, said } = screens();
  const row = (id: string) => ({ id, involved_classes: ["MathAPI"], turns: [["add(1, 2)"]] });
  expect(await replayBfcl(fileOf(row("a"), row("b")), {}, output, notes, { open })).toBe(0);
  expect(said()).toEqual([["replay of a", "replay of b"], ["Replayed 2 call sequences."]]);
  expect(closed).toHaveLength(1);
  await expect(replayBfcl(fileOf(), {}, output, notes, { open })).rejects.toThrow(
    /is "a file without a line"; expected at least one JSON object, each on a line of its own/,
  );
  await expect(replayBfcl(fileOf({ id: "a" }), {}, output, notes, { open })).rejects.toThrow("involved_classes");
  expect(closed).toHaveLength(3);
});

test("score prints the verdicts, then each category with and without tasks that cannot be passed", async () => {
  const verdict = (valid: boolean) => ({ valid, error_type: null, error_message: null });
  const { open, closed } = evaluator(({ op, turns, record }) => {
    if (op === "rerun") return (turns as string[][]).map((calls) => ({ results: calls, state: {} }));
    return { verdict: verdict(JSON.parse(String(record)).pass === true), passed: 2 };
  });
  const asked: string[] = [];
  const tasks = (data: string) => (id: string) => {
    asked.push(`${data} ${id}`);
    return { ...harbourTask, id, record: JSON.stringify({ pass: id.endsWith("_1") }) };
  };
  const { output, notes, said } = screens();
  const row = (id: string) => ({ id, model_turns: [[], [["sort()"]], []] });
  const ids = ["multi_turn_base_1", "multi_turn_base_2", "multi_turn_base_4", "multi_turn_miss_func_2"];
  expect(await scoreBfcl(fileOf(...ids.map(row)), { data: "/d" }, output, notes, { open, tasks })).toBe(0);
  expect(asked).toEqual(ids.map((id) => `/d ${id}`));
  const [verdicts = [], page = []] = said();
  expect(verdicts.map((line) => JSON.parse(line))).toEqual(
    ids.map((id) => ({ id, task_id: id, verdict: verdict(id.endsWith("_1")) })),
  );
  expect(page.map((line) => line.split(/ {2,}/))).toEqual([
    ["category", "all predictions", "without unpassable tasks"],
    ["base", "33.3 % (1/3)", "50.0 % (1/2)"],
    ["miss_func", "0.0 % (0/1)", "0.0 % (0/1)"],
    [
      "Scores of BFCL v4's multi-turn categories. They are no BFCL v4 score: that one includes memory, web search and single-turn tasks.",
    ],
  ]);
  expect(closed).toHaveLength(1);
  await expect(scoreBfcl(fileOf(), {}, output, notes, { open, tasks })).rejects.toThrow("a file without a line");
});

test("a category of tasks that cannot be passed has no second score", async () => {
  const { open } = evaluator(({ op }) =>
    op === "rerun" ? [] : { verdict: { valid: false, error_type: null, error_message: null }, passed: 0 },
  );
  const id = "multi_turn_base_4";
  const { output, notes, said } = screens();
  const tasks = () => () => ({ ...harbourTask, id });
  await scoreBfcl(fileOf({ id, model_turns: [] }), {}, output, notes, { open, tasks });
  expect(said()[1]?.[1]?.split(/ {2,}/).slice(1)).toEqual(["0.0 % (0/1)", "–"]);
});

test("data says what became of each file, and where they are", async () => {
  const asked: unknown[] = [];
  const download = async ({
    folder: to,
    source,
    onFile,
  }: {
    folder: string;
    source?: string;
    onFile?: (name: string, outcome: "downloaded" | "was there") => void;
  }) => {
    asked.push([to, source]);
    onFile?.("a.json", "downloaded");
    onFile?.("deep/b.json", "was there");
  };
  const { output, said } = screens();
  expect(await downloadBfcl({ data: "/some where", from: "http://x" }, output, { download })).toBe(0);
  expect(said()[0]).toEqual([
    "downloaded  a.json",
    "there       deep/b.json",
    expect.stringMatching(/^1 file downloaded; all checksums are right: ["']\/some where["']$/),
  ]);
  await downloadBfcl({}, output, { download });
  expect(asked).toEqual([
    ["/some where", "http://x"],
    [defaultFolder(), publicSource],
  ]);
});
