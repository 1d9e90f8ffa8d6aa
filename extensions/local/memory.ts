import { EngineError } from "../../src/core/errors.ts";
import type { EngineUse } from "../../src/engines/registry.ts";
import { int4Block } from "./graph/products.ts";
import { count } from "./machine/native/tensor.ts";
import { adapterShapes, type LoraSettings, linearModules, resolveLora } from "./model/lora.ts";
import { type ModelConfig, parameterCount, parameterShapes } from "./model/model-config.ts";
import type { LoraOptions } from "./options.ts";
import { cacheBytesOfToken, capacityFor } from "./sampling/entries.ts";
import { defaultCacheBytes } from "./sampling/prefix-cache.ts";
import { areInputs, type SamplerWeights } from "./sampling/sampling-graph.ts";
import { prefillCacheBytes, prefillChunk } from "./sampling/step-inputs.ts";
import { microBatchTokens, rowTokens, shortRow } from "./training/learner.ts";
import {
  type BatchSize,
  layeredBytes,
  logitBytesOf,
  longestWholeRow,
  passBytes,
  scoredShare,
  wholeGraphBytes,
  wholeLogitBytes,
} from "./training/pass-sizes.ts";
import { restBytes } from "./training/passes.ts";

/** The properties of a run that its memory depends on. */
export interface MemoryUse extends Pick<EngineUse, "training" | "concurrency" | "ahead" | "reference" | "critic"> {
  /** Tokens of the longest sequence, context and action together. */
  readonly length: number;
  /** Trajectories of an update. Default: as many as fill a micro-batch. */
  readonly trajectories?: number;
  /** An adapter is trained instead of the model. */
  readonly lora?: LoraSettings & Pick<LoraOptions, "base">;
  /** The precision that the sampler computes with. Default that of an adapter's base, or "float32". */
  readonly weights?: SamplerWeights;
  /** For keys and values of rollouts that wait for their next turn. Default 512 MiB. */
  readonly cacheBytes?: number;
  /** Whether the sampler's weights are inputs, which are not held again. Default: from 512 MiB on. */
  readonly weightsAsInputs?: boolean;
  /** The bytes that a pass may hold at once. Default 2 GiB. */
  readonly passBytes?: number;
  /** The bytes that a pass may hold whose session stays open while actions are sampled. Default 320 MiB. */
  readonly restBytes?: number;
}

export interface MemoryPart {
  readonly name: string;
  readonly bytes: number;
}

/** All parameters, gradients, moments and activations are float32. */
const bytesPerNumber = 4;
/** Node, ONNX Runtime and this package, before there is a model. */
const processBytes = 130e6;
/**
 * Copies of a small model's weights in its sampler: ONNX Runtime's own and the packed ones; while its session is made also the file and what is
 * alive in between. An adapter is merged into them, in a copy more.
 */
const samplerCopies = { held: 2.6, made: 1.7, adapter: 1 };
/** The C library keeps some of a closed session's weights, as many as four copies of a small model. */
const [leftCopies, maxLeft] = [4, 80e6];
const leftBehind = (weights: number) => Math.min(leftCopies * weights, maxLeft);
/** Slots for actions that are sampled side by side, as in engine.ts. */
const maxSlots = 128;
/** [rows, vocabulary] matrices of a sampling step: logits, over the temperature, probabilities, their logarithms, products, results. */
const logitCopies = 7;
/** A pass over a whole graph: the gradient as ONNX Runtime gives it, before it is added up. */
const passCopies = 1;
/** An embedding that is the output's matrix too has two gradients, and their sum; one of them is laid out again. */
const tiedCopies = 3;
/**
 * The most memory that the local engine takes with a model, by part, before anything is loaded. Either actions are sampled or passes are made:
 * the sampler's session is closed meanwhile, and those of passes layer by layer are closed before the next action. So the parts are those of
 * whichever takes more. docs/models.md says how far off their sum was on models that were measured.
 */
