import { expect, test } from "vitest";
import { messageType } from "../../extensions/tinker/client/wire/protocol.ts";
import { decodeSamples } from "../../extensions/tinker/client/wire/samples.ts";
import type { SampleRequest } from "../../src/engines/engine.ts";
import { TableEngine } from "../../test/table-engine.ts";
import type { ServedModel } from "./local-model.ts";
import { requirePass, runPass } from "./passes.ts";
import { sampleSchema } from "./requests.ts";
import type { OpenSampler } from "./samplers.ts";
import { checkSample, drawSamples } from "./sampling.ts";
import { decodeForwardBackward, encodeSamples } from "./wire.ts";

const model = { vocabularySize: 6, maxLength: 8, endTokens: [5] } as unknown as ServedModel;
const asked = (params: object, more: object = {}) =>
  checkSample(
    sampleSchema.parse({ base_model: "tiny", prompt: { chunks: [{ tokens: [1, 2] }] }, sampling_params: params, ...more }),
    model,
  );

test("a sample's defaults: as long as the model is, at temperature 1, until the text ends", () => {
  expect(asked({})).toEqual({
    ...{ prompt: [1, 2], samples: 1, seed: expect.any(Number), promptLogprobs: false, topPrompt: 0, top: 0 },
    request: { maxTokens: 6, temperature: 1, topP: 1, topK: 0, stopTokens: [5] },
  });
  const all = {
    ...{ num_samples: 3, prompt_logprobs: true, topk_prompt_logprobs: 4, topk_sample_logprobs: 2 },
    prompt: { chunks: [{ tokens: [1] }, { tokens: [2, 3] }] },
  };
  expect(asked({ max_tokens: 2, temperature: 0, top_k: 3, top_p: 0.5, seed: 2 ** 32 - 1, stop: [4, 0] }, all)).toEqual({
    ...{ prompt: [1, 2, 3], samples: 3, seed: -1, promptLogprobs: true, topPrompt: 4, top: 2 },
    request: { maxTokens: 2, temperature: 0, topP: 0.5, topK: 3, stopTokens: [4, 0], topLogprobs: 2 },
  });
  expect([asked({ stop: "end" }).request, asked({ stop: ["a", "b"] }).request, asked({ stop: [] }).request]).toMatchObject([
    { stopTokens: [], stopStrings: ["end"] },
    { stopTokens: [], stopStrings: ["a", "b"] },
    { stopTokens: [] },
  ]);
  expect(asked({ stop: [] }).request).not.toHaveProperty("stopStrings");
});

test.each<[object, object, string]>([
  [{}, { prompt: { chunks: [] } }, "tokens of the prompt is 0; expected 1 to 7, the model's length less one."],
  [{}, { prompt: { chunks: [{ tokens: [1, 1, 1, 1, 1, 1, 1, 1] }] } }, "tokens of the prompt is 8; expected 1 to 7"],
  [{}, { prompt: { chunks: [{ tokens: [1, 6] }] } }, "a token of the prompt is 6; expected 0 to 5."],
  [{ stop: [4, "end"] }, {}, 'sampling_params.stop is "tokens and texts"; expected one or the other.'],
  [
    { temperature: 0.5, top_k: 2 },
    { topk_sample_logprobs: 3 },
    "topk_sample_logprobs with temperature, top_k and top_p is 3; expected temperature 0 or 1, or top_k −1 and top_p 1.",
  ],
  [{ temperature: 2, top_p: 0.9 }, { topk_sample_logprobs: 1 }, "topk_sample_logprobs with temperature"],
])("the sample %j %j is refused", (params, more, message) => {
  expect(() => asked(params, more)).toThrow(message);
});

test.each([{ temperature: 1, top_k: 2 }, { temperature: 0, top_p: 0.5 }, { temperature: 2 }])(
  "candidates are given with %j, whose log-probs are the model's",
  (params) => {
    expect(asked(params, { topk_sample_logprobs: 3 }).top).toBe(3);
    expect(asked({ temperature: 0.5, top_k: 2, top_p: 0.5 }).top).toBe(0);
  },
);

/** A sampler that draws tokens 1 and 2, and keeps what it was asked. */
function sampler() {
  const requests: SampleRequest[] = [];
  const made: OpenSampler = {
    sample: async (request) => {
      requests.push(request);
      const few = { tokens: [1, 2].slice(0, request.maxTokens), entropies: [], finish: "stop" as const, weightVersion: 0 };
      return {
        ...{ ...few, logprobs: [-0.5, -1], modelLogprobs: [-0.25, -0.75] },
        ...((request.topLogprobs ?? 0) > 0 ? { topTokens: [[3, 1], [2]], topLogprobs: [[-0.4, -0.5], [-1]] } : {}),
      };
    },
    logprobs: async (samples) => samples.map(({ action }) => action.map((token) => -token)),
    dispose: async () => {},
  };
  return { made, requests };
}

