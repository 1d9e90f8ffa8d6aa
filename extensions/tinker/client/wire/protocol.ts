import protobuf from "protobufjs/light.js";

/** protobufjs' own type of this lacks maps. */
interface MessageTable extends Omit<protobuf.IType, "fields"> {
  readonly fields: Record<string, protobuf.IField | protobuf.IMapField>;
}

/**
 * The binary messages of the Tinker wire (package `tinker_public`, as of SDK 0.38): field numbers and types. Fields that this project
 * neither writes nor reads are left out; a decoder skips them.
 */
const messages = {
  ForwardBackwardRequest: {
    fields: {
      modelId: { id: 1, type: "string" },
      seqId: { id: 2, type: "int32" },
      data: { id: 3, type: "Datum", rule: "repeated" },
      lossFn: { id: 4, type: "string" },
      lossFnConfig: { id: 5, keyType: "string", type: "double" },
      forwardOnly: { id: 6, type: "bool" },
      lossFnConfigV2: { id: 7, keyType: "string", type: "LossConfigValue" },
    },
  },
  LossConfigValue: {
    fields: { number: { id: 1, type: "double" }, text: { id: 2, type: "string" } },
  },
  Datum: {
    fields: {
      modelInput: { id: 1, type: "Chunk", rule: "repeated" },
      lossFnInputs: { id: 2, keyType: "string", type: "Tensor" },
    },
  },
  Chunk: {
    fields: { encodedText: { id: 1, type: "Tokens" }, image: { id: 2, type: "bytes" } },
  },
  Tokens: { fields: { tokens: { id: 1, type: "bytes" } } },
  Tensor: {
    fields: {
      dense: { id: 1, type: "bytes" },
      sparseCsr: { id: 2, type: "bytes" },
      dtype: { id: 3, type: "int32" },
      shape: { id: 4, type: "int64", rule: "repeated" },
    },
  },
  ForwardBackwardOutput: {
    fields: {
      lossFnOutputType: { id: 1, type: "string" },
      lossFnOutputs: { id: 2, type: "ArrayRecord", rule: "repeated" },
      metrics: { id: 3, keyType: "string", type: "double" },
    },
  },
  ArrayRecord: {
    fields: {
      typeTag: { id: 1, type: "string" },
      fields: { id: 2, keyType: "string", type: "BatchedTensor" },
      numDatums: { id: 3, type: "int64" },
    },
  },
  BatchedTensor: {
    fields: {
      data: { id: 1, type: "bytes" },
      offsets: { id: 2, type: "bytes" },
      dtype: { id: 3, type: "int32" },
    },
  },
  SampleResponse: {
    oneofs: { _promptLogprobs: { oneof: ["promptLogprobs"] } },
    fields: {
      sequences: { id: 1, type: "SampledSequence", rule: "repeated" },
      promptLogprobs: { id: 2, type: "bytes", options: { proto3_optional: true } },
      topkPromptLogprobs: { id: 3, type: "TopkLogprobs" },
    },
  },
  SampledSequence: {
    oneofs: { _logprobs: { oneof: ["logprobs"] } },
    fields: {
      /** 0: a stop token or string; 1: the token limit. */
      stopReason: { id: 1, type: "int32" },
      tokens: { id: 2, type: "bytes" },
      logprobs: { id: 3, type: "bytes", options: { proto3_optional: true } },
      topkSampledLogprobs: { id: 4, type: "TopkLogprobs" },
    },
  },
  TopkLogprobs: {
    fields: {
      tokenIds: { id: 1, type: "bytes" },
      logprobs: { id: 2, type: "bytes" },
      k: { id: 3, type: "uint32" },
      length: { id: 4, type: "uint32" },
    },
  },
} satisfies Record<string, MessageTable>;

const root = protobuf.Root.fromJSON({ nested: messages });

/** The encoder and decoder of a message. */
export function messageType(name: keyof typeof messages): protobuf.Type {
  return root.lookupType(name);
}

/** Element types of tensors, with their numbers in the protocol's enum. */
export const dtypes = { float32: 1, int64: 2, int32: 3, bfloat16: 4 } as const;
export type Dtype = keyof typeof dtypes;
