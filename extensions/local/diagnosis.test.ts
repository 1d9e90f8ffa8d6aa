import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { writeTinyModel } from "../../test/tiny-model.ts";
import { checkRuntime, checkSystem, diagnoseLocal, type Machine } from "./diagnosis.ts";
import { LocalEngine } from "./engine.ts";
import { gibibytes } from "./memory.ts";
import { publishedSizes } from "./published-sizes.ts";
import { type LocalSettings, localSettings } from "./settings.ts";

const root = mkdtempSync(join(tmpdir(), "diagnosis-"));
afterAll(() => rmSync(root, { recursive: true }));
const tiny = join(root, "tiny");
await writeTinyModel(tiny);

const gib = 2 ** 30;
const card = { name: "NVIDIA L4", driver: "580.1", totalBytes: 24 * gib, freeBytes: 20 * gib };
/** A machine that has what the tests say. What is asked of it is noted. */
function diagnosed(settings: Partial<LocalSettings>, changes: Partial<Machine> = {}) {
  const asked: unknown[] = [];
  const note = (...values: readonly unknown[]) => asked.push(values);
  const missing = (what: string) => () => Promise.reject(new Error(`no ${what}`));
  const machine: Machine = {
    ...{ cores: () => 4, processor: () => " A processor ", totalMemory: () => 8 * gib, availableMemory: () => 4 * gib },
    ...{ openRuntime: missing("runtime"), nvidiaCard: () => card, isHardware: async () => true },
    measurePeak: async (options) => {
      note("peak", options);
      return 100;
    },
    chooseProvider: async (device, threads, model) => {
      note("choose", device, threads, ...(model === undefined ? [] : [{ ...model, config: model.config.architecture }]));
      return { provider: device === "auto" ? "webgpu" : device, description: `${device}, chosen` };
    },
    createLocalEngine: missing("engine"),
    measureSpeed: missing("speed"),
    ...changes,
  };
  return { asked, ...diagnoseLocal({ ...localSettings.parse({}), ...settings }, machine) };
}
type Diagnosed = ReturnType<typeof diagnosed>;
const check = async ({ machine }: Diagnosed, name: string) => machine.find((each) => each.name === name)?.check();

test("systems are those that ONNX Runtime has libraries for, and the tests run on one of them", () => {
  expect(checkSystem("linux", "x64")).toEqual({ state: "good", text: "linux x64" });
  for (const [platform, arch] of [
    ["linux", "arm64"],
    ["darwin", "arm64"],
    ["win32", "x64"],
    ["win32", "arm64"],
  ] as const)
    expect(checkSystem(platform, arch)).toEqual({
      state: "doubtful",
      text: `${platform} ${arch}`,
      advice: "This package is tested on linux x64 alone. Please report what does not work here.",
    });
  expect(checkSystem("darwin", "x64")).toEqual({
    state: "bad",
    text: "darwin x64",
    advice:
      "ONNX Runtime has no library for it, so nothing is computed here. There is one for linux x64, linux arm64, darwin arm64, win32 x64, win32 arm64.",
  });
  expect(checkSystem().text).toBe(`${process.platform} ${process.arch}`);
});

test("where the C API cannot be called, that is said, with what it costs", async () => {
  const library = { version: "1.30.0" } as Awaited<ReturnType<Machine["openRuntime"]>>["library"];
  expect(await checkRuntime(async () => ({ library }))).toEqual({
    state: "good",
    text: "1.30.0, by its C API",
    values: { version: "1.30.0", native: true },
  });
  const missing = () => Promise.reject(new Error("Cannot find package 'koffi'"));
  expect(await checkRuntime(missing)).toEqual({
    state: "doubtful",
    text: "by its binding for Node: the processor alone computes, and nothing else runs meanwhile (Cannot find package 'koffi')",
    values: { native: false },
  });
  expect((await checkRuntime()).state).toBe("good");
});

test("the machine's checks have an order, and a device that was asked for is required", () => {
  const names = ({ machine }: Diagnosed) => machine.map(({ name, required }) => (required ? `${name}!` : name));
  const always = ["system", "processor", "memory", "ONNX Runtime", "matrix products"];
  expect(names(diagnosed({ device: "cpu" }))).toEqual(always);
  expect(diagnosed({ device: "cpu" }).speed).toBeUndefined();
  expect(names(diagnosed({ device: "auto" }))).toEqual([...always, "device!"]);
  expect(diagnosed({ device: "auto" }).speed).toBeDefined();
});

test("more threads than cores are doubtful, as many are not", async () => {
  const processor = (threads: number, changes: Partial<Machine> = {}) => check(diagnosed({ threads }, changes), "processor");
  expect(await processor(4)).toEqual({ state: "good", text: "A processor, 4 cores; 4 threads are used" });
  expect(await processor(5, { processor: () => undefined })).toEqual({
    state: "doubtful",
    text: "unknown, 4 cores; 5 threads are used",
    advice: "More threads than cores slow each other down: --threads 4.",
  });
});

