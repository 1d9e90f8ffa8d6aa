import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { EngineError, RunError } from "../core/errors.ts";
import { NotAFile } from "../files/regular.ts";
import {
  appendRecord,
  explained,
  isOwnRecord,
  readRunFile,
  requireOwnFolder,
  systemError,
  writeOwnRecord,
  writeRecord,
} from "./files.ts";
import { readJson, readLines, recordOf } from "./read.ts";

const newFolder = () => mkdtempSync(join(tmpdir(), "retrograde-files-"));
const coded = (code: string) => Object.assign(new Error(`${code}: x`), { code });
const full = "The disk is full. Free some space, then continue with --resume: everything up to the last checkpoint is kept.";

test.each([
  ["ENOSPC", `p is "not written"; expected space on the disk. ${full}`],
  ["EDQUOT", `p is "not written"; expected space on the disk. ${full}`],
  ...[
    ["EACCES", "this user may not write there"],
    ["EPERM", "this user may not write there"],
    ["EROFS", "the file system is read-only"],
    ["ENOTDIR", "a part of the path is a file"],
    ["EEXIST", "a file has its name"],
    ["EISDIR", "a folder has its name"],
    ["ENOENT", "there can be no folder"],
    ["ENAMETOOLONG", "the name is too long"],
    ["ELOOP", "links that lead in a circle"],
  ].map(([code, why]) => [
    code,
    `p is "not written (${code}: ${why})"; expected a folder that can be written. Choose another folder with --out.`,
  ]),
])("%s in a reader's words", (code = "", text = "") => {
  for (const error of [coded(code), new Error("an engine's", { cause: coded(code) })]) {
    const said = systemError("p", error);
    expect(said).toBeInstanceOf(RunError);
    expect((said as RunError).message).toBe(text);
    expect((said as RunError).cause).toBe(error);
  }
});

test("other errors stay as they are, and work that succeeds gives its result", () => {
  for (const error of [coded("EOTHER"), new EngineError("a", 1), "text", undefined]) expect(systemError("p", error)).toBe(error);
  expect(explained("p", () => 3)).toBe(3);
  expect(() =>
    explained("p", () => {
      throw coded("EROFS");
    }),
  ).toThrow("the file system is read-only");
});

test("a link is no folder or file of a run", () => {
  const folder = newFolder();
  mkdirSync(join(folder, "real"));
  writeFileSync(join(folder, "file"), "text");
  symlinkSync(join(folder, "real"), join(folder, "link"));
  symlinkSync(join(folder, "file"), join(folder, "other"));
  requireOwnFolder(join(folder, "real"));
  requireOwnFolder(join(folder, "missing"));
  const hint =
    "expected files and folders of a run, and no links. Whoever made the run could lead a link anywhere. Remove it, or copy what it leads to.";
  for (const [name, what] of [
    ["link", "link"],
    ["file", "file"],
  ])
    expect(() => requireOwnFolder(join(folder, name))).toThrow(
      `${join(folder, name)} is "not written (${join(folder, name)} is a ${what}, not a folder)"; ${hint}`,
    );
  expect(systemError("p", new NotAFile("x"))).toBeInstanceOf(RunError);
  expect(readRunFile(join(folder, "file")).toString()).toBe("text");
  expect(() => readRunFile(join(folder, "other"))).toThrow(
    /other is "unreadable \(.*\)"; expected a file, as a run has it there\./,
  );
  expect(() => readRunFile(join(folder, "file"), 3)).toThrow(/file is "unreadable \(/);
  expect(readRunFile(join(folder, "file"), 4)).toHaveLength(4);
});

const schema = z.object({ a: z.number() });

test("a record is read as it was written, and one that was changed is refused", () => {
  const path = join(newFolder(), "record.json");
  writeRecord(path, { a: 1 });
  expect(readJson(path, schema)).toEqual({ a: 1 });
  writeFileSync(path, readRunFile(path).toString().replace("1", "2"));
  expect(() => readJson(path, schema)).toThrow(
    `${path} is "unreadable (it has another checksum than when it was written)"; expected a file that this version of retrograde wrote.`,
  );
  writeFileSync(path, '{"b": 1}');
  expect(() => readJson(path, schema)).toThrow(/unreadable \(.*expected number/s);
  expect(() => recordOf("p", '{"a": 1, "schema": 99}', schema)).toThrow(
    'p is "of schema version 99"; expected a version up to 2. A newer retrograde wrote this run. Update retrograde-rl to read it.',
  );
  expect(recordOf("p", '{"a": 1, "schema": 2}', schema)).toEqual({ a: 1 });
  expect(recordOf("p", '{"a": 1, "schema": "x"}', schema)).toEqual({ a: 1 });
  expect(() => recordOf("p", '{"a": 1}', schema, 7)).toThrow("another checksum");
});

test("a record of this machine is known as its own until anybody changes it", () => {
  const path = join(newFolder(), "run.json");
  writeOwnRecord(path, { a: 1 });
  expect(isOwnRecord(path)).toBe(true);
  writeRecord(path, { ...JSON.parse(readRunFile(path).toString()), a: 2, crc32: undefined });
  expect(isOwnRecord(path)).toBe(false);
  writeRecord(path, { a: 1 });
  expect(isOwnRecord(path)).toBe(false);
});

test("lines are read whole: the half of one that a kill left is none, one that lost its newline is damage", () => {
  const path = join(newFolder(), "lines.jsonl");
  expect(readLines(path, schema)).toEqual([]);
  appendRecord(path, { a: 1 });
  appendRecord(path, { a: 2 });
  const whole = readRunFile(path).toString();
  expect(readLines(path, schema)).toEqual([{ a: 1 }, { a: 2 }]);
  writeFileSync(path, `${whole}{"a": 3`);
  expect(readLines(path, schema)).toEqual([{ a: 1 }, { a: 2 }]);
  writeFileSync(path, whole.slice(0, -1));
  expect(() => readLines(path, schema)).toThrow(`${path} is "unreadable (its last line lost its end)"`);
  writeFileSync(path, `${whole.slice(0, -1)}x`);
  expect(() => readLines(path, schema)).toThrow("its last line lost its end");
});
