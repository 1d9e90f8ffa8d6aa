import "../../test/loopback.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createScreen } from "../../src/terminal/screen.ts";
import { startServer } from "./cli/serve.ts";
import { serveModel } from "./local-model.ts";

test("a server says where it is, and answers by Tinker's routes alone", async () => {
  const lines: string[] = [];
  const screen = createScreen({ write: (text: string) => lines.push(text) > 0 });
  const store = mkdtempSync(join(tmpdir(), "tinker-server-"));
  const server = await startServer({ model: ["small=models/office", "models/office"], port: 0, threads: 1, store }, screen);
  onTestFinished(() => server.close());
  const folder = resolve("models/office");
  expect(lines.join("").split("\n")).toEqual([
    `Tinker server at ${server.baseUrl}`,
    `  base model small (${folder})`,
    expect.stringMatching(/^ {2}base model /),
    `  TINKER_BASE_URL=${server.baseUrl} TINKER_API_KEY=tml-local python train.py`,
    "",
  ]);
  const ask = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${server.baseUrl}${path}`, { method, body: body && JSON.stringify(body) });
    const text = await response.text();
    return [response.status, text === "" ? "" : JSON.parse(text)];
  };
  expect(await ask("GET", "/api/v1/healthz")).toEqual([200, { status: "ok" }]);
  expect(await ask("POST", "/api/v1/client/dynamic_config", {})).toEqual([200, { sample_cancel_enabled: true }]);
  for (const [method, path] of [
    ["GET", "/api/v2/healthz"],
    ["GET", "/app/v1/healthz"],
    ["GET", "/api/v1/client/dynamic_config"],
    ["POST", "/api/v1/healthz"],
    ["POST", "/api/v1/toString"],
    ["PUT", "/api/v1/client/dynamic_config"],
    ["DELETE", "/api/v1/training_runs/m/checkpoints/weights"],
  ] as const) {
    const [status, answer] = await ask(method, path);
    expect(status, `${method} ${path}`).toBe(404);
    expect(JSON.stringify(answer)).toContain(`${method} ${path}`);
    expect(JSON.stringify(answer)).toContain("expected one of Tinker's interface");
  }
  expect(await ask("DELETE", "/api/v1/training_runs/m/checkpoints/weights/none")).toMatchObject([404, {}]);
});

test("a served model: its limits, the end of a text, and the modules that an adapter may have", async () => {
  const { open, ...served } = await serveModel("small", "models/office", 1);
  expect(served).toEqual({
    ...{ name: "small", folder: resolve("models/office"), architecture: "qwen3", vocabularySize: 896, maxLength: 1024 },
    endTokens: [895, 890],
    modules: {
      attention: ["q_proj", "k_proj", "v_proj", "o_proj"],
      mlp: ["gate_proj", "up_proj", "down_proj"],
    },
    maxRank: 192,
  });
  const { engine } = await open({ rank: 2, alpha: 32, targets: ["q_proj"], seed: 3 });
  expect(engine.info).toMatchObject({ name: "small", vocabularySize: 896, maxLength: 1024 });
  await engine.dispose();
});