test("memory is said in GiB and in bytes, and the system and the runtime are checked too", async () => {
  const all = diagnosed({});
  expect(await check(all, "memory")).toEqual({
    state: "good",
    text: "8.0 GiB, 4.0 GiB of it available",
    values: { totalBytes: 8 * gib, availableBytes: 4 * gib },
  });
  expect(await check(all, "system")).toEqual(checkSystem());
  expect((await check(all, "ONNX Runtime"))?.text).toContain("(no runtime)");
});

test("matrix products below 10 GFLOP/s of a thread are slow", async () => {
  const products = (gflops: number) => check(diagnosed({ threads: 3 }, { measurePeak: async () => gflops }), "matrix products");
  expect(await products(30.4)).toEqual({
    state: "good",
    text: "ONNX Runtime on the CPU: 30 GFLOP/s with 3 threads",
    values: { provider: "cpu", threads: 3, gflops: 30 },
  });
  expect(await products(29.6)).toEqual({
    state: "doubtful",
    text: "ONNX Runtime on the CPU: 30 GFLOP/s with 3 threads",
    values: { provider: "cpu", threads: 3, gflops: 30 },
    advice: "That is slow: is the machine busy, or Node emulated (x64 on ARM)?",
  });
  const all = diagnosed({ threads: 3 });
  await check(all, "matrix products");
  expect(all.asked).toEqual([["peak", { threads: 3 }]]);
});

test("the device is the one that would be chosen, with the card of CUDA", async () => {
  const device = (name: LocalSettings["device"], changes: Partial<Machine> = {}) =>
    check(diagnosed({ device: name, threads: 3 }, changes), "device");
  expect(await device("auto")).toEqual({
    state: "good",
    text: "auto, chosen",
    values: { device: "auto", provider: "webgpu" },
  });
  expect(await device("cuda")).toEqual({
    state: "good",
    text: "cuda, chosen: NVIDIA L4, 20.0 GiB of 24.0 GiB free, driver 580.1",
    values: { device: "cuda", provider: "cuda", card },
  });
  expect(await device("cuda", { nvidiaCard: () => undefined })).toEqual({
    state: "good",
    text: "cuda, chosen",
    values: { device: "cuda", provider: "cuda" },
  });
  const all = diagnosed({ device: "webgpu", threads: 3 });
  await check(all, "device");
  expect(all.asked).toEqual([["choose", "webgpu", 3]]);
});

test("a model is trained and sampled on the device, and closed also where that fails", async () => {
  const opened: unknown[] = [];
  let disposed = 0;
  const createLocalEngine: Machine["createLocalEngine"] = async (options) => {
    opened.push(options);
    return Object.assign(Object.create(LocalEngine.prototype), { dispose: async () => disposed++ });
  };
  const measureSpeed = async () => ({ training: 1234, sampling: 567 });
  const lora = { rank: 4, alpha: 8, targets: "all-linear", base: "float32" } as const;
  const settings = { precision: "tf32", threads: 3, lora, maxLength: 64 } as const;
  const auto = diagnosed({ device: "auto", ...settings }, { createLocalEngine, measureSpeed });
  const speed = "trains 1,234 and samples 567 tokens/s";
  expect(await auto.speed?.(tiny)).toEqual({
    state: "good",
    text: `webgpu ${speed}; auto, chosen`,
    values: { provider: "webgpu", training: 1234, sampling: 567 },
  });
  const adapter = { ...lora, seed: 0 };
  const { device: _, ...rest } = { device: 0, ...settings, lora: adapter };
  expect(opened).toEqual([{ model: tiny, provider: "webgpu", ...rest }]);
  const { threads: __, maxLength: ___, ...model } = rest;
  expect(auto.asked).toEqual([["choose", "auto", 3, { config: "qwen3", training: true, ...model }]]);
  expect(disposed).toBe(1);

  const named = diagnosed({ device: "webgpu" }, { createLocalEngine, measureSpeed });
  expect((await named.speed?.(tiny))?.text).toBe(`webgpu ${speed}`);
  const broken = diagnosed({ device: "webgpu" }, { createLocalEngine });
  await expect(broken.speed?.(tiny)).rejects.toThrow("no speed");
  expect(disposed).toBe(3);
});

test("a GPU's driver in software is not measured, the processor is", async () => {
  const software = { isHardware: async () => false };
  expect(await diagnosed({ device: "auto" }, software).speed?.(tiny)).toEqual({
    state: "doubtful",
    text: "not measured: this driver of webgpu computes in software, slower than the processor",
  });
  const chooseProvider: Machine["chooseProvider"] = async () => ({ provider: "cpu", description: "cpu" });
  await expect(diagnosed({ device: "auto" }, { ...software, chooseProvider }).speed?.(tiny)).rejects.toThrow("no engine");
});

