import type { FloatValue, Session } from "../graph/session.ts";
import type { ModelConfig } from "../model/model-config.ts";
import type { AttentionBlock } from "./blocks.ts";
import { upstreamOf } from "./layer-graphs.ts";
import type { ScratchArrays } from "./scratch.ts";
import { gradientOf } from "./training-graph.ts";

/** Queries [R, H, size], and keys and values [N, Hk, size], token by token; or their gradients. */
export interface QueriesKeysValues {
  readonly q: Float32Array;
  readonly k: Float32Array;
  readonly v: Float32Array;
}

/** Attention of one layer, block by block. @param open the session of a direction */
export function attentionPass(
  { heads, kvHeads, headDim }: ModelConfig,
  arrays: ScratchArrays,
  open: (backward: boolean) => Promise<{ readonly session: Session }>,
) {
  const width = kvHeads * headDim;

  const queriesOf = (array: Float32Array, { start, end }: AttentionBlock): FloatValue => {
    const size = heads * headDim;
    return { data: array.subarray(start * size, end * size), shape: [1, end - start, heads, headDim] };
  };

  /** A copy only where other tokens are in between. */
  const keysOf = (use: "block k" | "block v", array: Float32Array, { keys }: AttentionBlock): FloatValue => {
    const shape = [1, keys.length, kvHeads, headDim];
    const [first, last] = [keys[0], keys[keys.length - 1]];
    if (last - first === keys.length - 1) return { data: array.subarray(first * width, (last + 1) * width), shape };
    const data = arrays.get(use, keys.length * width);
    forEachRun(keys, (from, to, at) => data.set(array.subarray(from * width, to * width), at * width));
    return { data, shape };
  };

  /** [Q, S] */
  const maskOf = ({ start, end, keys, common: { from, to }, mask }: AttentionBlock): Float32Array => {
    const [queries, size, masked] = [end - start, keys.length, keys.length - (to - from)];
    const whole = arrays.get("mask", queries * size).fill(0);
    for (let line = 0; line < queries; line++) {
      whole.set(mask.subarray(line * masked, line * masked + from), line * size);
      whole.set(mask.subarray(line * masked + from, (line + 1) * masked), line * size + to);
    }
    return whole;
  };

  const feedsOf = (block: AttentionBlock, { q, k, v }: QueriesKeysValues): Record<string, FloatValue> => ({
    q: queriesOf(q, block),
    k: keysOf("block k", k, block),
    v: keysOf("block v", v, block),
    mask: { data: maskOf(block), shape: [1, 1, block.end - block.start, block.keys.length] },
  });

  return {
    /** @param o [R, H, size]: where the results go */
    async forward(blocks: readonly AttentionBlock[], given: QueriesKeysValues, o: Float32Array): Promise<void> {
      const { session } = await open(false);
      for (const block of largestFirst(blocks)) await session.runInto(feedsOf(block, given), { o: queriesOf(o, block) });
    },

    /**
     * @param o what `forward` made
     * @param ofO its gradient
     * @param of where the gradients go
     */
    async backward(
      blocks: readonly AttentionBlock[],
      given: QueriesKeysValues,
      o: Float32Array,
      ofO: Float32Array,
      of: QueriesKeysValues,
    ): Promise<void> {
      const { session } = await open(true);
      of.k.fill(0);
      of.v.fill(0);
      for (const block of largestFirst(blocks)) {
        const feeds = { ...feedsOf(block, given), o: queriesOf(o, block), [upstreamOf("o")]: queriesOf(ofO, block) };
        const shape = [1, block.keys.length, kvHeads, headDim];
        const [dk, dv] = (["block dk", "block dv"] as const).map((use) => arrays.get(use, block.keys.length * width));
        await session.runInto(feeds, {
          [gradientOf("q")]: queriesOf(of.q, block),
          [gradientOf("k")]: { data: dk, shape },
          [gradientOf("v")]: { data: dv, shape },
        });
        scatterAdd(of.k, block.keys, dk, width);
        scatterAdd(of.v, block.keys, dv, width);
      }
    },
  };
}

/** ONNX Runtime's memory then grows once, and smaller blocks fit into what larger ones took. */
function largestFirst(blocks: readonly AttentionBlock[]): AttentionBlock[] {
  return blocks.toSorted((a, b) => b.keys.length * (b.end - b.start) - a.keys.length * (a.end - a.start));
}

/** Calls back for each run of consecutive keys: from one up to, not including, another, and where the run starts among the keys. */
function forEachRun(keys: Int32Array, visit: (from: number, to: number, at: number) => void): void {
  for (let at = 0; at < keys.length; ) {
    let next = at + 1;
    while (next < keys.length && keys[next] === keys[next - 1] + 1) next++;
    visit(keys[at], keys[next - 1] + 1, at);
    at = next;
  }
}

function scatterAdd(into: Float32Array, keys: Int32Array, added: Float32Array, width: number): void {
  forEachRun(keys, (from, to, at) => {
    const shift = (at - from) * width;
    for (let i = from * width; i < to * width; i++) into[i] += added[i + shift];
  });
}
