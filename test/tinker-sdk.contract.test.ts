import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { serveModel } from "../research/tinker-server/local-model.ts";
import { startTinkerServer } from "../research/tinker-server/server.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** A Python with the official SDK: the one that RETROGRADE_TINKER_PYTHON names (.ci/tinker-sdk makes one), or python3. */
const python = process.env.RETROGRADE_TINKER_PYTHON ?? "python3";
const has = (modules: string) =>
  new Promise<boolean>((resolve) => {
    execFile(python, ["-c", `import ${modules}`], (error) => resolve(error === null));
  });
const found = await has("tinker, numpy");
const torch = found && (await has("torch"));

interface Check {
  readonly name: string;
  /** Null for a check that cannot run. */
  readonly ok: boolean | null;
  readonly said: string;
}
let checks: Check[] = [];

beforeAll(async () => {
  if (!found) return;
  const folder = await mkdtemp(join(tmpdir(), "tinker-sdk-"));
  await writeTinyModel(join(folder, "tiny"));
  const server = await startTinkerServer({
    models: [await serveModel("tiny", join(folder, "tiny"), 1)],
    store: join(folder, "store"),
    port: 0,
  });
  const script = fileURLToPath(new URL("tinker/sdk_checks.py", import.meta.url));
  const env = { ...process.env, TINKER_BASE_URL: server.baseUrl, TINKER_BASE_MODEL: "tiny" };
  const output = await new Promise<string>((resolve, reject) => {
    execFile(python, [script], { env, timeout: 570_000 }, (error, out, errors) =>
      error === null ? resolve(out) : reject(new Error(`${errors.slice(-2000)}\n${out}`)),
    );
  });
  await server.close();
  await rm(folder, { recursive: true });
  checks = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Check);
});

const customLoss = "a custom loss is exact, signed weights included";
/** Every check of the script, so that one that did not run is missed. */
const names = [
  "capabilities name the model",
  "supervised training of an adapter",
  "supervised training of the model itself (rank 0)",
  "info names rank and base",
  "every loss of the server has its value",
  "an unknown loss is refused by name",
  "training goes on after a refusal",
  "all of Adam's settings are honoured",
  "a sampling client of the trained weights",
  "samples, log-probs of samples and prompts, top candidates, stop tokens",
  "a saved state",
  "a client from that state, with its optimiser",
  "its log-probs are the saved ones",
  "a client from that state, without",
  "a sample is cancelled, and the next is drawn",
  "GRPO raises the reward",
];
const skipped = found ? "" : " — skipped: no Python with the package tinker (RETROGRADE_TINKER_PYTHON)";

test.skipIf(!found)(`the official Python SDK trains and samples through our server${skipped}`, () => {
  expect(checks.filter(({ ok }) => ok === false)).toEqual([]);
  expect(checks.filter(({ ok }) => ok).map(({ name }) => name)).toEqual(expect.arrayContaining(names));
});

const skippedLoss = skipped || (torch ? "" : " — skipped: the SDK's custom losses need PyTorch, which that Python lacks");
test.skipIf(!torch)(`a custom loss of the official SDK is exact, signed weights included${skippedLoss}`, () => {
  expect(checks.find(({ name }) => name === customLoss)).toMatchObject({ ok: true, said: "" });
});