export function estimateMemory(config: ModelConfig, use: MemoryUse): MemoryPart[] {
  const weights = weightBytes(config, use);
  const length = Math.min(use.length, config.maxPositionEmbeddings);
  const rows = Math.min(use.concurrency, maxSlots);
  const cache = cacheBytesOfToken(config) * rows * capacityFor(length);
  const inMemory = [
    { name: "Node and ONNX Runtime", bytes: processBytes },
    { name: "parameters", bytes: weights },
  ];
  const sampling = [
    ...samplerParts(config, use, weights),
    { name: "keys and values", bytes: cache + Math.min(cache, use.cacheBytes ?? defaultCacheBytes) },
    { name: "a pass over prompts", bytes: promptBytes(config, rows, length) },
    { name: "probabilities", bytes: logitCopies * bytesPerNumber * rows * config.vocabSize },
  ];
  const left = holdsConstants(use, weights) ? [{ name: "left behind by the sampler's making", bytes: leftBehind(weights) }] : [];
  if (!use.training) return [...inMemory, ...sampling, ...left, ...openingParts(sampling, use, weights)];
  const learnedBytes = learnedBytesOf(config, use);
  const learning = [
    ...inMemory,
    ...left,
    { name: "gradient", bytes: learnedBytes },
    { name: "AdamW's moments", bytes: 2 * learnedBytes },
    ...(use.reference ? [{ name: "reference model", bytes: learnedBytes }] : []),
    // Values, gradient and two moments.
    ...(use.critic ? [{ name: "critic", bytes: 4 * learnedBytes }] : []),
    ...frozenPolicies(use.ahead ?? 0, learnedBytes, sampling),
  ];
  const passes = passesOf(config, { ...use, length }, learnedBytes);
  const passing = [
    {
      name: "gradient in the making",
      bytes: passes.layered ? 2 * largestPart(config, use.lora) : wholeGradient(config, use, learnedBytes),
    },
    { name: "activations", bytes: Math.max(passes.whole, passes.layered?.held ?? 0) },
  ];
  // A small whole graph's session stays open, unless there are passes layer by layer too.
  const open = passes.whole <= (use.restBytes ?? restBytes) && passes.layered === undefined ? passes.whole : 0;
  const resting = [...sampling, { name: "left open by passes", bytes: open + (passes.layered?.left ?? 0) }];
  return [...learning, ...(totalBytes(passing) > totalBytes(resting) ? passing : resting)];
}

/** Bytes of a number of the frozen layers' matrices, where they are held in fewer bits: 4 bits have a float32 scale a block. */
const roundedBytes = { int8: 1, int4: 0.5 + bytesPerNumber / int4Block } as const;

/** The precision that the frozen layers are rounded to; undefined where they are float32. */
export function roundedBase({ training, lora }: MemoryUse): keyof typeof roundedBytes | undefined {
  return training && lora?.base !== "float32" ? lora?.base : undefined;
}

/** Numbers of the matrices in the layers, which alone may be held in fewer bits. */
function layerNumbers(config: ModelConfig): number {
  return linearModules(config).reduce((sum, { outputs, inputs }) => sum + outputs * inputs, 0);
}

export function weightBytes(config: ModelConfig, use: MemoryUse): number {
  const base = roundedBase(use);
  return bytesPerNumber * parameterCount(config) - (base ? (bytesPerNumber - roundedBytes[base]) * layerNumbers(config) : 0);
}

/**
 * Constants are held again by the sampler's session. Matrices in fewer bits are held as ONNX Runtime packs them too, and beside that where no base
 * has them: the output's, and those of the layers that are float32 elsewhere.
 */
