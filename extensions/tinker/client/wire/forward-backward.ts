import type { Message } from "protobufjs";
import { ShapeError } from "../../../../src/core/errors.ts";
import type { Datum, ForwardBackwardCall, ForwardBackwardResult } from "../data.ts";
import { float32Bytes, int32Bytes, int64Bytes, readBfloat16, readFloat32, readInt32, readInt64 } from "./arrays.ts";
import { type Dtype, dtypes, messageType } from "./protocol.ts";

export const request = messageType("ForwardBackwardRequest");
export const output = messageType("ForwardBackwardOutput");

const elementBytes: Readonly<Record<Dtype, number>> = { float32: 4, int64: 8, int32: 4, bfloat16: 2 };
export const readers: Readonly<Record<Dtype, (bytes: Uint8Array) => number[]>> = {
  float32: readFloat32,
  int64: readInt64,
  int32: readInt32,
  bfloat16: readBfloat16,
};

/** A pass over data of one model, as it travels. */
export interface ForwardBackwardRequest extends ForwardBackwardCall {
  readonly modelId: string;
  readonly seqId: number;
}

/** Numbers of the configuration are written into both maps of the protocol, as the official SDK does. */
export function encodeForwardBackward({ modelId, seqId, data, lossFn, config, forwardOnly }: ForwardBackwardRequest): Uint8Array {
  const numbers = Object.entries(config);
  const message = {
    modelId,
    seqId,
    data: data.map(encodeDatum),
    lossFn,
    lossFnConfig: Object.fromEntries(numbers),
    forwardOnly,
    lossFnConfigV2: Object.fromEntries(numbers.map(([name, number]) => [name, { number }])),
  };
  return request.encode(message).finish();
}

/** Rows of all records, in the order of the request. @throws ShapeError for offsets that do not fit the data */
export function decodeForwardBackwardResult(bytes: Uint8Array): ForwardBackwardResult {
  const message = output.decode(bytes) as Message & RawOutput;
  const fields: Record<string, (readonly number[])[]> & { logprobs: (readonly number[])[] } = { logprobs: [] };
  for (const record of message.lossFnOutputs)
    for (const [name, tensor] of Object.entries(record.fields)) (fields[name] ??= []).push(...decodeRows(tensor));
  return { fields, metrics: { ...message.metrics } };
}

function encodeDatum({ tokens, targets, inputs = {} }: Datum): object {
  const dense = (dtype: "float32" | "int64", values: ArrayLike<number>) => ({
    dense: dtype === "float32" ? float32Bytes(values) : int64Bytes(values),
    dtype: dtypes[dtype],
    shape: [values.length],
  });
  return {
    modelInput: [{ encodedText: { tokens: int32Bytes(tokens) } }],
    lossFnInputs: {
      target_tokens: dense("int64", targets),
      ...Object.fromEntries(Object.entries(inputs).map(([name, values]) => [name, dense("float32", values)])),
    },
  };
}

/** Datum i is the bytes from offsets[i] to offsets[i + 1]. */
function decodeRows({ data, offsets, dtype }: RawBatchedTensor): number[][] {
  const type = dtypeOf(dtype);
  const bounds = readInt64(offsets);
  return bounds.slice(1).map((end, i) => {
    const start = Number(bounds[i]);
    if (start < 0 || end < start || end > data.length || (end - start) % elementBytes[type] !== 0) {
      throw new ShapeError("offsets of a batched tensor", bounds, {
        expected: `rising multiples of ${elementBytes[type]}, at most ${data.length}`,
      });
    }
    return start === end ? [] : readers[type](data.subarray(start, end));
  });
}

export function dtypeOf(type: number): Dtype {
  const found = (Object.keys(dtypes) as Dtype[]).find((name) => dtypes[name] === type);
  if (found === undefined) throw new ShapeError("element type of a tensor", type, { expected: Object.values(dtypes) });
  return found;
}

/** Decoded messages: absent numbers and texts are 0 and "", absent messages are null. */
interface RawBatchedTensor {
  readonly data: Uint8Array;
  readonly offsets: Uint8Array;
  readonly dtype: number;
}
interface RawOutput {
  readonly lossFnOutputs: readonly { readonly fields: Readonly<Record<string, RawBatchedTensor>> }[];
  readonly metrics: Readonly<Record<string, number>>;
}
