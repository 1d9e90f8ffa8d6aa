import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, vi } from "vitest";
import { writeTinyModel } from "../../test/tiny-model.ts";
import * as models from "./model.ts";

export const source = mkdtempSync(join(tmpdir(), "retrograde-source-"));
await writeTinyModel(source);
export const choice = (model: string, name = "office") => ({ model, environment: { name } });
export const modelFolder = (model: string) => models.modelFolder(choice(model));
export const oneThread = { kind: "local", device: "cpu", threads: 1 } as const;
export const use = { training: false, length: 64, concurrency: 1 };

beforeEach(() => {
  vi.stubEnv("HF_HOME", mkdtempSync(join(tmpdir(), "retrograde-home-")));
  vi.stubEnv("HF_ENDPOINT", "http://127.0.0.1:9"); // where nothing answers
  return () => vi.unstubAllEnvs();
});
