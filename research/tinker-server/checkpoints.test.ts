import { existsSync, mkdtempSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CheckpointStore, parseCheckpointName, parseCheckpointPath, parseModelId } from "./checkpoints.ts";
import { saveForSamplerSchema, saveWeightsSchema } from "./requests.ts";

test("a checkpoint is gone once its time is over, and takes its folder with it", async () => {
  const root = mkdtempSync(join(tmpdir(), "checkpoints-"));
  const store = new CheckpointStore(root, [], new Map());
  const record = { baseModel: "tiny", trained: "full" as const, step: 1, savedAt: new Date().toISOString(), optimizer: false };
  const fill = async ({ weights }: { readonly weights: string }) => void (await mkdir(weights));
  const m = parseModelId("m");
  const at = (name: string) => ({ model: m, kind: "weights" as const, name: parseCheckpointName(name) });
  await store.write(at("kept"), { ...record, expiresAt: new Date(Date.now() + 60_000).toISOString() }, fill);
  await store.write(at("for-ever"), record, fill);
  const over = { ...record, expiresAt: new Date(Date.now() + 1_000).toISOString() };
  await store.write(at("over"), over, fill);
  await new Promise((resolve) => setTimeout(resolve, 1_050));
  await expect(store.find(at("over"))).rejects.toThrow(/expired at .*; expected a saved checkpoint/);
  expect(existsSync(join(root, "m/weights/over"))).toBe(false);
  expect((await store.list(m)).map(({ path }) => path.name).sort()).toEqual(["for-ever", "kept"]);
});

test.each(["..", "../outside", "a/b", "..%2foutside", "a\\b", "C:", ".hidden", "a.partial", "", "a\0b", "é", "a".repeat(256)])(
  "what could be a path is neither a model's id nor a checkpoint's name: %j",
  (text) => {
    expect(() => parseCheckpointName(text)).toThrow("name of a checkpoint");
    if (text !== "C:") expect(() => parseModelId(text)).toThrow("id of a model");
    expect(() => parseCheckpointPath(`tinker://m/weights/${text}`, "weights")).toThrow("path of a checkpoint");
  },
);

test("times of less than a second and of centuries are refused", () => {
  const request = (ttl_seconds: unknown) => ({ model_id: "m", ttl_seconds });
  for (const schema of [saveWeightsSchema, saveForSamplerSchema]) {
    expect(schema.parse(request(7)).ttl_seconds).toBe(7);
    expect(schema.parse(request(null)).ttl_seconds).toBeNull();
    for (const wrong of [0, 1.5, 1e12, "7"]) expect(schema.safeParse(request(wrong)).success).toBe(false);
  }
});
