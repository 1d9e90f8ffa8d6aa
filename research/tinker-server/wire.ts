import type { Message } from "protobufjs";
import type { Datum, ForwardBackwardResult, SampleResult, TopLogprobs } from "../../extensions/tinker/client/data.ts";
import { float32Bytes, int32Bytes, int64Bytes, readInt32 } from "../../extensions/tinker/client/wire/arrays.ts";
import {
  dtypeOf,
  type ForwardBackwardRequest,
  output,
  readers,
  request,
} from "../../extensions/tinker/client/wire/forward-backward.ts";
import { dtypes, messageType } from "../../extensions/tinker/client/wire/protocol.ts";
import { absentLogprob, stopReasons } from "../../extensions/tinker/client/wire/samples.ts";
import { ShapeError } from "../../src/core/errors.ts";

const response = messageType("SampleResponse");

export function encodeSamples({ sequences, promptLogprobs, topPromptLogprobs }: SampleResult): Uint8Array {
  const message = {
    sequences: sequences.map(({ tokens, logprobs, stopReason, topLogprobs }) => ({
      stopReason: stopReasons.indexOf(stopReason),
      tokens: int32Bytes(tokens),
      logprobs: float32Bytes(logprobs),
      ...(topLogprobs === undefined ? {} : { topkSampledLogprobs: encodeTop(topLogprobs) }),
    })),
    ...(promptLogprobs === undefined ? {} : { promptLogprobs: float32Bytes(promptLogprobs) }),
    ...(topPromptLogprobs === undefined ? {} : { topkPromptLogprobs: encodeTop(topPromptLogprobs) }),
  };
  return response.encode(message).finish();
}

/** The body of a request. @throws ShapeError naming what this project does not compute: images, sparse tensors, texts */
export function decodeForwardBackward(bytes: Uint8Array): ForwardBackwardRequest {
  const message = request.decode(bytes) as Message & RawRequest;
  const config: Record<string, number> = { ...message.lossFnConfig };
  for (const [name, { number, text }] of Object.entries(message.lossFnConfigV2)) {
    if (text !== "") throw new ShapeError(`loss_fn_config.${name}`, text, { expected: "a number" });
    config[name] = number;
  }
  return {
    modelId: message.modelId,
    seqId: message.seqId,
    data: message.data.map(decodeDatum),
    lossFn: message.lossFn,
    config,
    forwardOnly: message.forwardOnly,
  };
}

/** The result of a pass: one record of arrays, one row a datum. */
export function encodeForwardBackwardResult({ fields, metrics }: ForwardBackwardResult, type: string): Uint8Array {
  const numDatums = Math.max(0, ...Object.values(fields).map((rows) => rows.length));
  const record = {
    typeTag: type,
    fields: Object.fromEntries(Object.entries(fields).map(([name, rows]) => [name, encodeRows(rows)])),
    numDatums,
  };
  return output.encode({ lossFnOutputType: type, lossFnOutputs: [record], metrics }).finish();
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

function decodeDatum({ modelInput, lossFnInputs }: RawDatum): Datum {
  const tokens = modelInput.flatMap((chunk) => {
    if (chunk.encodedText) return readInt32(chunk.encodedText.tokens);
    throw new ShapeError("model_input", chunk.image.length > 0 ? "an image" : "sound", { expected: "encoded_text chunks" });
  });
  const values = (name: string, { sparseCsr, dense, dtype }: RawTensor): number[] => {
    if (sparseCsr.length > 0) throw new ShapeError(`tensor ${name}`, "sparse", { expected: "a dense tensor" });
    return readers[dtypeOf(dtype)](dense);
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

/** Decoded messages: absent numbers, texts and bytes are 0 and empty, absent messages are null. */
interface RawTensor {
  readonly dense: Uint8Array;
  readonly sparseCsr: Uint8Array;
  readonly dtype: number;
}
interface RawDatum {
  readonly modelInput: readonly {
    readonly encodedText: { readonly tokens: Uint8Array } | null;
    readonly image: Uint8Array;
  }[];
  readonly lossFnInputs: Readonly<Record<string, RawTensor>>;
}
interface RawRequest {
  readonly modelId: string;
  readonly seqId: number;
  readonly data: readonly RawDatum[];
  readonly lossFn: string;
  readonly lossFnConfig: Readonly<Record<string, number>>;
  readonly lossFnConfigV2: Readonly<Record<string, { readonly number: number; readonly text: string }>>;
  readonly forwardOnly: boolean;
}