test("the n-th sample has the n-th seed, and log-probs are the model's own", async () => {
  const { made, requests } = sampler();
  const { signal } = new AbortController();
  const drawn = await drawSamples(made, { ...asked({ max_tokens: 2, seed: 7 }), samples: 2 }, signal);
  const sequence = { tokens: [1, 2], logprobs: [-0.25, -0.75], stopReason: "stop" };
  expect(drawn).toEqual({ sequences: [sequence, sequence] });
  expect(requests.map(({ seed, context, signal: given }) => [seed, context, given])).toEqual([
    [7, [1, 2], signal],
    [8, [1, 2], signal],
  ]);
});

test("candidates at another temperature are turned into the model's: T·lp_T, moved so that the drawn token fits", async () => {
  const { signal } = new AbortController();
  const of = async (temperature: number) => {
    const { sequences } = await drawSamples(sampler().made, asked({ temperature, seed: 1 }, { topk_sample_logprobs: 2 }), signal);
    return sequences[0]?.topLogprobs;
  };
  expect(await of(1)).toEqual([
    { tokens: [3, 1], logprobs: [-0.4, -0.5] },
    { tokens: [2], logprobs: [-1] },
  ]);
  expect(await of(0)).toEqual(await of(1));
  // The first token: 2·lp − 0.25 + 2·0.5; the second: 2·lp − 0.75 + 2·1.
  expect(await of(2)).toEqual([
    { tokens: [3, 1], logprobs: [expect.closeTo(-0.05, 9), expect.closeTo(-0.25, 9)] },
    { tokens: [2], logprobs: [expect.closeTo(-0.75, 9)] },
  ]);
});

test("a prompt's log-probs are those of its tokens but the first, and its candidates those of each place but the first", async () => {
  const { made, requests } = sampler();
  const { signal } = new AbortController();
  const call = { ...asked({ seed: 3 }, { prompt_logprobs: true, topk_prompt_logprobs: 2 }), prompt: [4, 5, 3] };
  const { promptLogprobs, topPromptLogprobs } = await drawSamples(made, call, signal);
  expect(promptLogprobs).toEqual([Number.NaN, -5, -3]);
  expect(topPromptLogprobs).toEqual([
    { tokens: [], logprobs: [] },
    { tokens: [3, 1], logprobs: [-0.4, -0.5] },
    { tokens: [3, 1], logprobs: [-0.4, -0.5] },
  ]);
  expect(requests.slice(1)).toEqual(
    [[4], [4, 5]].map((context) => ({
      ...{ context, maxTokens: 1, stopTokens: [], seed: 3, temperature: 1, topLogprobs: 2, signal },
    })),
  );
  expect((await drawSamples(made, { ...call, prompt: [4], topPrompt: 0 }, signal)).promptLogprobs).toEqual([Number.NaN]);
});

test("samples on the wire: rows of candidates are filled to one width", () => {
  const top = [
    { tokens: [], logprobs: [] },
    { tokens: [3, 1], logprobs: [-0.5, -1] },
  ];
  const result = {
    sequences: [
      { tokens: [1, 2], logprobs: [-0.25, -0.5], stopReason: "length" as const, topLogprobs: top },
      { tokens: [4], logprobs: [-2], stopReason: "stop" as const },
    ],
    ...{ promptLogprobs: [-1, -4], topPromptLogprobs: top },
  };
  expect(decodeSamples(encodeSamples(result))).toEqual(result);
});

const request = messageType("ForwardBackwardRequest");
const tensor = (values: readonly number[]) => ({ dense: new Uint8Array(Float32Array.from(values).buffer), dtype: 1 });
const ids = (values: readonly number[]) => new Uint8Array(Int32Array.from(values).buffer);
const bodyOf = (datum: object, more: object = {}) =>
  request.encode({ modelId: "m", seqId: 3, lossFn: "cispo", data: [datum], forwardOnly: true, ...more }).finish();

