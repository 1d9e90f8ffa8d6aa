import { isGpu, type Provider } from "../machine/device.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { evenSize, type PackedBatch } from "./packing.ts";
import { numbersIn, type Shapes } from "./parameter-store.ts";

/** Bytes of one matrix of logits: as many scored tokens meet the head at a time. A backward pass holds three of them: logits, probabilities, and the gradient. */
const logitBytes = 64 * 2 ** 20;
/** Bytes of the activations of the tokens that pass through a part of a layer at a time. */
const pieceBytes = 96 * 2 ** 20;
/** Bytes of one block's scores. */
const scoreBytes = 24 * 2 ** 20;

/** Longer rows than this are computed layer by layer: as fast from about 2,048 tokens on, in a fraction of the memory (research/notes/performance.md). */
export const longestWholeRow = 1024;
/** The bytes that a pass over a micro-batch may hold at once where nothing is planned (memory-plan.ts); where it would be more, layers compute their activations again. */
export const passBytes = 2 * 2 ** 30;

/** Logits of a batch that one graph may hold: 256 scored tokens of 262,144 words. */
export const wholeLogitBytes = 256 * 2 ** 20;

/** Up to what size a pass is made as one graph over the whole model, and how much is passed over at a time. */
export interface PassLimits {
  /** Tokens of a micro-batch, padding included. */
  readonly batchTokens: number;
  /** Tokens of the longest row. */
  readonly row: number;
  /** Bytes of one matrix of logits. */
  readonly logits: number;
  /** Share of the tokens that are planned to be scored. */
  readonly scored: number;
}

/** Share of the tokens that are scored, being an action's, where that is not known yet. */
export const scoredShare = 0.25;

/** On the processor larger micro-batches are no faster, and need more memory. */
const cpuLimits: PassLimits = { batchTokens: 1536, row: longestWholeRow, logits: wholeLogitBytes, scored: scoredShare };
/**
 * Layer by layer, activations cross to a GPU and back with each layer. So batches are large, and whole where the memory suffices, with all of their tokens
 * scored. A matrix of logits is less than 2 GiB, the most that some drivers bind.
 */
const gpuLimits: PassLimits = { batchTokens: 8192, row: 8192, logits: 2 ** 31 - 1, scored: 1 };

export function passLimits(provider: Provider = "cpu"): PassLimits {
  return isGpu(provider) ? gpuLimits : cpuLimits;
}

/** Returns how many scored tokens meet the head at a time. */
export function logitTokens({ vocabSize }: ModelConfig): number {
  return Math.max(1, Math.floor(logitBytes / (4 * vocabSize)));
}

/** Returns how many tokens pass through a part of a layer at a time. */
export function pieceTokens(config: ModelConfig): number {
  return evenSize(Math.max(1, Math.floor(pieceBytes / (4 * activationsOfToken(config, 0)))));
}

/** Queries of a block: its scores fill `scoreBytes`, but products of fewer rows than a matrix kernel wants are slow. */
export function blockQueries({ heads }: ModelConfig, length: number): number {
  return Math.min(256, Math.max(32, 8 * Math.floor(scoreBytes / (4 * 8 * heads * length))));
}

/** Numbers that a layer's backward half needs of each token of a row: residuals and norms; queries, keys and values; gate, up and what follows; attention. */
export function activationsOfToken(
  { hiddenSize, intermediateSize, heads, kvHeads, headDim }: ModelConfig,
  length: number,
): number {
  return 6 * hiddenSize + 3 * (heads + 2 * kvHeads) * headDim + 5 * intermediateSize + heads * length;
}

/** Bytes that are kept of each token through a pass layer by layer: the input of every layer, and what attention made of it. */
export function keptBytesOfToken({ layers, hiddenSize, heads, headDim }: ModelConfig): number {
  return 4 * layers * (hiddenSize + heads * headDim);
}

/** Bytes that one layer needs of each token beside that: queries, keys and values, and gradients of all that passes between its parts. */
function layerBytesOfToken({ hiddenSize, heads, kvHeads, headDim }: ModelConfig): number {
  return 4 * (4 * hiddenSize + (3 * heads + 4 * kvHeads) * headDim);
}

/** The memory of a pass layer by layer depends on these. */
export interface PassSize {
  readonly tokens: number;
  /** Tokens of the longest row, of which several sequences may be parts. */
  readonly row: number;
  /** Tokens of the longest sequence. */
  readonly longest: number;
  readonly scored: number;
  /** Whether an adapter is trained: its products are held beside those of the matrices. */
  readonly lora: boolean;
}

/** Where regions of memory are this large or larger, the C library gives them back to the system; smaller ones stay with the process. */
const returnedBytes = 32 * 2 ** 20;

/**
 * Bytes of a pass layer by layer, from what its parts hold (recompute.ts, layer-graphs.ts): `held` at its peak, `left` once its sessions are
 * closed. Each session keeps what its largest run took, and all of a half are open at once; the head gives back what it took.
 */
