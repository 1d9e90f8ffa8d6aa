import type { Message } from "protobufjs";
import { ShapeError } from "../../../../src/core/errors.ts";
import type { Datum, ForwardBackwardCall, ForwardBackwardResult } from "../data.ts";
import { float32Bytes, int32Bytes, int64Bytes, readBfloat16, readFloat32, readInt32, readInt64 } from "./arrays.ts";
import { type Dtype, dtypes, messageType } from "./protocol.ts";

const request = messageType("ForwardBackwardRequest");
const output = messageType("ForwardBackwardOutput");

const elementBytes: Readonly<Record<Dtype, number>> = { float32: 4, int64: 8, int32: 4, bfloat16: 2 };
const readers: Readonly<Record<Dtype, (bytes: Uint8Array) => number[]>> = {
  float32: readFloat32,
  int64: readInt64,
  int32: readInt32,
  bfloat16: readBfloat16,
};

/** A pass over data of one model, as it travels. */
export interface ForwardBackwardRequest extends ForwardBackwardCall {
  readonly modelId: string;
  readonly seqId: number;
  /** The client's own loss, for the loss "custom". */
  readonly lossId?: string;
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

/** The body of a request, for a server. @throws ShapeError naming what this project does not compute: images, sparse tensors, texts */
export function decodeForwardBackward(bytes: Uint8Array): ForwardBackwardRequest {
  const message = request.decode(bytes) as Message & RawRequest;
  const config: Record<string, number> = { ...message.lossFnConfig };
  const { loss_id: loss, ...settings } = message.lossFnConfigV2;
  for (const [name, { number, text }] of Object.entries(settings)) {
    if (text !== undefined && text !== null && text !== "")
      throw new ShapeError(`loss_fn_config.${name}`, text, { expected: "a number" });
    config[name] = number ?? 0;
  }
  return {
    modelId: message.modelId,
    seqId: message.seqId,
    data: message.data.map(decodeDatum),
    lossFn: message.lossFn,
    config,
    forwardOnly: message.forwardOnly,
    ...(loss?.text ? { lossId: loss.text } : {}),
  };
}

/** The result of a pass, for a server: one record of arrays, one row a datum. */
export function encodeForwardBackwardResult({ fields, metrics }: ForwardBackwardResult, type: string): Uint8Array {
  const numDatums = Math.max(0, ...Object.values(fields).map((rows) => rows.length));
  const record = {
    typeTag: type,
    fields: Object.fromEntries(Object.entries(fields).map(([name, rows]) => [name, encodeRows(rows)])),
    numDatums,
  };
  return output.encode({ lossFnOutputType: type, lossFnOutputs: [record], metrics }).finish();
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

function decodeDatum({ modelInput, lossFnInputs }: RawDatum): Datum {
  const tokens = modelInput.flatMap((chunk) => {
    if (chunk.encodedText) return readInt32(chunk.encodedText.tokens);
    throw new ShapeError("model_input", chunk.image ? "an image" : "sound", { expected: "encoded_text chunks" });
  });
  const values = (name: string, { sparseCsr, dense, dtype }: RawTensor): number[] => {
    if (sparseCsr) throw new ShapeError(`tensor ${name}`, "sparse", { expected: "a dense tensor" });
    return readers[dtypeOf(dtype)](dense ?? new Uint8Array());
  };
  const { target_tokens: targets, ...others } = lossFnInputs;
  if (targets === undefined)
    throw new ShapeError("loss_fn_inputs.target_tokens", undefined, { expected: "one target for each token" });
  return {
    tokens,
    targets: values("target_tokens", targets),
    inputs: Object.fromEntries(Object.entries(others).map(([name, tensor]) => [name, values(name, tensor)])),
  };
}

function encodeRows(rows: readonly (readonly number[])[]): object {
  let end = 0;
  const offsets = [end, ...rows.map((row) => (end += 4 * row.length))];
  return { data: float32Bytes(rows.flat()), offsets: int64Bytes(offsets), dtype: dtypes.float32 };
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

function dtypeOf(type: number): Dtype {
  const found = (Object.keys(dtypes) as Dtype[]).find((name) => dtypes[name] === type);
  if (found === undefined) throw new ShapeError("element type of a tensor", type, { expected: Object.values(dtypes) });
  return found;
}

/** Decoded messages: absent numbers and texts are 0 and "", absent messages are null. */
interface RawTensor {
  readonly dense: Uint8Array | null;
  readonly sparseCsr: object | null;
  readonly dtype: number;
}
interface RawDatum {
  readonly modelInput: readonly {
    readonly encodedText: { readonly tokens: Uint8Array } | null;
    readonly image: Uint8Array | null;
  }[];
  readonly lossFnInputs: Readonly<Record<string, RawTensor>>;
}
interface RawRequest {
  readonly modelId: string;
  readonly seqId: number;
  readonly data: readonly RawDatum[];
  readonly lossFn: string;
  readonly lossFnConfig: Readonly<Record<string, number>>;
  readonly lossFnConfigV2: Readonly<Record<string, { readonly number: number | null; readonly text: string | null }>>;
  readonly forwardOnly: boolean;
}
interface RawBatchedTensor {
  readonly data: Uint8Array;
  readonly offsets: Uint8Array;
  readonly dtype: number;
}
interface RawOutput {
  readonly lossFnOutputs: readonly { readonly fields: Readonly<Record<string, RawBatchedTensor>> }[];
  readonly metrics: Readonly<Record<string, number>>;
}
