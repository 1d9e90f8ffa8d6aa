import { unseen } from "../graph/operator.ts";
import type { GrowableFloats } from "../machine/growable.ts";
import type { Row } from "./row.ts";
import type { StepInputs } from "./sampling-graph.ts";

/** Tokens of one prefill run, padding included: enough to fill the cores, little enough to keep its attention in the cache. */
export const prefillTokens = 1024;
/** Bytes of keys and values that a prefill run may copy. A row that has more is fed alone, from where they are. */
export const prefillCacheBytes = 128 * 2 ** 20;
/** Bytes of a layer's scores in a prefill run, which holds three such and their mask. */
const prefillScoreBytes = 64 * 2 ** 20;

/**
 * Tokens of each row that a prefill run takes: fewer where their scores would take too much memory.
 * @param longest tokens that a row has cached
 */
export function prefillChunk(heads: number, rows: number, longest: number): number {
  const most = prefillScoreBytes / (4 * heads * rows * (longest + prefillTokens));
  return Math.max(16, Math.min(prefillTokens, Math.floor(most)));
}

/**
 * Inputs of a run over the next tokens of some rows, at most `chunk` each.
 * @param mask its memory
 */
export function stepInputs(
  rows: readonly Pick<Row, "tokens" | "pending" | "choice">[],
  chunk: number,
  cached: number,
  mask: GrowableFloats,
): Omit<StepInputs, "keys" | "values"> {
  const tokens = new Int32Array(rows.length * chunk);
  const positions = new BigInt64Array(rows.length * chunk);
  const width = cached + chunk;
  const seen = mask.first(rows.length * chunk * width).fill(unseen);
  const read: number[] = [];
  const inverseTemperatures: number[] = [];
  rows.forEach((row, r) => {
    const count = Math.min(chunk, row.pending.length);
    for (let c = 0; c < chunk; c++) {
      const line = (r * chunk + c) * width;
      tokens[r * chunk + c] = row.pending[c] ?? 0;
      positions[r * chunk + c] = BigInt(c < count ? row.tokens.length + c : 0);
      seen.fill(0, line, line + row.tokens.length);
      seen.fill(0, line + cached, line + cached + c + 1);
    }
    read.push(r * chunk + count - 1);
    inverseTemperatures.push(1 / (row.choice.temperature || 1));
  });
  return {
    ...{ rows: rows.length, chunk, cached, tokens, positions, mask: seen },
    ...{ read: Int32Array.from(read), inverseTemperatures: Float32Array.from(inverseTemperatures) },
  };
}
