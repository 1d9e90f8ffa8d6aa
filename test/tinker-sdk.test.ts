import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { serveModel } from "../src/sdk/served-model.ts";
import { startTinkerServer } from "../src/server/tinker/server.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** A Python with the official SDK: the one that RETROGRADE_TINKER_PYTHON names (.ci/tinker-sdk makes one), or python3. */
const named = process.env.RETROGRADE_TINKER_PYTHON;
const python = named ?? "python3";
const found = await new Promise<boolean>((resolve) => {
  execFile(python, ["-c", "import tinker, numpy"], (error) => resolve(error === null));
});

test.skipIf(!found)(
  `the official Python SDK trains and samples through our server${found ? "" : " — skipped: no Python with the package tinker (RETROGRADE_TINKER_PYTHON)"}`,
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "tinker-sdk-"));
    await writeTinyModel(join(folder, "tiny"));
    const server = await startTinkerServer({
      models: [await serveModel("tiny", join(folder, "tiny"), 1)],
      store: join(folder, "store"),
      imports: new Map(),
      limits: { models: 32, bytes: 2 ** 40, queue: 1024, body: 2 ** 26, samplers: 4 },
      sessionMs: 60_000,
      port: 0,
      keys: [],
    });
    const script = fileURLToPath(new URL("tinker/sdk_checks.py", import.meta.url));
    const env = { ...process.env, TINKER_BASE_URL: server.baseUrl, TINKER_BASE_MODEL: "tiny" };
    const output = await new Promise<string>((resolve, reject) => {
      execFile(python, [script], { env, timeout: 170_000 }, (error, out, errors) =>
        error === null ? resolve(out) : reject(new Error(`${errors.slice(-2000)}\n${out}`)),
      );
    });
    await server.close();
    await rm(folder, { recursive: true });
    const checks = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { name: string; ok: boolean; said: string });
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(checks.length).toBeGreaterThan(16);
  },
  180_000,
);
