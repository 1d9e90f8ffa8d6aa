import type { Datum, ForwardBackwardResult } from "./data.ts";

/** How large one request of a pass may be. */
export interface ChunkLimits {
  /** Data a request. */
  readonly data: number;
  /** Estimated bytes a request. */
  readonly bytes: number;
}

/** Cuts the data of a pass into requests, in order. A datum that is larger than the limit travels alone. */
export function chunksOf(data: readonly Datum[], limits: ChunkLimits): Datum[][] {
  const chunks: Datum[][] = [];
  let [chunk, bytes]: [Datum[], number] = [[], 0];
  for (const datum of data) {
    const size = bytesOf(datum);
    if (chunk.length > 0 && (chunk.length === limits.data || bytes + size > limits.bytes)) {
      chunks.push(chunk);
      [chunk, bytes] = [[], 0];
    }
    chunk.push(datum);
    bytes += size;
  }
  return [...chunks, chunk];
}

/** Ids of the input are int32, targets int64, all else float32. */
function bytesOf({ tokens, targets, inputs = {} }: Datum): number {
  return (
    64 + 4 * tokens.length + 8 * targets.length + Object.values(inputs).reduce((sum, values) => sum + 32 + 4 * values.length, 0)
  );
}

/** Results of the requests of one pass, as one. A metric's name ends in its reduction. */
export function combine(results: readonly ForwardBackwardResult[]): ForwardBackwardResult {
  const [first, ...others] = results;
  if (first !== undefined && others.length === 0) return first;
  const rowsOf = (name: string) => results.flatMap((result) => result.fields[name] ?? []);
  const names = new Set(results.flatMap(({ fields }) => Object.keys(fields)));
  const fields = { logprobs: rowsOf("logprobs"), ...Object.fromEntries([...names].map((name) => [name, rowsOf(name)])) };
  const metricNames = new Set(results.flatMap(({ metrics }) => Object.keys(metrics)));
  const metrics = Object.fromEntries(
    [...metricNames].map((name) => {
      const parts = results.flatMap(({ metrics, fields }) =>
        metrics[name] === undefined ? [] : [{ value: metrics[name], data: fields.logprobs.length }],
      );
      return [name, reduce(name, parts)];
    }),
  );
  return { fields, metrics };
}

/** Means are weighted by the number of data. A metric without a known reduction is summed. */
function reduce(name: string, parts: readonly { readonly value: number; readonly data: number }[]): number {
  const values = parts.map(({ value }) => value);
  const reduction = name.slice(name.lastIndexOf(":") + 1);
  if (reduction === "max") return Math.max(...values);
  if (reduction === "min") return Math.min(...values);
  if (reduction === "mean") {
    const total = parts.reduce((sum, { data }) => sum + data, 0);
    return parts.reduce((sum, { value, data }) => sum + value * data, 0) / total;
  }
  return values.reduce((sum, value) => sum + value, 0);
}
