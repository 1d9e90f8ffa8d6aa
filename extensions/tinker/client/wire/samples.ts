import type { Message } from "protobufjs";
import { ShapeError } from "../../../../src/core/errors.ts";
import type { SampledSequence, SampleResult, TopLogprobs } from "../data.ts";
import { readFloat32, readInt32 } from "./arrays.ts";
import { messageType } from "./protocol.ts";

const response = messageType("SampleResponse");
export const stopReasons = ["stop", "length"] as const;
/** Where a row has fewer than k candidates, the wire pads it with token 0 and this log-prob. */
export const absentLogprob = -99_999;

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
