import { mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder } from "./folder.ts";

const root = mkdtempSync(join(tmpdir(), "retrograde-folder-"));

test("missing folders are created, those that are there stay", () => {
  const path = join(root, "a/b/c");
  makeFolder(path);
  makeFolder(path);
  expect(statSync(path).isDirectory()).toBe(true);
});

test("a file in the way is the system's error", () => {
  writeFileSync(join(root, "file"), "");
  expect(() => makeFolder(join(root, "file"))).toThrow(/EEXIST/);
  expect(() => makeFolder(join(root, "file/a/b"))).toThrow(/ENOTDIR/);
});