test("a pass's body: chunks are joined, settings of both forms are read, and what is not computed is named", () => {
  const targets = { dense: ids([2, 3]), dtype: 3 };
  const datum = {
    modelInput: [{ encodedText: { tokens: ids([1]) } }, { encodedText: { tokens: ids([2]) } }],
    lossFnInputs: { target_tokens: targets, advantages: tensor([0.5, -0.5]) },
  };
  const settings = { lossFnConfig: { a: 1 }, lossFnConfigV2: { b: { number: 2 }, c: {} } };
  expect(decodeForwardBackward(bodyOf(datum, settings))).toEqual({
    ...{ modelId: "m", seqId: 3, lossFn: "cispo", forwardOnly: true, config: { a: 1, b: 2, c: 0 } },
    data: [{ tokens: [1, 2], targets: [2, 3], inputs: { advantages: [0.5, -0.5] } }],
  });
  const refused =
    (changed: object, more: object = {}) =>
    () =>
      decodeForwardBackward(bodyOf({ ...datum, ...changed }, more));
  expect(refused({ lossFnInputs: {} })).toThrow("loss_fn_inputs.target_tokens is missing; expected one target for each token.");
  expect(refused({ modelInput: [{ image: ids([1]) }] })).toThrow('model_input is "an image"; expected encoded_text chunks.');
  expect(refused({}, { lossFnConfigV2: { b: { text: "x" } } })).toThrow('loss_fn_config.b is "x"; expected a number.');
});

const pass = (datum: object, more: object = {}) => ({
  ...{ data: [datum], lossFn: "cross_entropy", config: {}, forwardOnly: false, ...more },
});

test.each<[object, string]>([
  [{ data: [] }, 'data is "empty"; expected at least one datum.'],
  [{ data: [{ tokens: [], targets: [] }] }, 'model_input of datum 0 is "empty"; expected at least one token.'],
  [
    { data: [{ tokens: Array(8).fill(1), targets: Array(8).fill(1) }] },
    "length of datum 0 is 8; expected less than 8 tokens, the model's length.",
  ],
  [{ data: [{ tokens: [1, 2], targets: [1] }] }, "number of target_tokens of datum 0 is 1; expected 2, one a token."],
  [{ data: [{ tokens: [1, -1], targets: [1, 1] }] }, "a token in model_input of datum 0 is -1; expected 0 to 5."],
  [{ data: [{ tokens: [1, 1], targets: [1, 6] }] }, "a token in target_tokens of datum 0 is 6; expected 0 to 5."],
  [
    {
      data: [
        { tokens: [1], targets: [1] },
        { tokens: [1], targets: [1], inputs: { weights: [1, 2] } },
      ],
    },
    "number of weights of datum 1 is 2; expected 1, one a target.",
  ],
  [
    { data: [{ tokens: [1], targets: [1], inputs: { weights: [Number.POSITIVE_INFINITY] } }] },
    "a number in weights of datum 0 is Infinity; expected finite numbers.",
  ],
  [{ lossFn: "dpo" }, 'loss_fn is "dpo"'],
])("the pass %j is refused", (changed, message) => {
  expect(() => requirePass({ ...pass({ tokens: [1], targets: [1] }), ...changed } as never, model)).toThrow(message);
});

test("targets are scored where they stand: one sequence for each run of the text, gathered in the order of the targets", async () => {
  const engine = new TableEngine(6);
  const scored: [readonly number[], readonly number[]][] = [];
  const weights: unknown[] = [];
  const forwardBackward = engine.forwardBackward.bind(engine);
  engine.forwardBackward = async (samples, decide, options) => {
    scored.push(...samples.map(({ context, action }) => [[...context], action] as [number[], readonly number[]]));
    const numbered = samples.map(({ action }, i) => action.map((_, j) => -(10 * i + j + 1)));
    weights.push(typeof decide === "function" ? decide(numbered) : decide);
    await forwardBackward(
      samples,
      samples.map(({ action }) => action.map(() => 0)),
      options,
    );
    return numbered;
  };
  // The second target is not the text's next token, so the third begins a sequence of its own.
  const datum = { tokens: [1, 2, 3], targets: [2, 4, 5], inputs: { weights: [1, 2, 3] } };
  const { fields, metrics } = await runPass(engine, pass(datum) as never);
  expect(scored).toEqual([
    [[1], [2, 4]],
    [[1, 2, 3], [5]],
  ]);
  expect(fields).toEqual({ logprobs: [[-1, -2, -11]] });
  expect(metrics).toEqual({ "loss:sum": 1 + 4 + 33 });
  expect(weights).toEqual([[[1, 2], [3]]]);
  // A loss whose weights depend on the log-probs decides them between the halves: r = exp(lp − q) of q = lp is 1.
  const policy = { ...datum, inputs: { advantages: [1, -1, 2], logprobs: [-1, -2, -11] } };
  const second = await runPass(engine, pass(policy, { lossFn: "importance_sampling" }) as never);
  expect(weights[1]).toEqual([[1, -1], [2]]);
  expect(second.metrics).toEqual({ "loss:sum": -2 });
});
