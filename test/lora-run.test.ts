import "../extensions/install.ts";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLocalEngine } from "../extensions/local/engine.ts";
import { loadModel, saveModel } from "../extensions/local/model/model-folder.ts";
import { ConfigError, RunError } from "../src/core/errors.ts";
import { layout } from "../src/runs/layout.ts";
import { readMetrics } from "../src/runs/read.ts";
import { createRun } from "../src/runs/write.ts";
import { planRun, runPlan } from "../src/sdk/train.ts";
import { resolveConfig } from "../src/training/config/config.ts";
import type { UserConfig } from "../src/training/config/user-config.ts";
import { invoke } from "./command-line.ts";
import { lettersEnvironment } from "./letters.ts";
import { writeTinyModel } from "./tiny-model.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-lora-run-"));
const model = join(folder, "model");
const configuration = (out: string): UserConfig => ({
  environment: lettersEnvironment(),
  model,
  engine: { threads: 1, lora: { rank: 4, alpha: 8, targets: ["q_proj", "v_proj", "down_proj"] } },
  algorithm: { kind: "seeupo", klCoef: 0.01 }, // so that the reference is asked too
  rollout: { tasksPerStep: 4, groupSize: 4, maxTokens: 6 },
  optimizer: { learningRate: 1e-2 },
  evaluation: { tasks: 4, k: 1 },
  checkpoint: { every: 2, keep: 2 },
  steps: 5,
  seed: 3,
  out,
});

test("a run of an adapter that is broken off and resumed ends as if it had not been, and leaves the adapter alone", async () => {
  await writeTinyModel(model);
  const [straight, broken] = [join(folder, "straight"), join(folder, "broken")];
  await runPlan(await planRun(configuration(straight)));

  const controller = new AbortController();
  const plan = await planRun(configuration(broken));
  const untilThird = runPlan(plan, {
    signal: controller.signal,
    onEvent: (event) => {
      if (event.type === "stepped" && event.record.step === 3) controller.abort();
    },
  });
  await expect(untilThird).rejects.toThrow(RunError);
  await runPlan(await planRun(configuration(broken), { resume: true }));

  const contents = (run: string) => ({
    metrics: readFileSync(layout.metrics(run), "utf8"),
    adapter: readFileSync(join(layout.model(run), "adapter", "adapter_model.safetensors")),
  });
  expect(contents(broken)).toEqual(contents(straight));

  // Nothing of the base is written again. Merged, embeddings and untargeted matrices are the base's.
  expect(
    readdirSync(layout.model(straight), { recursive: true }).filter((name) => String(name).endsWith(".safetensors")),
  ).toEqual([join("adapter", "adapter_model.safetensors")]);
  const [{ parameters: base }, { parameters: trained }] = [await loadModel(model), await loadModel(layout.model(straight))];
  const changed = [...base].filter(([name, { data }]) => String(trained.get(name)?.data) !== String(data)).map(([name]) => name);
  expect(new Set(changed.map((name) => name.split(".").at(-2)))).toEqual(new Set(["q_proj", "v_proj", "down_proj"]));
  // The sampler's folded weights are the trainer's two products, within float32.
  for (const { metrics } of readMetrics(straight)) expect(metrics.samplerGapMax).toBeLessThan(1e-4);
  const lora = {
    rank: 4,
    alpha: 8,
    targets: ["q_proj", "v_proj", "down_proj"],
    seed: 1,
    from: join(layout.model(straight), "adapter"),
  };
  const sample = { trajectory: "a", turn: 0, context: [1, 2, 3], action: [4, 5, 6] };
  const logprobs = async (options: Parameters<typeof createLocalEngine>[0]) => {
    const engine = await createLocalEngine(options);
    const [row] = await engine.logprobs([sample], { temperature: 1 });
    await engine.dispose();
    return row;
  };
  const merged = await logprobs({ model: layout.model(straight), threads: 1 });
  for (const [i, logprob] of (await logprobs({ model, threads: 1, lora })).entries()) expect(logprob).toBeCloseTo(merged[i], 5);
});

test("an adapter's run is exported merged, in the base's own type, and says where a base is missing", async () => {
  const [base, out, run] = ["base", "merged", "half"].map((name) => join(folder, name));
  await writeTinyModel(base);
  await saveModel(base, await loadModel(base), { dtype: "bfloat16" });
  await runPlan(await planRun({ ...configuration(run), model: base, steps: 1, evaluation: { tasks: 0 } }));
  expect((await invoke("export", run, "--to", "hf", "--out", out)).error).toBe("");
  const stopped = join(folder, "stopped");
  createRun(stopped, resolveConfig(configuration(stopped)));
  expect((await invoke("export", stopped, "--to", "peft", "--out", join(folder, "adapter"))).error).toContain("has not finished");
  expect(JSON.parse(readFileSync(join(out, "config.json"), "utf8"))).toMatchObject({ torch_dtype: "bfloat16" });
  const [{ parameters: merged }, { parameters: written }] = [await loadModel(layout.model(run)), await loadModel(out)];
  for (const [name, { data }] of written)
    for (const [i, x] of data.entries()) expect(Math.abs(x - (merged.get(name)?.data[i] ?? Number.NaN))).toBeLessThan(0.01);
  // A base may be an adapter's folder itself, but not one that is made of it.
  writeFileSync(join(layout.model(run), "base.json"), JSON.stringify({ model: layout.model(run), precision: "float32" }));
  await expect(loadModel(layout.model(run))).rejects.toThrow("expected a model that is not made of this one");
  writeFileSync(join(layout.model(run), "base.json"), JSON.stringify({ model: base, precision: "float32" }));
  rmSync(base, { recursive: true });
  await expect(loadModel(layout.model(run))).rejects.toThrow(/the base of .* expected the model that the adapter was trained on/);
});

test("targets that the model lacks end the run before it has a folder", async () => {
  await writeTinyModel(model);
  const out = join(folder, "refused");
  const plan = await planRun({ ...configuration(out), engine: { lora: { targets: ["c_attn"] } } });
  await expect(runPlan(plan)).rejects.toThrow(ConfigError);
  await expect(runPlan(plan)).rejects.toThrow(/lora.targets is "c_attn"; expected "all-linear", "q_proj"/);
  expect(existsSync(out)).toBe(false);
});