export function layeredBytes(config: ModelConfig, size: PassSize): { readonly held: number; readonly left: number } {
  const { hiddenSize: d, layers, kvHeads, headDim, vocabSize, window } = config;
  const { tokens } = size;
  const [q, kv] = [config.heads * headDim, kvHeads * headDim];
  const read = Math.min(tokens, size.scored);
  const queries = Math.min(tokens, blockQueries(config, size.row));
  // A block's queries may belong to two sequences.
  const longest = Math.min(size.row, size.longest + queries);
  const scored = Math.min(size.scored, logitTokens(config));
  const kept = layers * d * tokens + ((layers - 1) * tokens + read) * q;
  const masks = (window === undefined ? 1 : 3) * tokens * queries + queries * longest;
  const arrays = kept + (layerBytesOfToken(config) / 4) * tokens + masks + 4 * longest * kv + 3 * read * d + 2 * scored * d;
  const { forward, backward } = sessionNumbers(config, { ...size, longest }, { read, queries });
  const all = (parts: readonly number[]) => parts.reduce((sum, part) => sum + part, 0);
  const head = 3 * scored * vocabSize;
  // Projections have many small values each, so that their sessions' regions are small.
  const left = [...forward.projections, ...backward.projections, head].map((part) => Math.min(4 * part, returnedBytes));
  const halves = [forward, backward].map(({ projections, others }) => all(projections) + all(others));
  const behindHead = halves[1] + Math.min(head, returnedBytes / 4);
  return { held: 4 * (arrays + halves[0] + Math.max(head, behindHead)), left: all(left) };
}

interface Half {
  /** The sessions of all layers but the last, and those of the last, where queries are the tokens that are read. */
  readonly projections: readonly number[];
  /** Output and MLP; attention. */
  readonly others: readonly number[];
}

/** Numbers that each session of a pass holds at its peak. */
function sessionNumbers(
  config: ModelConfig,
  { tokens, longest, lora }: PassSize,
  { read, queries }: { readonly read: number; readonly queries: number },
): { readonly forward: Half; readonly backward: Half } {
  const { hiddenSize: d, intermediateSize: i, heads, kvHeads, headDim } = config;
  const [q, kv] = [heads * headDim, kvHeads * headDim];
  const pieceOf = (count: number) => count / Math.max(1, Math.ceil(count / pieceTokens(config)));
  const [piece, readPiece] = [pieceOf(tokens), pieceOf(read)];
  // A product, its bias, heads apart, rotated, token by token again; backward also their gradients. Adapters have a product more.
  const projected = (width: number) => ({
    forward: d + (lora ? 6 : 5) * width,
    backward: 3 * d + (lora ? 7 : 6) * width,
  });
  const [whole, ofQueries, others] = [projected(q + 2 * kv), projected(q), projected(2 * kv)];
  // Matrices with the same input are joined, and weighed by the norm before them.
  const joined = d > 512 ? { projections: 0, mlp: 0 } : { projections: 2 * (q + 2 * kv) * d, mlp: 4 * i * d };
  const adapters = lora ? 2 * i + d : 0;
  const scores = heads * queries * longest;
  return {
    forward: {
      projections: [
        piece * whole.forward + joined.projections,
        readPiece * ofQueries.forward,
        piece * others.forward + joined.projections,
      ],
      // Gate, up and their product; residuals and norms are as wide as the model. Scores and probabilities.
      others: [piece * (3 * i + 3 * d + adapters) + joined.mlp, 2 * scores + queries * q + 2 * longest * kv],
    },
    backward: {
      projections: [
        piece * whole.backward + 2 * joined.projections,
        readPiece * ofQueries.backward,
        piece * others.backward + 2 * joined.projections,
      ],
      // Also their gradients. Probabilities and two gradients, one of which is half copied.
      others: [piece * (6 * i + 5 * d + 2 * q + adapters) + 2 * joined.mlp, 3.5 * scores + 2 * queries * q + 4 * longest * kv],
    },
  };
}

/** Sizes of a batch: B rows of T tokens, P of which are read, and the scored tokens. */
export type BatchSize = Pick<PackedBatch, "rows" | "length" | "queryCount"> & { readonly targets: { readonly length: number } };

/**
 * About what a session over the whole model holds at its peak, in bytes. Its backward half needs every layer's activations, and gives
 * the gradients of all `trained` parameters at once: inside and as a copy.
 */
export function wholeGraphBytes(config: ModelConfig, batch: BatchSize, trained: Shapes): number {
  const { rows, length, queryCount, targets } = batch;
  const ofLayers = rows * ((config.layers - 1) * length + queryCount) * activationsOfToken(config, length);
  const ofLogits = 4 * targets.length * config.vocabSize;
  const gradients = numbersIn(trained);
  return 4 * (ofLayers + ofLogits + 2 * gradients);
}

/** Tokens of rows of a length that a session over the whole model takes within a number of bytes, those of gradients apart. */
export function wholeGraphTokens(config: ModelConfig, length: number, bytes: number, scored = scoredShare): number {
  return Math.floor(bytes / (4 * (config.layers * activationsOfToken(config, length) + scored * 4 * config.vocabSize)));
}

/** Whether a batch is computed layer by layer: because its rows are long, or because all activations at once would fill the memory. */
export function isLayered(
  config: ModelConfig,
  batch: BatchSize,
  trained: Shapes,
  most = passBytes,
  limits: PassLimits = cpuLimits,
): boolean {
  return (
    batch.length > limits.row || logitBytesOf(config, batch) > limits.logits || wholeGraphBytes(config, batch, trained) > most
  );
}

/** Bytes of one matrix of all logits of a batch, of which a whole graph holds about four; layer by layer they come in pieces. */
export function logitBytesOf({ vocabSize }: ModelConfig, { targets }: BatchSize): number {
  return 4 * targets.length * vocabSize;
}