function samplerParts(config: ModelConfig, use: MemoryUse, weights: number): MemoryPart[] {
  const name = "the sampler's copies of them";
  const base = roundedBase(use);
  const rounds = use.weights === "int8" || (use.lora?.base ?? "float32") !== "float32";
  if (rounds) {
    const output = config.vocabSize * config.hiddenSize;
    const layers = layerNumbers(config);
    return [{ name, bytes: 2 * output + (base ? roundedBytes[base] * layers : 2 * layers) }];
  }
  const copies = samplerCopies.held + (use.lora ? samplerCopies.adapter : 0);
  return holdsConstants(use, weights) ? [{ name, bytes: copies * weights }] : [];
}

/** Whether the sampler's session holds the weights again. */
function holdsConstants({ weightsAsInputs }: MemoryUse, weights: number): boolean {
  return !areInputs(weights, weightsAsInputs);
}

/** More than sampling itself takes, while the session of a small model is made. In training a pass takes more than that. */
function openingParts(sampling: readonly MemoryPart[], use: MemoryUse, weights: number): MemoryPart[] {
  const inUse = totalBytes(
    sampling.filter(({ name }) => ["keys and values", "a pass over prompts", "probabilities"].includes(name)),
  );
  const more = holdsConstants(use, weights) ? samplerCopies.made * weights - inUse - leftBehind(weights) : 0;
  return more > 0 ? [{ name: "the sampler while it is made", bytes: more }] : [];
}

/** Each with weights, and, where it is sampled, what a sampler takes; one more than are ahead is kept while a step is made. */
function frozenPolicies(ahead: number, learnedBytes: number, sampling: readonly MemoryPart[]): MemoryPart[] {
  if (ahead === 0) return [];
  return [{ name: "frozen policies", bytes: (ahead + 1) * (learnedBytes + totalBytes(sampling)) }];
}

