import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { parquetWriteFile } from "hyparquet-writer";
import { expect, test } from "vitest";
import { ToolError } from "../../src/core/errors.ts";
import { openRecords, textOrNumber } from "./records.ts";

const folder = mkdtempSync(join(tmpdir(), "records-"));
const path = (name: string) => join(folder, name);
function write(name: string, content: string | Buffer): string {
  writeFileSync(path(name), content);
  return path(name);
}

test("JSON lines are records with the number of their line; empty lines are none", async () => {
  const lines = '{"a":1}\n\n  \n[2]\n"three"';
  for (const [name, content] of [
    ["a.jsonl", lines],
    ["b.jsonl.gz", gzipSync(lines)],
  ] as const) {
    const file = openRecords(write(name, content));
    const records = [
      { value: { a: 1 }, where: `${path(name)}:1` },
      { value: [2], where: `${path(name)}:4` },
      { value: "three", where: `${path(name)}:5` },
    ];
    expect(file).toEqual({ count: 3, records, read: expect.any(Function) });
    expect(await file.read()).toBe(file.records);
  }
  expect(openRecords(write("empty.jsonl", "")).count).toBe(0);
});

const kinds = "a .jsonl, .jsonl.gz or .parquet file";
test.each<[string, string | Buffer | undefined, string, string]>([
  ["a.csv", "a,b", "a.csv", kinds],
  ["jsonl", "{}", "jsonl", kinds],
  ["a.jsonl.bak", "{}", "a.jsonl.bak", kinds],
  ["a.gz", "{}", "a.gz", kinds],
  ["none.jsonl", undefined, "none.jsonl", kinds],
  ["bad.jsonl", '{"a":1}\n{"a"', "bad.jsonl:2", "a JSON object"],
  ["latin.jsonl", Buffer.from('"\xe9"', "latin1"), "latin.jsonl", "a file of text"],
  ["bad.jsonl.gz", "no gzip", "bad.jsonl.gz", "a gzipped file"],
  ["bad.parquet", "PAR1 it is not", "bad.parquet", "a Parquet file"],
])("%s is refused by its place", (name, content, where, expected) => {
  const open = () => openRecords(content === undefined ? path(name) : write(name, content));
  expect(open).toThrow(ToolError);
  expect(open).toThrow(expect.objectContaining({ subject: "data file", value: path(where), expected }));
});

test("a Parquet file is opened by its size and columns, and read by the columns that are wanted", async () => {
  const filename = path("a.parquet");
  const columnData = [
    { name: "id", data: [1, 2] },
    { name: "text", data: ["a", "b"] },
    { name: "bytes", data: [Buffer.from("é"), Buffer.from("é", "latin1")], type: "BYTE_ARRAY" as const },
  ];
  parquetWriteFile({ filename, columnData });
  const whole = openRecords(filename);
  expect(whole).toEqual({ count: 2, columns: ["id", "text", "bytes"], read: expect.any(Function) });
  expect(await whole.read()).toEqual([
    { value: { id: 1, text: "a", bytes: "é" }, where: `${filename}, row 0` },
    { value: { id: 2, text: "b", bytes: Uint8Array.from([0xe9]) }, where: `${filename}, row 1` },
  ]);
  const some = await openRecords(filename, ["text", "none"]).read();
  expect(some.map(({ value }) => value)).toEqual([{ text: "a" }, { text: "b" }]);
});

test("decimals are the numbers that were written, beside others and in what holds them", async () => {
  const filename = path("decimals.parquet");
  const decimal = { type: "INT32", converted_type: "DECIMAL", scale: 1, precision: 4, repetition_type: "REQUIRED" } as const;
  const list = [
    { name: "list", num_children: 1, converted_type: "LIST", repetition_type: "REQUIRED" },
    { name: "list", num_children: 1, repetition_type: "REPEATED" },
    { name: "element", ...decimal },
  ] as const;
  const pair = [
    { name: "pair", num_children: 2, repetition_type: "REQUIRED" },
    { name: "one", ...decimal },
    { name: "whole", type: "INT32", repetition_type: "REQUIRED" },
  ] as const;
  parquetWriteFile({
    filename,
    columnData: [
      { name: "one", data: [0.7, -1.1] },
      { name: "list", data: [[0.7, 1.1], []] },
      {
        name: "pair",
        data: [
          { one: 0.3, whole: 7 },
          { one: 2.9, whole: 8 },
        ],
      },
      { name: "whole", data: [7, 8] },
      { name: "text", data: ["a", "b"] },
    ],
    schema: [
      { name: "root", num_children: 5 },
      { name: "one", ...decimal },
      ...list,
      ...pair,
      { name: "whole", type: "INT32", repetition_type: "REQUIRED" },
      { name: "text", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "REQUIRED" },
    ],
  });
  expect((await openRecords(filename).read()).map(({ value }) => value)).toEqual([
    { one: 0.7, list: [0.7, 1.1], pair: { one: 0.3, whole: 7 }, whole: 7, text: "a" },
    { one: -1.1, list: [], pair: { one: 2.9, whole: 8 }, whole: 8, text: "b" },
  ]);
});

test.each<[unknown, string | undefined]>([
  ["a", "a"],
  ["", ""],
  [1, "1"],
  [1.5, "1.5"],
  [2 ** 53 - 1, "9007199254740991"],
  [2 ** 53, undefined],
  [-(2 ** 53), undefined],
  [2n ** 60n, "1152921504606846976"],
  [true, undefined],
  [null, undefined],
])("%s as a text is %j", (value, text) => {
  expect(textOrNumber.safeParse(value).data).toBe(text);
});
