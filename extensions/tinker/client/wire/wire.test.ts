import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeForwardBackward, encodeForwardBackwardResult, encodeSamples } from "../../../../research/tinker-server/wire.ts";
import { ShapeError } from "../../../../src/core/errors.ts";
import { float32Bytes, int32Bytes, int64Bytes, readBfloat16, readFloat32, readInt32, readInt64 } from "./arrays.ts";
import { forwardRequest, forwardResult, ppoRequest, promptLogprobs, samples, stopped } from "./captures.fixture.ts";
import { decodeForwardBackwardResult, encodeForwardBackward } from "./forward-backward.ts";
import { messageType } from "./protocol.ts";
import { decodeSamples } from "./samples.ts";

const bytes = (base64: string) => new Uint8Array(Buffer.from(base64, "base64"));

describe("bytes of a real server", () => {
  test("a pass over two data", () => {
    expect(decodeForwardBackward(bytes(forwardRequest))).toEqual({
      modelId: "model_f257737d",
      seqId: 1,
      data: [
        { tokens: [1, 10, 20, 30, 40, 50, 60], targets: [10, 20, 30, 40, 50, 60, 70], inputs: {} },
        { tokens: [1, 5, 6], targets: [5, 6, 7], inputs: {} },
      ],
      lossFn: "cross_entropy",
      config: {},
      forwardOnly: true,
    });
    const { fields, metrics } = decodeForwardBackwardResult(bytes(forwardResult));
    expect(fields.logprobs.map((row) => row.length)).toEqual([7, 3]);
    expect(fields.logprobs[1]).toEqual([-6.18650484085083, -6.240306854248047, -6.044373035430908]);
    expect(fields.elementwise_loss[1]).toEqual(fields.logprobs[1].map((value) => -value));
    expect(metrics).toEqual({});
  });

  test("a loss with settings and two inputs", () => {
    const { data, config, lossFn, forwardOnly, seqId } = decodeForwardBackward(bytes(ppoRequest));
    expect({ config, lossFn, forwardOnly, seqId }).toEqual({
      config: { clip_low_threshold: 0.8, clip_high_threshold: 1.2 },
      lossFn: "ppo",
      forwardOnly: false,
      seqId: 5,
    });
    expect(data[0].inputs?.advantages.map((a) => Number(a.toFixed(4)))).toEqual([0.3, -1.2, 0.5, -1.25, 2, 0.1, 1]);
    expect(data[0].inputs?.logprobs[6]).toBe(-6.674868106842041);
  });

  test("samples, why they ended, and log-probs of the prompt", () => {
    const { sequences } = decodeSamples(bytes(samples));
    expect(sequences.map(({ tokens, stopReason }) => [tokens.length, stopReason])).toEqual([
      [12, "length"],
      [12, "length"],
    ]);
    expect(sequences[0].tokens.slice(0, 4)).toEqual([354, 483, 339, 113]);
    expect(sequences[0].logprobs[0]).toBe(-6.27545690536499);
    const end = decodeSamples(bytes(stopped)).sequences[0];
    expect([end.tokens, end.stopReason]).toEqual([[354, 483, 339, 113, 195], "stop"]);
    expect(decodeSamples(bytes(promptLogprobs)).promptLogprobs).toHaveLength(7);
  });
});

test("what is written is read back", () => {
  const ids = (length: number) => fc.array(fc.nat(2 ** 31 - 1), { minLength: length, maxLength: length });
  const numbers = (length: number) =>
    fc.array(
      fc.integer({ min: -999, max: 999 }).map((n) => n / 64),
      { minLength: length, maxLength: length },
    );
  const datum = fc
    .integer({ min: 1, max: 9 })
    .chain((n) => fc.record({ tokens: ids(n), targets: ids(n), inputs: fc.record({ weights: numbers(n) }) }));
  const request = fc.record({
    modelId: fc.string(),
    seqId: fc.nat(1_000_000),
    data: fc.array(datum, { minLength: 1, maxLength: 5 }),
    lossFn: fc.constantFrom("cispo", "ppo"),
    config: fc.record({ clip_low_threshold: fc.integer({ min: -999, max: 999 }).map((n) => n / 7) }),
    forwardOnly: fc.boolean(),
  });
  fc.assert(
    fc.property(request, (each) => {
      expect(decodeForwardBackward(encodeForwardBackward(each))).toEqual(each);
    }),
  );
});

