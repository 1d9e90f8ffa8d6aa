import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";
import { checkVocabulary } from "../../src/chat/tokenizer.ts";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import { reasonOf } from "../../src/core/errors.ts";
import type { EngineDiagnosis, EngineUse, Finding } from "../../src/engines/registry.ts";
import { count } from "../../src/terminal/format.ts";
import { chooseProvider, type Device } from "./device-choice.ts";
import { createLocalEngine } from "./engine.ts";
import { cardText } from "./gpu-plan.ts";
import { isGpu } from "./machine/device.ts";
import { nvidiaCard } from "./machine/gpu-memory.ts";
import { availableMemory } from "./machine/memory-available.ts";
import type { Native } from "./machine/native/session.ts";
import { nativeRuntime } from "./machine/native.ts";
import { estimateMemory, gibibytes, memoryAdvice, parameterText, totalBytes } from "./memory.ts";
import { parameterCount } from "./model/model-config.ts";
import { readModelConfig } from "./model/model-folder.ts";
import { memoryUse } from "./open.ts";
import { isHardware, measurePeak } from "./peak.ts";
import { largestOfFamily } from "./published-sizes.ts";
import type { LocalSettings } from "./settings.ts";
import { measureSpeed, speedText } from "./speed.ts";

/** The parts of a machine that are looked at, and the measurements of it. */
const thisMachine = {
  ...{
    cores: availableParallelism,
    processor: (): string | undefined => cpus()[0]?.model,
    totalMemory: totalmem,
    availableMemory,
  },
  ...{ openRuntime: nativeRuntime, measurePeak, chooseProvider, nvidiaCard, isHardware, createLocalEngine, measureSpeed },
};
export type Machine = typeof thisMachine;

/** As `EngineKind.diagnose`. */
export function diagnoseLocal(settings: LocalSettings, machine: Machine = thisMachine): EngineDiagnosis {
  const { device, threads } = settings;
  return {
    machine: [
      { name: "system", check: () => checkSystem() },
      { name: "processor", check: () => checkProcessor(threads, machine) },
      { name: "memory", check: () => checkMemory(machine) },
      { name: "ONNX Runtime", check: () => checkRuntime(machine.openRuntime) },
      { name: "matrix products", check: () => checkProducts(threads, machine) },
      ...(device === "cpu"
        ? []
        : [{ name: "device", check: () => checkDevice(device, threads, machine), required: true } as const]),
    ],
    describe: describeModel,
    memory: (folder, sampling, training) => checkMemoryNeeded(folder, settings, { sampling, training }, machine),
    ...(device === "cpu" ? {} : { speed: (folder) => checkSpeed(folder, settings, machine) }),
  };
}

/** The systems that ONNX Runtime's package has libraries for, and whether the tests of this package run there. */
const systems: Readonly<Record<string, "tested" | "untested">> = {
  "linux x64": "tested",
  "linux arm64": "untested",
  "darwin arm64": "untested",
  "win32 x64": "untested",
  "win32 arm64": "untested",
};

/** Says whether the local engine can run on a system. */
export function checkSystem(platform: string = process.platform, arch: string = process.arch): Finding {
  const text = `${platform} ${arch}`;
  const known = systems[text];
  if (known === "tested") return { state: "good", text };
  if (known === "untested")
    return {
      state: "doubtful",
      text,
      advice: "This package is tested on linux x64 alone. Please report what does not work here.",
    };
  return {
    state: "bad",
    text,
    advice: `ONNX Runtime has no library for it, so nothing is computed here. There is one for ${Object.keys(systems).join(", ")}.`,
  };
}

function checkProcessor(threads: number, machine: Machine): Finding {
  const cores = machine.cores();
  const text = `${machine.processor()?.trim() ?? "unknown"}, ${count(cores)} cores; ${count(threads)} threads are used`;
  if (threads > cores)
    return { state: "doubtful", text, advice: `More threads than cores slow each other down: --threads ${cores}.` };
  return { state: "good", text };
}

function checkMemory(machine: Machine): Finding {
  const [total, available] = [machine.totalMemory(), machine.availableMemory()];
  return {
    state: "good",
    text: `${gibibytes(total)}, ${gibibytes(available)} of it available`,
    values: { totalBytes: total, availableBytes: available },
  };
}

/** A core with AVX2 makes some 50 GFLOP/s; below this something slows it down. */
const slowGflops = 10;

async function checkProducts(threads: number, { measurePeak }: Machine): Promise<Finding> {
  const gflops = await measurePeak({ threads });
  const text = `ONNX Runtime on the CPU: ${count(gflops)} GFLOP/s with ${count(threads)} threads`;
  const values = { provider: "cpu", threads, gflops: Math.round(gflops) };
  if (gflops < slowGflops * threads)
    return { state: "doubtful", text, values, advice: "That is slow: is the machine busy, or Node emulated (x64 on ARM)?" };
  return { state: "good", text, values };
}

