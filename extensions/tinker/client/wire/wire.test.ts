import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeForwardBackward, encodeForwardBackwardResult, encodeSamples } from "../../../../research/tinker-server/wire.ts";
import { ShapeError } from "../../../../src/core/errors.ts";
import { readBfloat16, readInt32 } from "./arrays.ts";
import { forwardRequest, forwardResult, ppoRequest, promptLogprobs, samples, stopped } from "./captures.fixture.ts";
import { decodeForwardBackwardResult, encodeForwardBackward } from "./forward-backward.ts";
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