test("results and samples that a server writes are read back", () => {
  const result = { fields: { logprobs: [[-1, -2.5], [-0.25]] }, metrics: { "loss:sum": 3.75 } };
  expect(decodeForwardBackwardResult(encodeForwardBackwardResult(result, "cross_entropy"))).toEqual(result);
  const top = [
    { tokens: [3, 1], logprobs: [-0.5, -1] },
    { tokens: [2], logprobs: [-0.25] },
  ];
  const drawn = {
    sequences: [{ tokens: [3, 2], logprobs: [-0.5, -0.25], stopReason: "stop", topLogprobs: top }],
    promptLogprobs: [Number.NaN, -2],
    topPromptLogprobs: [
      { tokens: [], logprobs: [] },
      { tokens: [7], logprobs: [-2] },
    ],
  } as const;
  expect(decodeSamples(encodeSamples(drawn))).toEqual(drawn);
});

test("a bfloat16 is the upper half of a float32, and bytes may start anywhere", () => {
  expect(readBfloat16(Uint8Array.of(0x80, 0x3f, 0x20, 0xc0))).toEqual([1, -2.5]);
  expect(readInt32(Uint8Array.of(9, 1, 0, 0, 0, 2, 0, 0, 0).subarray(1))).toEqual([1, 2]);
  expect(() => readInt32(Uint8Array.of(1, 2, 3))).toThrow(ShapeError);
});

describe("bytes that are written", () => {
  const hex = (part: Uint8Array) => Buffer.from(part).toString("hex");

  test("numbers are little endian, one after the other", () => {
    expect(hex(int32Bytes([1, -2, 2 ** 31 - 1]))).toBe("01000000feffffffffffff7f");
    expect(hex(int64Bytes([1, -2, 2 ** 40]))).toBe("0100000000000000feffffffffffffff0000000000010000");
    expect(hex(float32Bytes([1, -2.5, 0.1]))).toBe("0000803f000020c0cdcccc3d");
    for (const write of [int32Bytes, int64Bytes, float32Bytes]) expect(write([])).toHaveLength(0);
    expect(readInt64(int64Bytes([1, -2, 2 ** 40]))).toEqual([1, -2, 2 ** 40]);
    expect(readFloat32(Buffer.from("xx\0\0\x80\x3fx", "latin1").subarray(2, 6))).toEqual([1]);
    const readers = [readInt32, readFloat32, readInt64, readBfloat16];
    for (const [i, size] of [4, 4, 8, 2].entries()) {
      expect(readers[i](new Uint8Array(2 * size))).toEqual([0, 0]);
      expect(() => readers[i](new Uint8Array(2 * size + 1))).toThrow(`expected a multiple of ${size}`);
    }
  });

  test("a pass is written as SkyRL's own client wrote it", () => {
    for (const captured of [forwardRequest, ppoRequest])
      expect(hex(encodeForwardBackward(decodeForwardBackward(bytes(captured))))).toBe(hex(bytes(captured)));
  });

  test("a pass is written field by field as the protocol numbers them", () => {
    const part = (field: number, body: Buffer | string) => Buffer.from([8 * field + 2, body.length, ...Buffer.from(body)]);
    const number = (field: number, value: number) => Buffer.from([8 * field, value]);
    const double = (field: number, value: number) => {
      const eight = Buffer.alloc(8);
      eight.writeDoubleLE(value);
      return Buffer.from([8 * field + 1, ...eight]);
    };
    const all = (...parts: Buffer[]) => Buffer.concat(parts);
    const tensor = (data: string, dtype: number) => all(part(1, Buffer.from(data, "hex")), number(3, dtype), part(4, "\x01"));
    const input = (name: string, value: Buffer) => part(2, all(part(1, name), part(2, value)));
    const datum = all(
      part(1, part(1, part(1, Buffer.from("07000000", "hex")))),
      input("target_tokens", tensor("0800000000000000", 2)),
      input("weights", tensor("0000003f", 1)),
    );
    const expected = all(
      ...[part(1, "m"), number(2, 5), part(3, datum), part(4, "ppo")],
      part(5, all(part(1, "a"), double(2, 0.5))),
      number(6, 1),
      part(7, all(part(1, "a"), part(2, double(1, 0.5)))),
    );
    const data = [{ tokens: [7], targets: [8], inputs: { weights: [0.5] } }];
    const pass = { modelId: "m", seqId: 5, data, lossFn: "ppo", config: { a: 0.5 }, forwardOnly: true };
    expect(hex(encodeForwardBackward(pass))).toBe(hex(expected));
  });
});

