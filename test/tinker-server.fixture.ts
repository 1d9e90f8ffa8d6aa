import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { type Datum, TinkerClient, TinkerError, type TinkerModel } from "../extensions/tinker/client/index.ts";
import type { ServedModel } from "../research/tinker-server/local-model.ts";
import { serveModel } from "../research/tinker-server/local-model.ts";
import { type RunningServer, startTinkerServer } from "../research/tinker-server/server.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** Our server, asked by our client and by bare HTTP. The official SDK asks it in tinker-sdk.contract.test.ts. */
export let folder: string;
export let base: ServedModel;
export let server: RunningServer;
export let client: TinkerClient;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tinker-server-"));
  await writeTinyModel(join(folder, "tiny"));
  base = await serveModel("tiny", join(folder, "tiny"), 1);
  server = await startTinkerServer({ models: [base], store: join(folder, "store"), port: 0 });
  client = await TinkerClient.connect({ baseUrl: server.baseUrl });
});
afterAll(async () => {
  client.close();
  await server.close();
  await rm(folder, { recursive: true });
});

export const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-8 };
export const first: Datum = { tokens: [1, 5, 0, 3, 6], targets: [5, 0, 3, 6, 2] };
export const second: Datum = { tokens: [1, 5, 4], targets: [5, 4, 3] };
export const signed = { weights: [0, -1.2, 0.5, 2, 0.1] };

export async function withModel<T>(rank: number, task: (model: TinkerModel) => Promise<T>): Promise<T> {
  const model = await client.createModel({ baseModel: "tiny", rank, seed: 3 });
  try {
    return await task(model);
  } finally {
    await model.unload().catch(() => {});
  }
}

export async function failure(call: Promise<unknown>): Promise<TinkerError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(TinkerError);
  return error as TinkerError;
}
