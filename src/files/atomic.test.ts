import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";

/** The errors of another platform, by what the system is asked. */
const injected = vi.hoisted(() => ({
  openFolder: undefined as string | undefined,
  sync: undefined as string | undefined,
  /** Fails behind two bytes of what is written. */
  write: undefined as string | undefined,
}));
vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const failing = (code: string) => Object.assign(new Error(`${code}: operation not permitted`), { code });
  return {
    ...fs,
    openSync: (path: string, ...rest: [string]) => {
      if (injected.openFolder !== undefined && fs.existsSync(path) && fs.statSync(path).isDirectory())
        throw failing(injected.openFolder);
      return fs.openSync(path, ...rest);
    },
    writeSync: (handle: number, bytes: Uint8Array, from: number) => {
      if (injected.write === undefined) return fs.writeSync(handle, bytes, from);
      fs.writeSync(handle, bytes, from, 2);
      throw failing(injected.write);
    },
    fsyncSync: (handle: number) => {
      if (injected.sync !== undefined && fs.fstatSync(handle).isDirectory()) throw failing(injected.sync);
      fs.fsyncSync(handle);
    },
  };
});
const { appendLine, isUnfinished, writeFileAtomic, writeFolderAtomic, writeSharedFolder } = await import("./atomic.ts");

afterEach(() => {
  injected.openFolder = undefined;
  injected.sync = undefined;
  injected.write = undefined;
});

test.each([
  ["Windows, which opens no folder", { openFolder: "EISDIR" }],
  ["Windows, which flushes none", { sync: "EPERM" }],
  ["a file system without flushing of folders", { sync: "EINVAL" }],
])("files and folders are written on %s", async (_, errors) => {
  Object.assign(injected, errors);
  const root = mkdtempSync(join(tmpdir(), "retrograde-atomic-"));
  writeFileAtomic(join(root, "deep/file"), "one");
  writeFileAtomic(join(root, "deep/file"), "two");
  await writeFolderAtomic(join(root, "folder"), async (into) => writeFileSync(join(into, "inner"), "three"));
  expect([readFileSync(join(root, "deep/file"), "utf8"), readFileSync(join(root, "folder/inner"), "utf8")]).toEqual([
    "two",
    "three",
  ]);
});

test("a disk that breaks while a folder is flushed is an error", () => {
  injected.sync = "EIO";
  expect(() => writeFileAtomic(join(mkdtempSync(join(tmpdir(), "retrograde-atomic-")), "file"), "x")).toThrow("EIO");
});

test("a folder that several write at once is whole, and none fails", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shared-folder-"));
  const path = join(folder, "cache");
  const write = () =>
    writeSharedFolder(path, async (into) => {
      for (const name of ["one", "two"]) {
        await new Promise((resolve) => setImmediate(resolve));
        writeFileSync(join(into, name), name);
      }
    });
  await Promise.all([write(), write(), write()]);
  expect(readdirSync(folder)).toEqual(["cache"]);
  expect(readdirSync(path)).toEqual(["one", "two"]);
  rmSync(folder, { recursive: true });
});

test("a line is added whole or not at all, also where it would be the first", () => {
  const root = mkdtempSync(join(tmpdir(), "retrograde-atomic-"));
  const path = join(root, "lines");
  injected.write = "ENOSPC";
  expect(() => appendLine(path, "none")).toThrow("ENOSPC");
  expect(readFileSync(path, "utf8")).toBe("");
  injected.write = undefined;
  appendLine(path, "one");
  appendLine(path, "zwö");
  injected.write = "ENOSPC";
  expect(() => appendLine(path, "three")).toThrow("ENOSPC");
  expect(() => writeFileAtomic(join(root, "file"), "text")).toThrow("ENOSPC");
  expect(readFileSync(path, "utf8")).toBe("one\nzwö\n");
  expect(readdirSync(root)).toEqual(["lines"]);
});

test("a link is not written through, and is left as it is", () => {
  const root = mkdtempSync(join(tmpdir(), "retrograde-atomic-"));
  writeFileSync(join(root, "elsewhere"), "kept\n");
  symlinkSync(join(root, "elsewhere"), join(root, "link"));
  expect(() => appendLine(join(root, "link"), "more")).toThrow("is a link, not a file");
  expect(readFileSync(join(root, "elsewhere"), "utf8")).toBe("kept\n");
  expect([".a.unfinished", "a.unfinished", ".a", ".unfinished.x"].map(isUnfinished)).toEqual([true, false, false, false]);
});

test("a folder that cannot be filled leaves the old one, and nothing beside it", async () => {
  const root = mkdtempSync(join(tmpdir(), "retrograde-atomic-"));
  const path = join(root, "folder");
  await writeFolderAtomic(path, async (into) => writeFileSync(join(into, "a"), "1"));
  const fails = async (into: string) => {
    writeFileSync(join(into, "a"), "2");
    throw new Error("no weights");
  };
  for (const write of [writeFolderAtomic, writeSharedFolder]) await expect(write(path, fails)).rejects.toThrow("no weights");
  expect([readdirSync(root), readFileSync(join(path, "a"), "utf8")]).toEqual([["folder"], "1"]);
  await writeFolderAtomic(path, async (into) => writeFileSync(join(into, "b"), "3"));
  expect(readdirSync(path)).toEqual(["b"]);
});
