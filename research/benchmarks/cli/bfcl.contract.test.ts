import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { invoke } from "../../command-line.fixture.ts";

const data = join(import.meta.dirname, "../../../../shared/bfcl/data");
/** The tests that execute calls need the official evaluator. */
const absent = process.env.RETROGRADE_BFCL_PYTHON === undefined;
const folder = mkdtempSync(join(tmpdir(), "bfcl-cli-"));

function file(...lines: readonly string[]): string {
  const path = join(folder, `${lines.length}-${Math.random()}.jsonl`);
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}

const sequence = {
  id: "a",
  involved_classes: ["MathAPI"],
  initial_config: {},
  turns: [{ calls: ["add(a=1, b=2.0)", "add(1)"] }],
};

test.skipIf(absent)("replay prints results and states (skipped without RETROGRADE_BFCL_PYTHON)", async () => {
  const { exitCode, out, error } = await invoke("replay", "bfcl", file(JSON.stringify(sequence)));
  expect(JSON.parse(out)).toEqual({
    id: "a",
    involved_classes: ["MathAPI"],
    initial_config: {},
    turns: [
      {
        calls: ["add(a=1, b=2.0)", "add(1)"],
        results: ['{"result": 3.0}', "Error during execution: MathAPI.add() missing 1 required positional argument: 'b'"],
      },
    ],
    final_state: { MathAPI: {} },
  });
  expect([exitCode, error]).toEqual([0, "Replayed 1 call sequence.\n"]);
});

test.each([
  ["no JSON", ["{", "{}"], 'line 1 is "{"; expected one JSON object.'],
  ["no object", ["[1]"], "expected one JSON object"],
  [
    "no class",
    [JSON.stringify({ ...sequence, involved_classes: ["Math"] })],
    'line 1: involved_classes is "Math"; expected names among',
  ],
  [
    "no text",
    ['{"id": "a", "involved_classes": ["MathAPI"], "turns": [{"calls": [5]}]}'],
    'line 1: turns[0].calls[0] is "5"; expected a text',
  ],
  [
    "a state of another type",
    [JSON.stringify({ ...sequence, initial_config: { MathAPI: 7 } })],
    'line 1: initial_config.MathAPI is "7"; expected an object',
  ],
  ["nothing", [""], 'is "a file without a line"; expected at least one JSON object'],
  ["no turns", ["", '{"id": "a", "involved_classes": []}'], "line 2: turns is missing; expected a list"],
])("replay of a file with %s names line, field and what was expected", async (_, lines, message) => {
  const { exitCode, error } = await invoke("replay", "bfcl", file(...lines));
  expect(error).toContain(message);
  expect(exitCode).toBe(1);
});

test.skipIf(absent)(
  "a state that cannot be loaded is named, in Python's own words (skipped without RETROGRADE_BFCL_PYTHON)",
  async () => {
    const involved = { involved_classes: ["GorillaFileSystem"], initial_config: { GorillaFileSystem: { root: 5 } } };
    const { exitCode, error } = await invoke("replay", "bfcl", file(JSON.stringify({ ...sequence, ...involved })));
    expect(error).toContain(
      "expected states that the classes can begin with. Python's own error is: 'int' object has no attribute 'keys'",
    );
    expect(exitCode).toBe(1);
  },
);

test("a Python without the evaluator is refused with what to install", async () => {
  const before = process.env.RETROGRADE_BFCL_PYTHON;
  process.env.RETROGRADE_BFCL_PYTHON = "/no/python";
  try {
    const { exitCode, error } = await invoke("replay", "bfcl", file(JSON.stringify(sequence)));
    expect(error).toContain("pip install --no-deps bfcl-eval==2026.3.23");
    expect(exitCode).toBe(2);
  } finally {
    if (before === undefined) delete process.env.RETROGRADE_BFCL_PYTHON;
    else process.env.RETROGRADE_BFCL_PYTHON = before;
  }
});

test("unknown names and missing files are mistakes of the invocation", async () => {
  expect(await invoke("replay", "bcfl", "x")).toMatchObject({
    exitCode: 2,
    error: expect.stringContaining('Did you mean "bfcl"?'),
  });
  expect(await invoke("replay", "bfcl", join(folder, "nothing"))).toMatchObject({ exitCode: 2 });
  const empty = mkdtempSync(join(tmpdir(), "bfcl-none-"));
  const scored = await invoke("score", "bfcl", file('{"task_id": "multi_turn_base_0", "model_turns": []}'), "--data", empty);
  expect(scored).toMatchObject({ exitCode: 2, error: expect.stringContaining("`npm run research -- data bfcl` downloads") });
});

test("data of another version is refused", async () => {
  const changed = mkdtempSync(join(tmpdir(), "bfcl-changed-"));
  for (const name of ["BFCL_v4_multi_turn_base.json", "possible_answer"])
    if (name.endsWith(".json")) writeFileSync(join(changed, name), "{}");
  const { mkdirSync } = await import("node:fs");
  mkdirSync(join(changed, "possible_answer"));
  writeFileSync(join(changed, "possible_answer/BFCL_v4_multi_turn_base.json"), "{}");
  const { exitCode, error } = await invoke(
    "score",
    "bfcl",
    file('{"task_id": "multi_turn_base_0", "model_turns": []}'),
    "--data",
    changed,
  );
  expect(error).toContain("It is a file of another version, or was changed");
  expect(exitCode).toBe(1);
});

const good = { task_id: "multi_turn_base_4", model_turns: [[["ls(a=True)"]], [["sort('report.txt')"]], ["I will not."]] };

test.skipIf(!existsSync(data) || absent)(
  "score prints verdicts and both scores (skipped where ../shared/bfcl is not there)",
  async () => {
    const { exitCode, out, error } = await invoke("score", "bfcl", file(JSON.stringify(good)), "--data", data);
    expect(JSON.parse(out)).toEqual({
      id: "multi_turn_base_4",
      task_id: "multi_turn_base_4",
      verdict: {
        valid: false,
        error_type: "multi_turn:empty_turn_model_response",
        error_message: "Model response list is empty for turn 2",
      },
    });
    expect(error).toMatch(/base +0\.0 % \(0\/1\) +–/);
    expect(error).toContain("They are no BFCL v4 score");
    expect(exitCode).toBe(0);
  },
);

test.skipIf(!existsSync(data) || absent).each([
  [
    "an unknown task",
    [{ ...good, task_id: "multi_turn_base_4000" }],
    'line 1: task_id is "multi_turn_base_4000"; expected a task of',
  ],
  ["a task twice", [good, good], 'line 2: id is "multi_turn_base_4"; expected an id that no earlier line has'],
  ["a malformed step", [{ ...good, model_turns: [[5]] }], 'line 1: model_turns[0][0] is "5"; expected a list of call texts'],
  ["no turns", [{ task_id: "multi_turn_base_4" }], "line 1: model_turns is missing"],
])("score of a file with %s names line and field", async (_, records, message) => {
  const { exitCode, error } = await invoke(
    "score",
    "bfcl",
    file(...records.map((record) => JSON.stringify(record))),
    "--data",
    data,
  );
  expect(error).toContain(message);
  expect(exitCode).toBe(1);
});
