import "../../test/office.ts";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { ConfigError } from "../core/errors.ts";
import { resolveConfig } from "../training/config/config.ts";
import { choice, modelFolder, oneThread, source, use } from "./model.fixture.ts";
import * as models from "./model.ts";
import { openModel, samplingUse, trainingUse } from "./model.ts";

const findModel = (model: string) => models.findModel(choice(model));

test("a folder is taken before a name on the Hub, and needs no network", async () => {
  expect(findModel(source)).toEqual({ folder: source });
  expect(await modelFolder(source)).toBe(source);
  expect(findModel("models/office")).toEqual({ folder: "models/office" }); // of this repository, where the tests run
  expect(findModel("tiny/letters")).toEqual({ hub: { repo: "tiny/letters", revision: undefined } });
  expect(findModel("tiny/letters@v1")).toEqual({ hub: { repo: "tiny/letters", revision: "v1" } });
});

test("the default model is the one of the environment; an own environment has none, and the error says what to do", () => {
  const folderFor = (name: string) => models.findModel(choice("default", name));
  expect(folderFor("office")).toEqual({ folder: join(import.meta.dirname, "../../models/office") });
  expect(() => folderFor("my-own")).toThrow(ConfigError);
  expect(() => folderFor("my-own")).toThrow(
    /model is "default"; expected a model for the environment "my-own".*retrograde-rl sft --model bundled:office/,
  );
  expect(models.findModel(choice("bundled:office", "my-own"))).toEqual(folderFor("office"));
  expect(() => models.findModel(choice("bundled:shop"))).toThrow('expected "bundled:office"');
  expect(findModel(source)).toEqual(models.findModel(choice(source, "calculator")));
});

test("an engine elsewhere needs the tokenizer alone, one here the weights too", () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-tokenizer-"));
  writeFileSync(join(folder, "tokenizer.json"), "{}");
  const engine = resolveConfig({ engine: { kind: "tinker", url: "http://127.0.0.1:1", model: "tiny" } }).engine;
  expect(models.findModel({ ...choice(folder), engine })).toEqual({ folder });
  expect(() => models.findModel({ ...choice(folder), engine: resolveConfig({}).engine })).toThrow("it has no config.json");
  const empty = mkdtempSync(join(tmpdir(), "retrograde-empty-"));
  expect(() => models.findModel({ ...choice(empty), engine })).toThrow("it has no tokenizer.json");
});

test.each(["nowhere", "./no/where", "a/b/c", "a/b@"])("%s is neither a folder nor a name, and the error says both", (model) => {
  expect(() => findModel(model)).toThrow(ConfigError);
  expect(() => findModel(model)).toThrow(/There is no folder .*, and a name on the Hub is owner\/name or owner\/name@revision/);
});

test("a published model has a name; a folder of that name is taken first, and a wrong name lists those that there are", () => {
  expect(findModel("smollm2")).toMatchObject({ published: { file: "SmolLM2-135M-Instruct.Q4_1.gguf" } });
  expect(findModel("qwen3-0.6b")).toEqual({ hub: { repo: "Qwen/Qwen3-0.6B", revision: undefined } });
  expect(() => findModel("smolm2")).toThrow(/or a published model: smollm2, .*Did you mean "smollm2"\?/);
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  process.chdir(mkdtempSync(join(tmpdir(), "retrograde-here-")));
  mkdirSync("smollm2");
  writeFileSync("smollm2/config.json", "{}");
  expect(findModel("smollm2")).toEqual({ folder: "smollm2" });
});

test("a folder that is there and has no model is never looked for on the Hub", () => {
  const here = mkdtempSync(join(tmpdir(), "retrograde-here-"));
  mkdirSync(join(here, "tiny/letters"), { recursive: true });
  expect(() => findModel(join(here, "tiny/letters"))).toThrow("The folder is there, but it has no config.json.");
});

test("without a network a name that is nowhere says so at once", async () => {
  await expect(modelFolder("tiny/letters")).rejects.toThrow(/tiny\/letters.*not available.*Connect to the network/);
});

test("a model that does not fit the memory is refused before it is loaded", async () => {
  vi.stubEnv("RETROGRADE_MEMORY", "0.1");
  await expect(openModel(source, oneThread, { use: { ...use, training: true } })).rejects.toThrow(
    /memory for training .* is "0.10 GiB"; expected about .* GiB/,
  );
});

test("a run's memory follows from its settings", () => {
  const plain = trainingUse(resolveConfig());
  const neither = { trajectories: 128, reference: false, critic: false };
  expect(plain).toEqual({ training: true, length: 512, concurrency: 64, ahead: 0, ...neither });
  const changed = resolveConfig({ rollout: { concurrency: 8, maxTokens: 1000 } });
  expect(trainingUse(changed)).toEqual({ training: true, length: 1000, concurrency: 8, ahead: 0, ...neither });
  expect(samplingUse(changed)).toEqual({ training: false, length: 1000, concurrency: 8, ahead: 0, ...neither });
  expect(trainingUse(resolveConfig({ algorithm: { kind: "ppo", klCoef: 0.1 } }))).toMatchObject({
    reference: true,
    critic: true,
  });
});