describe("what does not fit is refused by its field", () => {
  const result = (tensor: object) => {
    const type = messageType("ForwardBackwardOutput");
    const logprobs = { data: float32Bytes([-1, -2, -3]), offsets: int64Bytes([0, 8, 8, 12]), dtype: 1, ...tensor };
    return decodeForwardBackwardResult(type.encode({ lossFnOutputs: [{ fields: { logprobs } }] }).finish()).fields.logprobs;
  };
  const drawn = (change: object, top: object = {}) => {
    const topkSampledLogprobs = { tokenIds: int32Bytes([3, 4]), logprobs: float32Bytes([-1, -99_999]), k: 2, length: 1, ...top };
    const sequence = { stopReason: 1, tokens: int32Bytes([3]), logprobs: float32Bytes([-1]), topkSampledLogprobs, ...change };
    return decodeSamples(
      messageType("SampleResponse")
        .encode({ sequences: [sequence] })
        .finish(),
    ).sequences;
  };

  test("rows of a pass are where their offsets say, in elements that are known", () => {
    expect(result({})).toEqual([[-1, -2], [], [-3]]);
    expect(result({ data: Uint8Array.of(0x80, 0x3f), offsets: int64Bytes([0, 2]), dtype: 4 })).toEqual([[1]]);
    expect(result({ data: int32Bytes([7]), offsets: int64Bytes([0, 4]), dtype: 3 })).toEqual([[7]]);
    for (const offsets of [
      [-4, 4],
      [8, 4],
      [0, 16],
      [0, 6],
    ])
      expect(() => result({ offsets: int64Bytes(offsets) })).toThrow(/offsets of a batched tensor .*multiples of 4, at most 12/);
    for (const dtype of [0, 5]) expect(() => result({ dtype })).toThrow(/element type of a tensor is \d; expected 1, 2, 3 or 4/);
  });

  test("samples end for a reason, and candidates are rows of their number", () => {
    const top = [{ tokens: [3], logprobs: [-1] }];
    expect(drawn({})).toEqual([{ tokens: [3], logprobs: [-1], stopReason: "length", topLogprobs: top }]);
    expect(drawn({ logprobs: undefined, topkSampledLogprobs: undefined, stopReason: 0 })).toEqual([
      { tokens: [3], logprobs: [], stopReason: "stop" },
    ]);
    expect(() => drawn({ stopReason: 2 })).toThrow(/stop_reason is 2; expected 0 \(stop\) or 1 \(length\)/);
    for (const wrong of [{ k: 3 }, { length: 2 }, { tokenIds: int32Bytes([3]) }, { logprobs: float32Bytes([-1]) }])
      expect(() => drawn({}, wrong)).toThrow(/top log-probs/);
  });
});
