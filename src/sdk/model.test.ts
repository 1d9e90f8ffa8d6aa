import "../../test/office.ts";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { ConfigError } from "../core/errors.ts";
import { writeChecksums } from "../runs/checksums.ts";
import { newRun } from "../runs/store.fixture.ts";
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

test("a file that an engine reads is one of this machine, or one of a repository on the Hub", () => {
  const found = (model: string) => {
    const { form, ...rest } = findModel(model) as { readonly form?: object };
    return { ...rest, isForm: form !== undefined };
  };
  expect(found("owner/name:model.gguf")).toEqual({
    hub: { repo: "owner/name", revision: undefined },
    file: "model.gguf",
    isForm: true,
  });
  expect(found("owner/name@v1:dir/model.gguf")).toEqual({
    hub: { repo: "owner/name", revision: "v1" },
    file: "dir/model.gguf",
    isForm: true,
  });
  expect(found("nowhere.gguf")).toEqual({ file: "nowhere.gguf", isForm: true });
  expect(found("a/b/c:x.gguf")).toEqual({ file: "a/b/c:x.gguf", isForm: true });
  const here = join(mkdtempSync(join(tmpdir(), "retrograde-file-")), "owner:x.gguf");
  writeFileSync(here, "");
  expect(found(here)).toEqual({ file: here, isForm: true });
});

test("a name that is nothing lists all that there could be; a run without a model says how it gets one", () => {
  expect(() => findModel("./no/where")).toThrow(
    new RegExp(
      '^model is "\\./no/where"; expected a folder with config\\.json, model\\.safetensors and tokenizer\\.json, a run\'s folder, .*' +
        'a name on the Hugging Face Hub, "default", "bundled:NAME", or a published model: smollm2, .*llama-3\\.2-1b\\. ' +
        "There is no folder \\./no/where, and a name on the Hub is owner/name or owner/name@revision\\.$",
    ),
  );
  const run = newRun();
  expect(() => findModel(run)).toThrow(
    new RegExp(
      `This run has not finished, so it has no model yet\\. Continue it: .* train --resume --out ${run}, ` +
        `or take a checkpoint's: .* runs model ${run} --out FOLDER\\.$`,
    ),
  );
  mkdirSync(join(run, "model"));
  writeFileSync(join(run, "model/config.json"), "{}");
  expect(findModel(run)).toEqual({ folder: join(run, "model") });
});

test("a model that is not as its run wrote it is named", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-damaged-"));
  writeFileSync(join(folder, "config.json"), "{}");
  writeChecksums(folder);
  expect(await modelFolder(folder)).toBe(folder);
  writeFileSync(join(folder, "config.json"), "[]");
  await expect(modelFolder(folder)).rejects.toThrow(
    `${folder} is "damaged (config.json has another checksum than when it was written)"; expected a model as its run wrote it. ` +
      "Copy it again from its source. If you changed it yourself, delete its checksums.json.",
  );
});

test("an environment of one's own has no bundled model, and the hint names one to teach", () => {
  expect(() => models.findModel(choice("default", "my-own"))).toThrow(
    'model is "default"; expected a model for the environment "my-own": a folder, a run\'s folder or a name on the Hugging Face Hub. ' +
      "The bundled models know only their own worlds (office). Name a model that was trained to call tools, such as " +
      '"qwen3-0.6b", or teach a bundled one your task by demonstrations: retrograde-rl sft --model bundled:office.',
  );
});

test("what is shorter than is worth training on takes the memory of that, what is longer its own", () => {
  const length = (maxTokens: number) => trainingUse(resolveConfig({ rollout: { maxTokens } })).length;
  expect([length(100), length(512), length(513)]).toEqual([512, 512, 513]);
});