test("a model is described by its sizes, and one of another tokenizer refused", async () => {
  // 7 tokens of 32 numbers. A layer: 2·32 of norms, 2·16 of heads' norms, 32·(32 + 2·16) + 32·32 of attention, 3·32·64 of the MLP.
  const parameters = 7 * 32 + 2 * (2 * 32 + 2 * 16 + 32 * 64 + 32 * 32 + 3 * 32 * 64) + 32;
  expect(await diagnosed({}).describe(tiny)).toEqual({
    state: "good",
    text: `${tiny}: qwen3, 0.0 M parameters, vocabulary 7 (tokenizer 7), up to 256 tokens`,
    values: { folder: tiny, architecture: "qwen3", parameters, vocabSize: 7, tokenizerSize: 7, maxLength: 256 },
  });
});

/** A folder with the `config.json` of a published model, which may go so far. */
function folderOf(name: keyof typeof publishedSizes, length = 8192): string {
  const folder = join(root, `${name}-${length}`);
  mkdirSync(folder, { recursive: true });
  const config = { ...publishedSizes[name], max_position_embeddings: length };
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  return folder;
}
const use = { length: 100, concurrency: 4, trajectories: 4 };
const [sampling, training] = [
  { ...use, training: false },
  { ...use, training: true },
];

interface Estimates {
  readonly estimates: readonly { readonly length: number }[];
}

test("memory is estimated at 512 tokens, and at 2048 where the model goes so far", async () => {
  const lengths = async (most: number) => {
    const { text, values } = await diagnosed({}).memory(folderOf("smollm2", most), sampling, training);
    const said = [...text.matchAll(/at ([\d,]+) tokens/g)].map(([, count]) => count);
    return [(values as unknown as Estimates).estimates.map(({ length }) => length), said];
  };
  expect(await lengths(8192)).toEqual([
    [512, 2048],
    ["512", "2,048"],
  ]);
  expect(await lengths(2048)).toEqual([
    [512, 2048],
    ["512", "2,048"],
  ]);
  expect(await lengths(2047)).toEqual([[512], ["512"]]);
  expect(await lengths(256)).toEqual([[256], ["256"]]);
});

test("a model that fits is good with the largest of its family; one that does not has advice", async () => {
  const folder = folderOf("smollm2");
  const of = async (available: number) => diagnosed({}, { availableMemory: () => available }).memory(folder, sampling, training);
  const { estimates, largest } = (await of(32 * gib)).values as unknown as {
    readonly estimates: readonly Record<"sampling" | "training", readonly { readonly bytes: number }[]>[];
    readonly largest: { readonly bytes: number };
  };
  const total = (parts: readonly { readonly bytes: number }[] = []) => parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const said = (i: number) =>
    `${gibibytes(total(estimates[i]?.sampling))} to sample, ${gibibytes(total(estimates[i]?.training))} to train at`;
  const needed = total(estimates[0]?.training);
  expect(await of(32 * gib)).toEqual({
    state: "good",
    text: `about ${said(0)} 512 tokens; ${said(1)} 2,048 tokens; the largest of its family of which an adapter fits: smollm2-1.7b, lora.base float32, ${gibibytes(largest.bytes)}`,
    values: { concurrency: 4, estimates, largest: { name: "smollm2-1.7b", base: "float32", bytes: largest.bytes } },
  });
  expect((await of(needed)).state).toBe("good");
  expect(await of(needed - 1)).toMatchObject({
    state: "doubtful",
    advice: `${gibibytes(needed - 1)} are available. An adapter of it would fit: lora.rank 32.`,
  });
  expect((await of(0.1 * gib)).text).toBe(`about ${said(0)} 512 tokens; ${said(1)} 2,048 tokens`);
});

test("an adapter and another precision of samples are counted as the settings say", async () => {
  const folder = folderOf("smollm2");
  const bytes = async (settings: Partial<LocalSettings>, kind: "sampling" | "training") => {
    const { values } = await diagnosed(settings).memory(folder, sampling, training);
    const { estimates } = values as unknown as { readonly estimates: readonly Record<string, readonly { bytes: number }[]>[] };
    return (estimates[0]?.[kind] ?? []).reduce((sum, { bytes }) => sum + bytes, 0);
  };
  const lora = { rank: 4, alpha: 8, targets: "all-linear", base: "float32" } as const;
  expect(await bytes({ lora }, "training")).toBeLessThan(await bytes({}, "training"));
  expect(await bytes({ sampling: { weights: "int8" } }, "sampling")).not.toBe(await bytes({}, "sampling"));
});
