import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";

/** The errors of another platform, by what the system is asked. */
const injected = vi.hoisted(() => ({ openFolder: undefined as string | undefined, sync: undefined as string | undefined }));
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
    fsyncSync: (handle: number) => {
      if (injected.sync !== undefined && fs.fstatSync(handle).isDirectory()) throw failing(injected.sync);
      fs.fsyncSync(handle);
    },
  };
});
const { writeFileAtomic, writeFolderAtomic, writeSharedFolder } = await import("./atomic.ts");

afterEach(() => {
  injected.openFolder = undefined;
  injected.sync = undefined;
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
