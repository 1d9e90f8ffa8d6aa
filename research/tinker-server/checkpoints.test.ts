import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { CheckpointStore, parseCheckpointKind, parseCheckpointName, parseCheckpointPath, parseModelId } from "./checkpoints.ts";

test("a checkpoint is there whole or not at all, and its name is used once", async () => {
  const root = mkdtempSync(join(tmpdir(), "checkpoints-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const store = new CheckpointStore(root);
  const at = (name: string, overwrite = false) => store.take(parseCheckpointPath(`tinker://m:1/${name}`, "weights"), overwrite);
  const record = { baseModel: "tiny", trained: "full" as const, step: 3, optimizer: true };
  const path = at("one");
  await expect(store.find(path)).rejects.toThrow("being written");
  expect(() => at("one")).toThrow("already exists");
  await store.write(path, record, async ({ weights }) => void (await mkdir(weights)));
  const folder = join(root, "m-1/weights/one");
  expect(await store.find(path)).toEqual({ path, record, folder: join(folder, "weights"), state: join(folder, "state") });
  expect(() => at("one")).toThrow("already exists");
  expect(at("one", true)).toEqual(path);
  const failed = store.write(path, record, async () => Promise.reject(new Error("disk full")));
  await expect(failed).rejects.toThrow("disk full");
  expect((await store.find(path)).record).toEqual(record); // the one that was there
  const weightsAlone = at("sampler_weights/two");
  await store.write(weightsAlone, { ...record, optimizer: false }, async ({ weights }) => void (await mkdir(weights)));
  expect((await store.find(weightsAlone)).state).toBeUndefined();
  await store.remove(path);
  expect(existsSync(folder)).toBe(false);
  await expect(store.remove(path)).rejects.toThrow("not found");
});

test("a kind of checkpoint is one of two", () => {
  expect(parseCheckpointKind("sampler_weights")).toBe("sampler_weights");
  expect(() => parseCheckpointKind("toString")).toThrow(
    /kind of a checkpoint is "toString"; expected "weights" or "sampler_weights"/,
  );
});

test.each(["..", "../outside", "a/b", "..%2foutside", "a\\b", "C:", ".hidden", "a.partial", "", "a\0b", "é", "a".repeat(256)])(
  "what could be a path is neither a model's id nor a checkpoint's name: %j",
  (text) => {
    expect(() => parseCheckpointName(text)).toThrow("name of a checkpoint");
    if (text !== "C:") expect(() => parseModelId(text)).toThrow("id of a model");
    expect(() => parseCheckpointPath(`tinker://m/weights/${text}`, "weights")).toThrow("path of a checkpoint");
  },
);