/** Says how ONNX Runtime is called: GPUs need its C API, and the processor is the same without. */
export async function checkRuntime(open: () => Promise<Pick<Native, "library">> = nativeRuntime): Promise<Finding> {
  try {
    const { version } = (await open()).library;
    return { state: "good", text: `${version}, by its C API`, values: { version, native: true } };
  } catch (error) {
    return {
      state: "doubtful",
      text: `by its binding for Node: the processor alone computes, and nothing else runs meanwhile (${reasonOf(error)})`,
      values: { native: false },
    };
  }
}

/** Reports what a run with this setting would compute on. */
async function checkDevice(device: Device, threads: number, { chooseProvider, nvidiaCard }: Machine): Promise<Finding> {
  const { provider, description } = await chooseProvider(device, threads);
  const card = provider === "cuda" ? nvidiaCard() : undefined;
  const text = card === undefined ? description : `${description}: ${cardText(card)}, driver ${card.driver}`;
  return { state: "good", text, values: { device, provider, ...(card && { card }) } };
}

/** Trains and samples the model for some seconds. */
async function checkSpeed(
  folder: string,
  { device, precision, threads, lora, maxLength }: LocalSettings,
  { chooseProvider, isHardware, createLocalEngine, measureSpeed }: Machine,
): Promise<Finding> {
  const config = await readModelConfig(join(folder, "config.json"));
  const adapter = lora && { ...lora, seed: 0 };
  const { provider, description } = await chooseProvider(device, threads, { config, training: true, precision, lora: adapter });
  if (isGpu(provider) && !(await isHardware({ threads, provider })))
    return {
      state: "doubtful",
      text: `not measured: this driver of ${provider} computes in software, slower than the processor`,
    };
  const engine = await createLocalEngine({ model: folder, threads, provider, precision, lora: adapter, maxLength });
  try {
    const speed = await measureSpeed(engine);
    return {
      state: "good",
      text: `${provider} ${speedText(speed)}${device === "auto" ? `; ${description}` : ""}`,
      values: { provider, ...speed },
    };
  } finally {
    await engine.dispose();
  }
}

async function describeModel(folder: string): Promise<Finding> {
  const config = await readModelConfig(join(folder, "config.json"));
  const { architecture, vocabSize, maxPositionEmbeddings } = config;
  const parameters = parameterCount(config);
  const tokenizer = loadTokenizer(folder);
  checkVocabulary(tokenizer, vocabSize, folder);
  return {
    state: "good",
    text:
      `${folder}: ${architecture}, ${parameterText(parameters)} parameters, vocabulary ${count(vocabSize)} ` +
      `(tokenizer ${count(tokenizer.size)}), up to ${count(maxPositionEmbeddings)} tokens`,
    values: { folder, architecture, parameters, vocabSize, tokenizerSize: tokenizer.size, maxLength: maxPositionEmbeddings },
  };
}

/** Tokens of the sequences that memory is estimated for, the longer where the model goes so far. */
const [short, long] = [512, 2048];

/** Sampling and training with the settings given, by the longest sequence. */
async function checkMemoryNeeded(
  folder: string,
  settings: LocalSettings,
  { sampling, training }: { readonly sampling: EngineUse; readonly training: EngineUse },
  machine: Machine,
): Promise<Finding> {
  const [sampled, trained] = [memoryUse(settings, sampling), memoryUse(settings, training)];
  const model = await readModelConfig(join(folder, "config.json"));
  const available = machine.availableMemory();
  const lengths = model.maxPositionEmbeddings < long ? [Math.min(short, model.maxPositionEmbeddings)] : [short, long];
  const uses = lengths.map((length) => ({
    length,
    sampling: estimateMemory(model, { ...sampled, length }),
    training: estimateMemory(model, { ...trained, length }),
  }));
  const text = uses
    .map(
      ({ length, sampling, training }) =>
        `${gibibytes(totalBytes(sampling))} to sample, ${gibibytes(totalBytes(training))} to train at ${count(length)} tokens`,
    )
    .join("; ");
  const least = { ...trained, length: short };
  const fits = totalBytes(estimateMemory(model, least)) <= available;
  const largest = largestOfFamily(model, least, available);
  const family =
    largest === undefined
      ? ""
      : `; the largest of its family of which an adapter fits: ${largest.name}, lora.base ${largest.base}, ${gibibytes(largest.bytes)}`;
  return {
    state: fits ? "good" : "doubtful",
    text: `about ${text}${family}`,
    ...(fits ? {} : { advice: `${gibibytes(available)} are available. ${memoryAdvice(model, least, available)}` }),
    values: { concurrency: training.concurrency, estimates: uses, largest },
  };
}
