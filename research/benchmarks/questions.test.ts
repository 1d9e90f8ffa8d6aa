import "../install.ts";
import { rmSync } from "node:fs";
import { parquetWriteFile } from "hyparquet-writer";
import { afterAll, expect, test } from "vitest";
import { ConfigError } from "../../src/core/errors.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { deepResearchEnvironment } from "./deep-research.ts";
import { folder, jsonl, path, questions, write } from "./questions.fixture.ts";
import { openQuestions } from "./questions.ts";

afterAll(() => rmSync(folder, { recursive: true, force: true }));
const recorded = write("recorded.json", "{}");

test("questions and answers as they come: strings, numbers, lists, other names, solutions of GSM8K", async () => {
  const file = openQuestions(
    jsonl(
      "many.jsonl",
      { question: "q1", answer: "a" },
      { problem: "q2", answer: 204, id: 1 },
      { Question: "q3", answer: ["a", "b"] },
      { question: "q4", golden_answers: [1, "two"] },
      { question: "q5", problem: "other", answer: "So 35,000 + 35,000.\n#### 70,000" },
    ),
    "data",
  );
  expect(file.count).toBe(5);
  const questions = await file.read();
  expect(questions.map(({ question, golds }) => [question, golds])).toEqual([
    ["q1", ["a"]],
    ["q2", ["204"]],
    ["q3", ["a", "b"]],
    ["q4", ["1", "two"]],
    ["q5", ["70000"]],
  ]);
});

test("decimals of Parquet, as which DuckDB writes 0.7, are those numbers, also in lists and structures", async () => {
  const decimal = { type: "INT32", converted_type: "DECIMAL", scale: 1, precision: 4, repetition_type: "REQUIRED" } as const;
  const list = [
    { num_children: 1, converted_type: "LIST", repetition_type: "REQUIRED" },
    { name: "list", num_children: 1, repetition_type: "REPEATED" },
    { name: "element", ...decimal },
  ] as const;
  const columns = {
    answer: { data: [0.7, -1.1], schema: [decimal], golds: [["0.7"], ["-1.1"]] },
    answers: { data: [[0.7, 1.1], [2]], schema: list, golds: [["0.7", "1.1"], ["2"]] },
    reward_model: {
      data: [{ ground_truth: 0.7 }, { ground_truth: 0.3 }],
      schema: [
        { num_children: 1, repetition_type: "REQUIRED" },
        { name: "ground_truth", ...decimal },
      ],
      golds: [["0.7"], ["0.3"]],
    },
  } as const;
  for (const [name, { data, schema, golds }] of Object.entries(columns)) {
    parquetWriteFile({
      filename: path("decimal.parquet"),
      columnData: [
        { name: "question", data: ["q", "r"] },
        { name, data: [...data] },
      ],
      schema: [
        { name: "root", num_children: 2 },
        { name: "question", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "REQUIRED" },
        ...schema.map((each) => ({ name, ...each })),
      ],
    });
    const questions = await openQuestions(path("decimal.parquet"), "data").read();
    expect(questions.map((question) => question.golds)).toEqual(golds);
  }
});

parquetWriteFile({ filename: path("other.parquet"), columnData: [{ name: "name", data: ["x"], type: "STRING" }] });
write("empty.jsonl", "\n");
write("broken.jsonl", '{"question": "q", "answer": "a"}\n{oops\n');
write("broken.jsonl.gz", "not gzipped");
write("broken.parquet", "not Parquet");
write("data.csv", "question,answer\n");
jsonl("columns.jsonl", { question: "q", answer: "a" }, { question: "q" });
write("large.jsonl", '{"question": "q", "answer": 9007199254740993}\n');
write("latin1.jsonl", Buffer.from('\n{"question": "Köln", "answer": 1}\n', "latin1"));
jsonl("list.jsonl", { question: "q", answer: [] });
jsonl("text.jsonl", "just a text");

test.each([
  ["missing.jsonl", 'missing.jsonl"; expected a .jsonl, .jsonl.gz or .parquet file'],
  ["data.csv", 'data.csv"; expected a .jsonl, .jsonl.gz or .parquet file'],
  ["empty.jsonl", 'empty.jsonl"; expected at least one question in the file'],
  ["broken.jsonl", 'broken.jsonl:2"; expected a JSON object'],
  ["broken.jsonl.gz", 'broken.jsonl.gz"; expected a gzipped file'],
  ["broken.parquet", 'broken.parquet"; expected a Parquet file'],
  ["columns.jsonl", 'columns.jsonl:2"; expected a question (question, problem, Question or extra_info.question) and its answer'],
  ["list.jsonl", 'list.jsonl:1"; expected a question'],
  ["large.jsonl", "a whole number beyond 2^53 as a text"],
  ["latin1.jsonl", 'latin1.jsonl"; expected a file of text. line 2 is not UTF-8'],
  ["text.jsonl", 'text.jsonl:1"; expected a question'],
  ["other.parquet", "The file has the columns name."],
])("a file that is something else is named before anything is loaded: %s", (name, message) => {
  const make = () => createEnvironment("deep-research", { data: { test: ["columns.jsonl", name].slice(1).map(path) }, recorded });
  expect(make).toThrow(ConfigError);
  expect(make).toThrow("environment.settings.data.test is ");
  expect(make).toThrow(message);
});

test.each([
  [{}, "environment.settings.data is missing"],
  [{ data: { trian: questions } }, 'Did you mean "train"?'],
  [{ data: { train: [] } }, "environment.settings.data.train"],
  [{ data: { train: questions } }, "environment.settings.search is missing; expected what is searched"],
  [{ data: {}, recorded: path("no.json") }, "There is no such file"],
  [{ data: {}, search: { kind: "local", path: path("no") } }, "environment.settings.search.path is"],
  [{ data: {}, search: { kind: "serper" } }, "environment variable SERPER_API_KEY is missing; expected the API key of serper"],
  [{ data: {}, search: { kind: "bing" } }, "environment.settings.search"],
  [{ data: {}, recorded, limits: { calls: 0 } }, "environment.settings.limits.calls is 0; expected at least 1"],
  [{ data: {}, recorded, grader: "judge" }, "environment.settings.grader"],
])("settings are checked: %j", (settings, message) => {
  const make = () => deepResearchEnvironment(settings, {});
  expect(make).toThrow(ConfigError);
  expect(make).toThrow(message);
});
