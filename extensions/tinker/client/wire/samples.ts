import type { Message } from "protobufjs";
import { ShapeError } from "../../../../src/core/errors.ts";
import type { SampledSequence, SampleResult, TargetLogprobs, TopLogprobs } from "../data.ts";
import { float32Bytes, int32Bytes, int64Bytes, readFloat32, readInt32 } from "./arrays.ts";
import { dtypes, messageType } from "./protocol.ts";

const response = messageType("SampleResponse");
const stopReasons = ["stop", "length"] as const;
/** Where a row has fewer than k candidates, the wire pads it with token 0 and this log-prob. */
const absentLogprob = -99_999;

/** The result of sampling, for a server. */
export function encodeSamples({ sequences, promptLogprobs, topPromptLogprobs, targetPromptLogprobs }: SampleResult): Uint8Array {
  const message = {
    sequences: sequences.map(({ tokens, logprobs, stopReason, topLogprobs }) => ({
      stopReason: stopReasons.indexOf(stopReason),
      tokens: int32Bytes(tokens),
      logprobs: float32Bytes(logprobs),
      ...(topLogprobs === undefined ? {} : { topkSampledLogprobs: encodeTop(topLogprobs) }),
    })),
    ...(promptLogprobs === undefined ? {} : { promptLogprobs: float32Bytes(promptLogprobs) }),
    ...(topPromptLogprobs === undefined ? {} : { topkPromptLogprobs: encodeTop(topPromptLogprobs) }),
    ...(targetPromptLogprobs === undefined ? {} : { targetPromptLogprobs: encodeTargets(targetPromptLogprobs) }),
  };
  return response.encode(message).finish();
}

/** @throws ShapeError for fields whose lengths do not fit each other */
export function decodeSamples(bytes: Uint8Array): SampleResult {
  const message = response.decode(bytes) as Message & RawResponse;
  return {
    sequences: message.sequences.map(decodeSequence),
    ...(message.promptLogprobs == null ? {} : { promptLogprobs: readFloat32(message.promptLogprobs) }),
    ...(message.topkPromptLogprobs == null ? {} : { topPromptLogprobs: decodeTop(message.topkPromptLogprobs) }),
  };
}

function decodeSequence({ stopReason, tokens, logprobs, topkSampledLogprobs }: RawSequence): SampledSequence {
  const reason = stopReasons[stopReason];
  if (reason === undefined) throw new ShapeError("stop_reason", stopReason, { expected: "0 (stop) or 1 (length)" });
  return {
    tokens: readInt32(tokens),
    logprobs: logprobs == null ? [] : readFloat32(logprobs),
    stopReason: reason,
    ...(topkSampledLogprobs == null ? {} : { topLogprobs: decodeTop(topkSampledLogprobs) }),
  };
}

function encodeTop(rows: readonly TopLogprobs[]): object {
  const k = Math.max(1, ...rows.map(({ tokens }) => tokens.length));
  const padded = (values: readonly number[], filler: number) => [...values, ...Array<number>(k - values.length).fill(filler)];
  return {
    tokenIds: int32Bytes(rows.flatMap(({ tokens }) => padded(tokens, 0))),
    logprobs: float32Bytes(rows.flatMap(({ logprobs }) => padded(logprobs, absentLogprob))),
    k,
    length: rows.length,
  };
}

function encodeTargets({ shape, values, rowStarts, columns }: TargetLogprobs): object {
  const bytes = float32Bytes(values);
  const isSparse = rowStarts != null && columns != null;
  const cells = isSparse
    ? { sparseCsr: { values: bytes, crowIndices: int64Bytes(rowStarts), colIndices: int64Bytes(columns) } }
    : { dense: bytes };
  return { ...cells, dtype: dtypes.float32, shape };
}

function decodeTop({ tokenIds, logprobs, k, length }: RawTop): TopLogprobs[] {
  const [ids, values] = [readInt32(tokenIds), readFloat32(logprobs)];
  if (ids.length !== k * length || values.length !== k * length)
    throw new ShapeError("top log-probs", [ids.length, values.length], { expected: `${length} rows of ${k}` });
  return Array.from({ length }, (_, row) => {
    const own = values.slice(row * k, (row + 1) * k);
    const isThere = (_: number, i: number) => Number(own[i]) > absentLogprob;
    return { tokens: ids.slice(row * k, (row + 1) * k).filter(isThere), logprobs: own.filter(isThere) };
  });
}

interface RawTop {
  readonly tokenIds: Uint8Array;
  readonly logprobs: Uint8Array;
  readonly k: number;
  readonly length: number;
}
interface RawSequence {
  readonly stopReason: number;
  readonly tokens: Uint8Array;
  readonly logprobs: Uint8Array | null;
  readonly topkSampledLogprobs: RawTop | null;
}
interface RawResponse {
  readonly sequences: readonly RawSequence[];
  readonly promptLogprobs: Uint8Array | null;
  readonly topkPromptLogprobs: RawTop | null;
}
