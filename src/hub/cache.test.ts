import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cachedCommit, indexFile, isComplete, link, recordCommit, repoCache, shardsOf } from "./cache.ts";
import { lastWords, wheelFile } from "./wheels.ts";

const commit = "0123456789abcdef0123456789abcdef01234567";
const temporary = () => mkdtempSync(join(tmpdir(), "retrograde-cache-"));
const write = (folder: string, ...names: string[]) => {
  for (const name of names) writeFileSync(join(folder, name), "{}");
};

test("a repository's folder has its kind and its name, as Hugging Face's own tools name it", () => {
  const { folder, lock, snapshot } = repoCache("/hub", "owner/name", "dataset");
  expect(folder).toBe("/hub/datasets--owner--name");
  expect(lock).toBe("/hub/.locks/datasets--owner--name/retrograde.lock");
  expect(snapshot(commit)).toBe(`/hub/datasets--owner--name/snapshots/${commit}`);
  expect(repoCache("/hub", "owner/name").folder).toBe("/hub/models--owner--name");
});

test("a branch refers to the commit of its last look-up, main where none is named; a commit to itself", async () => {
  const cache = repoCache(temporary(), "owner/name");
  const main = { repo: "owner/name", revision: undefined };
  expect(cachedCommit(cache, main)).toBeUndefined();
  await recordCommit(cache, main, commit);
  expect(cachedCommit(cache, main)).toBe(commit);
  expect(cachedCommit(cache, { ...main, revision: "other" })).toBeUndefined();
  expect(cachedCommit(cache, { ...main, revision: commit.replace("0", "f") })).toBe(commit.replace("0", "f"));
  await recordCommit(cache, { ...main, revision: commit }, commit);
  expect(existsSync(join(cache.folder, "refs", commit))).toBe(false);
  writeFileSync(join(cache.folder, "refs", "main"), "no commit");
  expect(cachedCommit(cache, main)).toBeUndefined();
});

test("a snapshot is complete with its configuration, its tokenizer and, where they are wanted, all of its weights", () => {
  const folder = temporary();
  write(folder, "config.json");
  expect(isComplete(folder, false)).toBe(false);
  write(folder, "tokenizer.json");
  expect([isComplete(folder, false), isComplete(folder, true)]).toEqual([true, false]);
  const weights = { weight_map: { a: "one.safetensors", b: "two.safetensors", c: "one.safetensors" } };
  writeFileSync(join(folder, indexFile), JSON.stringify(weights));
  write(folder, "one.safetensors");
  expect(isComplete(folder, true)).toBe(false);
  write(folder, "two.safetensors");
  expect(isComplete(folder, true)).toBe(true);
  write(folder, indexFile);
  expect(isComplete(folder, true)).toBe(false);
  write(folder, "model.safetensors");
  expect(isComplete(folder, true)).toBe(true);
});

test("an index names each shard once, and none outside of the folder", () => {
  const index = (...files: string[]) => JSON.stringify({ weight_map: Object.fromEntries(files.map((file, i) => [i, file])) });
  expect(shardsOf(index("a.safetensors", "b.safetensors", "a.safetensors"))).toEqual(["a.safetensors", "b.safetensors"]);
  expect(shardsOf(index("../a.safetensors"))).toBeUndefined();
  expect(shardsOf(index("a.bin"))).toBeUndefined();
  expect(shardsOf("no JSON")).toBeUndefined();
});

test("a snapshot's file is a link to its blob; one that leads nowhere is made again, a file that is there stays", async () => {
  const folder = temporary();
  const [blob, gone, snapshot] = ["blob", "gone", "snapshot"].map((name) => join(folder, name));
  writeFileSync(blob, "bytes");
  await link(gone, snapshot, "inner/file");
  expect(existsSync(join(snapshot, "inner/file"))).toBe(false);
  await link(blob, snapshot, "inner/file");
  expect(readFileSync(join(snapshot, "inner/file"), "utf8")).toBe("bytes");
  mkdirSync(join(folder, "other"));
  writeFileSync(join(folder, "other/file"), "own");
  await link(blob, join(folder, "other"), "file");
  expect(readFileSync(join(folder, "other/file"), "utf8")).toBe("own");
});

test("a wheel is found by its name, as pip spells it in files", async () => {
  const folder = temporary();
  const wheel = { name: "nvidia-cublas", version: "1", sha256: "" };
  write(folder, "nvidia_cublas_other-1.whl", "nvidia_cublas-1.tar.gz");
  await expect(wheelFile(wheel, folder)).rejects.toThrow("pip download nvidia-cublas");
  write(folder, "nvidia_cublas-1-py3.whl");
  expect(await wheelFile(wheel, folder)).toBe(join(folder, "nvidia_cublas-1-py3.whl"));
});

test("a program's last words are what it said, else what Node says", () => {
  expect(lastWords(Object.assign(new Error("Command failed: pip"), { stderr: " no space left\n" }))).toBe("no space left");
  expect(lastWords(Object.assign(new Error("Command failed: pip"), { stderr: "\n" }))).toBe("Command failed: pip");
  expect(lastWords(new Error("not found"))).toBe("not found");
});
