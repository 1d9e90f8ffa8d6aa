import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

// textcraft.ts is played against its server in test/environment-sdks, rl-loop.ts in test/rl-loop.slow.test.ts.
const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "retrograde-recipes-"));
const out = join(folder, "out");

/** Starts a recipe. @returns what it printed, to both streams */
function recipe(file: string, ...args: readonly string[]): Promise<string> {
  const command = [
    "--import",
    join(root, "node_modules/jiti/lib/jiti-register.mjs"),
    join(root, "research/recipes", file),
    ...args,
  ];
  return new Promise((resolve) =>
    execFile(process.execPath, command, { cwd: root }, (_, ...printed) => resolve(printed.join(""))),
  );
}

test("make-model.ts opens the engine and writes a model", async () => {
  expect(await recipe("make-model.ts", "office", "--from", "models/office", "--stages", "0", "--out", out)).toContain(
    "896 tokens",
  );
  expect(existsSync(join(out, "model.safetensors"))).toBe(true);
});

test("bfcl.ts looks for the benchmark's files", async () => {
  expect(await recipe("bfcl.ts", out, join(folder, "nowhere"))).toContain("-- data bfcl` downloads the right files");
});

test("calculator-agent.ts comes as far as the engine's settings", async () => {
  expect(await recipe("calculator-agent.ts", "--device", "nope", "--out", out)).toContain('engine.device is "nope"');
});

test("needle.ts comes as far as the engine's settings, once its server answers", async () => {
  const server = createServer((_, response) => response.end("{}")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const idle = join(folder, "python");
  writeFileSync(idle, "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 });
  writeFileSync(join(folder, "form.jsonl"), "");
  const port = String((server.address() as AddressInfo).port);
  const needle = await recipe("needle.ts", "--python", idle, "--port", port, "--threads", "nope", "--out", folder);
  server.close();
  expect(needle).toContain("engine.threads is NaN");
});