export function totalBytes(parts: readonly MemoryPart[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Bytes of a gradient while a pass over a whole graph makes it. */
function wholeGradient(
  { tieWordEmbeddings, vocabSize, hiddenSize }: ModelConfig,
  { lora }: MemoryUse,
  learnedBytes: number,
): number {
  const tied = tieWordEmbeddings && lora === undefined ? tiedCopies * bytesPerNumber * vocabSize * hiddenSize : 0;
  return passCopies * learnedBytes + tied;
}

function learnedShapes(config: ModelConfig, lora: LoraSettings | undefined): ReadonlyMap<string, readonly number[]> {
  return lora === undefined ? parameterShapes(config) : adapterShapes({ ...config, lora: resolveLora(config, lora) });
}

/** Bytes of the numbers that learn: an adapter's, or all. */
export function learnedBytesOf(config: ModelConfig, { lora }: MemoryUse): number {
  return [...learnedShapes(config, lora).values()].reduce((sum, shape) => sum + bytesPerNumber * count(shape), 0);
}

/** Bytes of what gets gradients in one run of a pass layer by layer: those of a layer, or the embedding. */
function largestPart(config: ModelConfig, lora: LoraSettings | undefined): number {
  const parts = new Map<string, number>();
  for (const [name, shape] of learnedShapes(config, lora)) {
    const part = name.split(".", 3).join("."); // "model.layers.3" of what is in that layer
    parts.set(part, (parts.get(part) ?? 0) + bytesPerNumber * count(shape));
  }
  return Math.max(...parts.values());
}

/** A layer's scores are held three times in a run over prompts. They grow from run to run, which leaves holes of about as much again. */
const scoreCopies = 4;

/**
 * Bytes of a run over prompts: a layer's scores with their mask, its MLP, the copy of two rows' keys and values that it attends to, and those that it
 * makes. A row of more than such a copy may have is attended to in its slot.
 */
function promptBytes(config: ModelConfig, rows: number, length: number): number {
  const { hiddenSize, intermediateSize, heads } = config;
  const tokens = Math.min(rows * length, prefillChunk(heads, 1, length));
  const scores = bytesPerNumber * heads * tokens * length;
  const copied = Math.min(cacheBytesOfToken(config) * Math.min(rows, 2) * length, prefillCacheBytes);
  const mask = (config.window === undefined ? 1 : 2) * bytesPerNumber * tokens * length;
  return (
    scoreCopies * scores +
    mask +
    bytesPerNumber * tokens * (4 * hiddenSize + 3 * intermediateSize) +
    copied +
    cacheBytesOfToken(config) * tokens
  );
}

interface Passes {
  /** Bytes of a pass over a whole graph; 0 if there is none. */
  readonly whole: number;
  /** Bytes of a pass layer by layer. Undefined if there is none. */
  readonly layered: ReturnType<typeof layeredBytes> | undefined;
}

/** Whether passes over the longest sequences hold the whole model at once. */
export function passesWhole(config: ModelConfig, use: MemoryUse): boolean {
  return (
    passesOf(config, { ...use, length: Math.min(use.length, config.maxPositionEmbeddings) }, learnedBytesOf(config, use))
      .layered === undefined
  );
}

/** Bytes of a pass over one micro-batch, as the learner cuts and computes them. Shorter sequences than the longest may be computed in the other form. */
function passesOf(config: ModelConfig, use: MemoryUse, learnedBytes: number): Passes {
  const { length, trajectories = Number.POSITIVE_INFINITY, passBytes: most = passBytes } = use;
  const base = roundedBase(use);
  const gradients = 2 * learnedBytes;
  const wholeBytes = (batch: BatchSize) => wholeGraphBytes(config, batch, new Map());
  const batch = microBatch(config, length, trajectories, { learnedBytes, most });
  const fits = logitBytesOf(config, batch) <= wholeLogitBytes && wholeBytes(batch) + gradients <= most;
  if (base === undefined && batch.length <= longestWholeRow && fits) return { whole: wholeBytes(batch), layered: undefined };
  const short = wholeBytes(microBatch(config, Math.min(length, shortRow), trajectories, { learnedBytes, most }));
  const whole = base ? 0 : Math.min(short, Math.max(0, most - gradients));
  const size = { tokens: batch.rows * batch.length, row: batch.length, longest: length, scored: batch.targets.length };
  const { held, left } = layeredBytes(config, { ...size, lora: use.lora !== undefined });
  // One layer's matrices are float32 at a time.
  const matrices = base ? (bytesPerNumber * layerNumbers(config)) / config.layers : 0;
  return { whole, layered: { held: held + matrices, left } };
}

/** The largest batch of sequences of at most a length. As full as rows and micro-batches can be: sequences of several lengths fill them better than equal ones. */
function microBatch(
  config: ModelConfig,
  length: number,
  trajectories: number,
  { learnedBytes, most }: { readonly learnedBytes: number; readonly most: number },
): BatchSize {
  const all = length * trajectories;
  const rowLength = Math.min(rowTokens(config, length), all);
  const rows = Math.min(Math.max(1, microBatchTokens(config, rowLength, learnedBytes, most) / rowLength), all / rowLength);
  return { rows, length: rowLength, queryCount: rowLength, targets: { length: scoredShare * rows * rowLength } };
}

/**
 * @param available bytes that this process may take
 * @param limit the bytes that the user has set, where that is less than there are
 * @throws EngineError saying by how much it is too little, and what would fit
 */
export function requireMemory(model: string, config: ModelConfig, use: MemoryUse, available: number, limit = Infinity): void {
  const needed = totalBytes(estimateMemory(config, use));
  if (needed <= Math.min(available, limit)) return;
  if (limit < available)
    throw new EngineError("engine.memory", Math.round((100 * limit) / 2 ** 30) / 100, {
      expected: `at least ${gibibytes(needed)} to ${use.training ? "train" : "sample"} ${model}, ${parameterText(parameterCount(config))} parameters`,
      hint: `Set engine.memory to ${(Math.ceil((needed / 2 ** 30) * 10) / 10).toFixed(1)} or more. ${memoryAdvice(config, use, limit)}`,
    });
  throw new EngineError(`memory for ${use.training ? "training" : "sampling"} ${model}`, gibibytes(available), {
    expected: `about ${gibibytes(needed)} for ${parameterText(parameterCount(config))} parameters`,
    hint: `${memoryAdvice(config, use, available)} ${memoryVariable} says how much may be taken, in GiB, if this machine has more than it says.`,
  });
}

/** The variable that states what is free, where the machine's own word is wrong. */
export const memoryVariable = "RETROGRADE_MEMORY";

/** Tokens below which another change is advised than shorter sequences: the office's episodes have as many. */
const shortestAdvised = 512;

const plainAdapter: LoraSettings = { rank: 32, alpha: 32, targets: "all-linear" };

/**
 * Returns what to do where memory is too little: the least change of the settings with which this model fits, or the size of one
 * that does.
 */
export function memoryAdvice(config: ModelConfig, use: MemoryUse, available: number): string {
  const length = longestThatFits(config, use, available);
  const advice = leastChange(config, use, available);
  return length === undefined ? advice : `${advice} As it is, sequences of at most ${length} tokens would fit.`;
}

function leastChange(config: ModelConfig, use: MemoryUse, available: number): string {
  const fits = (change: Partial<MemoryUse>) => totalBytes(estimateMemory(config, { ...use, ...change })) <= available;
  // As it is, it does not fit: neither do more rows, nor the adapter that there is, or one that is not trained.
  const fewer = [32, 16, 8, 4, 2, 1];
  const lower = fewer.find((concurrency) => fits({ concurrency }));
  if (lower !== undefined) return `It would fit with rollout.concurrency ${lower}.`;
  const lora = plainAdapter;
  const concurrency = [use.concurrency, ...fewer].find((each) => fits({ lora, concurrency: each }));
  const also = concurrency === use.concurrency ? "" : ` and rollout.concurrency ${concurrency}`;
  if (concurrency !== undefined) return `An adapter of it would fit: lora.rank ${lora.rank}${also}.`;
  const largest = parameterText(largestThatFits(config, use, available));
  if (use.training && fits({ training: false }))
    return `Sampling it (eval, chat) would fit; to train, take a model of at most ${largest} parameters.`;
  return `Close other programs, or take a model of at most ${largest} parameters.`;
}

/** The longest sequence that fits where a shorter one than asked for does. Lengths below `shortestAdvised` are no use. */
export function longestThatFits(config: ModelConfig, use: MemoryUse, available: number): number | undefined {
  const fits = (length: number) => totalBytes(estimateMemory(config, { ...use, length })) <= available;
  const wanted = Math.min(use.length, config.maxPositionEmbeddings);
  if (wanted <= shortestAdvised || !fits(shortestAdvised)) return undefined;
  let [fitting, tooLong] = [shortestAdvised, wanted];
  while (tooLong - fitting > 64) {
    const middle = 64 * Math.round((fitting + tooLong) / 128);
    if (fits(middle)) fitting = middle;
    else tooLong = middle;
  }
  return fitting;
}

/** Parameters of a model that costs as many bytes each, at the settings that need least. */
function largestThatFits(config: ModelConfig, use: MemoryUse, available: number): number {
  const least = totalBytes(estimateMemory(config, { ...use, concurrency: 1 })) - processBytes;
  return Math.max(0, (available - processBytes) / (least / parameterCount(config)));
}

export function gibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(bytes < 0.95 * 2 ** 30 ? 2 : 1)} GiB`;
}

/** Such as "2.0 M", "494 M" or "70.6 B". */
export function parameterText(parameters: number): string {
  if (parameters >= 999.5e6) return `${(parameters / 1e9).toFixed(parameters < 9.95e9 ? 2 : 1)} B`;
  return `${(parameters / 1e6).toFixed(parameters < 10e6 ? 1 : 0)} M`;
}
