import { mkdtempSync, readdirSync, readFileSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { defineEnvironment } from "../../src/environments/define.ts";
import { modelFolder, openModel, samplingUse } from "../../src/sdk/model.ts";
import { wholeConfig } from "../../src/sdk/run-environment.ts";
import { train } from "../../src/sdk/train.ts";
import { invoke } from "../../test/command-line.ts";
import { writeTinyModel } from "../../test/tiny-model.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-checkpoint-"));
const at = (name: string) => join(folder, name);
await writeTinyModel(at("start"));
const prompts = ["a", "b", "c", "s", "u", "t"].map((prompt) => ({ prompt }));
const start = () => ({ tools: [], reward: ({ answer }: { answer: string }) => (answer.codePointAt(0) ?? 0) % 2 });
const environment = defineEnvironment({ name: "letters", tasks: { train: prompts, test: prompts }, start });

/** The files of a model, by name. */
const filesOf = (model: string) =>
  Object.fromEntries(
    readdirSync(model, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name), "base64")]),
  );

/** Trains until a step, which ends the run where more were asked for. */
async function trained(name: string, steps: number, until: number, lora?: { readonly rank: number }): Promise<string> {
  const stop = new AbortController();
  let made = 0;
  const onEvent = ({ type }: { readonly type: string }) => {
    if (type === "stepped" && ++made === until && until < steps) stop.abort();
  };
  const run = train(
    {
      ...{ environment, model: at("start"), steps, out: at(name), algorithm: "grpo" },
      engine: { threads: 1, lora },
      rollout: { tasksPerStep: 4, groupSize: 8, maxTokens: 2 },
      optimizer: { learningRate: 1e-3, schedule: "constant", warmupSteps: 0 },
      evaluation: { tasks: 0 },
      checkpoint: { every: 1, keep: 3 },
    },
    { onEvent, signal: stop.signal },
  );
  await (until < steps ? expect(run).rejects.toThrow("interrupted") : run);
  return at(name);
}

test.each([
  ["all weights", undefined],
  ["an adapter", { rank: 2 }],
])("the model of a stopped run's checkpoint is that of a run which ends there: %s", async (name, lora) => {
  const stopped = await trained(`stopped ${name}`, 4, 2, lora);
  const [newest, first] = [at(`newest ${name}`), at(`first ${name}`)];
  const written = await invoke("runs", "model", stopped, "--out", newest);
  expect(written).toEqual({ exitCode: 0, error: "", out: `Wrote the model after step 2 to ${newest}\n` });
  expect((await invoke("runs", "model", stopped, "--out", first, "--step", "1")).exitCode).toBe(0);
  expect(filesOf(newest)).toEqual(filesOf(join(await trained(`ended ${name}`, 2, 2, lora), "model")));
  expect(filesOf(first)).not.toEqual(filesOf(newest));

  // It opens as any other model does.
  const config = { ...wholeConfig(stopped), model: newest };
  const { engine } = await openModel(await modelFolder(config), config.engine, { use: samplingUse(config), seed: 1 });
  await engine.dispose();

  expect((await invoke("runs", "model", stopped, "--out", newest)).error).toContain("expected a path where nothing is yet");
  expect((await invoke("runs", "model", stopped, "--out", at("none"), "--step", "9")).error).toContain(
    "expected a step with weights: 0, 1, 2",
  );
  expect((await invoke("runs", "model", stopped, "--out", at("none"), "--step", "last")).error).toContain(
    "a whole number from 1 on",
  );
  const state = join(stopped, "checkpoints/step-000002");
  const [file = ""] = readdirSync(join(state, "engine"), { recursive: true, encoding: "utf8" }).filter((each) =>
    each.endsWith(".safetensors"),
  );
  truncateSync(join(state, "engine", file), 100);
  expect((await invoke("runs", "model", stopped, "--out", at("none"))).error).toMatch(/step-000002 is "damaged .* steps 1, 2/);
});
