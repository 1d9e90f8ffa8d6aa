import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { invoke } from "./command-line.ts";
import { writeTinyModel } from "./tiny-model.ts";

const root = mkdtempSync(join(tmpdir(), "retrograde-nan-"));
const model = join(root, "model");
const broken = "model.layers.1.mlp.down_proj.weight";
const config = join(root, "retrograde.config.mjs");
const data = join(root, "demonstrations.jsonl");

beforeAll(async () => {
  await writeTinyModel(model);
  const path = join(model, "model.safetensors");
  const bytes = readFileSync(path);
  const header = Number(bytes.readBigUInt64LE(0));
  const { data_offsets: place } = JSON.parse(bytes.toString("utf8", 8, 8 + header))[broken];
  bytes.writeFloatLE(Number.NaN, 8 + header + place[0] + 4 * 7);
  writeFileSync(path, bytes);
  writeFileSync(
    config,
    `export default {
      environment: {
        name: "one", size: () => 8, task: (split, index) => ({ id: String(index) }),
        start: () => ({ messages: [{ role: "user", content: "ab" }], tools: [], reply: () => ({ done: true }), score: () => ({ reward: 0 }) }),
      },
      model: ${JSON.stringify(model)},
      engine: { kind: "local", threads: 1 },
      rollout: { tasksPerStep: 2, groupSize: 2, maxTokens: 4 },
      evaluation: { tasks: 0 },
      steps: 1,
    };`,
  );
  const messages = [
    { role: "user", content: "ab" },
    { role: "assistant", content: "ba" },
  ];
  writeFileSync(data, JSON.stringify({ messages }));
});

test.each([
  ["eval", ["--tasks", "2", "--out", join(root, "eval")]],
  ["train", ["--no-dashboard", "--out", join(root, "train")]],
  ["sft", ["--data", data, "--no-dashboard", "--out", join(root, "sft")]],
  ["doctor", []],
])("%s of a model with a NaN among its weights names the weights, and fails", async (command, flags) => {
  const { exitCode, out, error } = await invoke(command, "--config", config, ...flags);
  expect(exitCode).toBe(1);
  expect((out + error).replace(/\s+/g, " ")).toContain(`The weights ${broken} have values that are not finite`);
});
