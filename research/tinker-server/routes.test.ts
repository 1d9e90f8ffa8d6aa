import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { Reply } from "../../extensions/http/server.ts";
import { decodeForwardBackwardResult, encodeForwardBackward } from "../../extensions/tinker/client/wire/forward-backward.ts";
import { decodeSamples } from "../../extensions/tinker/client/wire/samples.ts";
import { TableEngine } from "../../test/table-engine.ts";
import type { ServedModel, Trained } from "./local-model.ts";
import { deleteRoute, getRoute, postRoutes } from "./routes.ts";
import { Service } from "./service.ts";

const vocabulary = 6;
const logOdds = Math.log(vocabulary);

/** A server of a table as its model. What was opened is kept. */
function served() {
  const opened: [Trained, string | undefined][] = [];
  const base: ServedModel = {
    ...{ name: "tiny", folder: "/models/tiny", architecture: "qwen3", vocabularySize: vocabulary, maxLength: 12, endTokens: [5] },
    ...{ modules: { attention: ["q_proj", "v_proj"], mlp: ["up_proj"] }, maxRank: 4 },
    open: async (trained, from) => {
      opened.push([trained, from]);
      const engine = new TableEngine(vocabulary);
      return {
        engine,
        saveWeights: async (to) => {
          mkdirSync(to, { recursive: true });
          writeFileSync(join(to, "adapter.txt"), `after ${engine.weightVersion} steps`);
        },
      };
    },
  };
  const service = new Service({ models: [base], store: mkdtempSync(join(tmpdir(), "tinker-routes-")) });
  const raw = async (name: string, body: Buffer, contentType = "application/json"): Promise<Reply> => {
    const route = postRoutes[name];
    if (route === undefined) throw new Error(`no route ${name}`);
    return route(service, { body, contentType });
  };
  const post = async (name: string, body: object = {}) => {
    const reply = await raw(name, Buffer.from(JSON.stringify(body)));
    return ("json" in reply ? reply.json : reply) as Record<string, unknown>;
  };
  /** What a request came to in the end. */
  const result = async (acknowledged: unknown) => {
    const { request_id } = acknowledged as { request_id: string };
    return post("retrieve_future", { request_id });
  };
  const refused = async (name: string, body: object) =>
    post(name, body).then(
      (reply) => ({ status: 200, message: JSON.stringify(reply) }),
      ({ status, message }: { status: number; message: string }) => ({ status, message }),
    );
  const session = async () => String((await post("create_session", { tags: [] })).session_id);
  const model = async (lora: object | null = { rank: 2, seed: 7 }) => {
    const session_id = await session();
    const made = await post("create_model", { session_id, base_model: "tiny", model_seq_id: 0, lora_config: lora });
    await result(made);
    return { session_id, model_id: String(made.model_id) };
  };
  const pass = async (model_id: string, seqId: number, forwardOnly = false, data = [{ tokens: [1, 2], targets: [2, 3] }]) => {
    const body = encodeForwardBackward({ modelId: model_id, seqId, data, lossFn: "cross_entropy", config: {}, forwardOnly });
    const reply = await raw("forward_backward", Buffer.from(body), "application/x-protobuf; v=1");
    return ("json" in reply ? reply.json : {}) as Record<string, unknown>;
  };
  return { service, opened, raw, post, result, refused, session, model, pass };
}

test("what clients ask before they begin", async () => {
  const { service, post } = served();
  expect(await getRoute(service, ["healthz"])).toEqual({ json: { status: "ok" } });
  expect(await getRoute(service, ["get_server_capabilities"])).toEqual({
    json: { supported_models: [{ model_name: "tiny", max_context_length: 12, trainable: true, sampleable: true }] },
  });
  expect(await post("client/config")).toEqual({
    ...{ pjwt_auth_enabled: false, proto_compress_fwdbwd: false, use_pyqwest_transport: false },
    ...{ sample_use_retrieve_futures: false, custom_loss_server_side: false },
  });
  expect(await post("client/dynamic_config")).toEqual({ sample_cancel_enabled: true });
  expect(await post("telemetry", { events: [] })).toEqual({ status: "accepted" });
  const nowhere = [
    [],
    ["healthz", "x"],
    ["samplers"],
    ["training_runs", "m", "checkpoints"],
    ["training_runs", "m", "other", "n", "archive"],
  ];
  for (const parts of nowhere) expect(await getRoute(service, parts)).toBeUndefined();
});

test("a session is opened, gives signs of life, and is refused where it is not open", async () => {
  const { post, refused } = served();
  const opened = await post("create_session", { type: "create_session", tags: ["a"], sdk_version: "0.25", user_metadata: {} });
  expect(opened).toEqual({
    ...{ type: "create_session", session_id: expect.stringMatching(/^session-[0-9a-f-]{36}$/), warning_message: null },
    info_message: "Adapters have no part in the unembedding here: train_unembed is not honoured.",
    error_message: null,
  });
  expect(await post("session_heartbeat", { session_id: opened.session_id })).toEqual({ type: "session_heartbeat" });
  expect(await refused("session_heartbeat", { session_id: "x" })).toEqual({
    status: 410,
    message: 'session is "x"; expected an open session.',
  });
  expect(await refused("create_model", { session_id: "x", base_model: "tiny" })).toMatchObject({ status: 404 });
});

test("an adapter is made as it is asked for, and described as it was made", async () => {
  const { opened, post, result, session } = served();
  const session_id = await session();
  const lora_config = { rank: 2, seed: 7, train_mlp: false };
  const made = await post("create_model", { session_id, base_model: "tiny", model_seq_id: 3, lora_config });
  const lora = { rank: 2, alpha: 32, seed: 7, train_attn: true, train_mlp: false, train_unembed: false };
  const model_id = `${session_id}:train:3`;
  const reply = { type: "create_model", model_id, base_model: "tiny", is_lora: true, lora_config: lora };
  expect(made).toEqual({ request_id: expect.any(String), ...reply });
  expect(await result(made)).toEqual(reply);
  expect(opened).toEqual([[{ rank: 2, alpha: 32, targets: ["q_proj", "v_proj"], seed: 7 }, undefined]]);
  expect(await post("get_info", { model_id })).toEqual({
    ...{ type: "get_info", model_id, model_name: "tiny", is_lora: true, lora_rank: 2, lora_config: lora },
    model_data: { arch: "qwen3", model_name: "tiny", tokenizer_id: "/models/tiny", base_model: "tiny" },
  });
});

test("without an adapter, or with one of rank 0, the model itself is trained", async () => {
  const { opened, post, result, session } = served();
  const session_id = await session();
  for (const [i, lora_config] of [null, undefined, { rank: 0 }].entries()) {
    const made = await post("create_model", { session_id, base_model: "tiny", lora_config });
    expect(made).toMatchObject({ model_id: `${session_id}:train:${i}`, is_lora: false, lora_config: null });
    await result(made);
    const info = await post("get_info", { model_id: made.model_id });
    expect([info.is_lora, info.lora_rank, Object.hasOwn(info, "lora_config")]).toEqual([false, null, false]);
  }
  expect(opened).toEqual([
    ["full", undefined],
    ["full", undefined],
    ["full", undefined],
  ]);
});

test.each([
  [{ base_model: "tony" }, 404, 'base_model is "tony"; expected "tiny".'],
  [{ lora_config: { rank: 5 } }, 422, "lora_config.rank is 5; expected at most 4, the width of the model."],
  [
    { lora_config: { rank: 1, train_attn: false, train_mlp: false } },
    422,
    'lora_config is "train_unembed alone"; expected train_attn or train_mlp: the unembedding has no adapter here.',
  ],
  [{ lora_config: { rank: 1, dropout: 0.1 } }, 422, "dropout"],
  [{ optimizer_config: { type: "sgd" } }, 422, "optimizer_config.type"],
])("the model %j is refused", async (asked, status, message) => {
  const { refused, session } = served();
  const given = await refused("create_model", { session_id: await session(), base_model: "tiny", ...asked });
  expect([given.status, given.message]).toEqual([status, expect.stringContaining(message)]);
});

test("a number of a model is used once, and an unloaded model is gone", async () => {
  const { post, result, refused, model } = served();
  const { session_id, model_id } = await model();
  expect(await refused("create_model", { session_id, base_model: "tiny", model_seq_id: 0 })).toEqual({
    status: 422,
    message: `model_seq_id is "${model_id}"; expected a number that was not used.`,
  });
  const unloaded = await post("unload_model", { model_id });
  expect(unloaded).toEqual({ request_id: expect.any(String), model_id });
  expect(await result(unloaded)).toEqual({ type: "unload_model", model_id, status: "unloaded" });
  expect(await refused("get_info", { model_id })).toEqual({
    status: 404,
    message:
      `model is "${model_id}"; expected a loaded model. It was unloaded, its session ended, or the server was restarted: ` +
      "create a model and load the last checkpoint.",
  });
});

test("passes and steps: log-probs of the targets, the summed loss, the gradient's norm and the rate", async () => {
  const { raw, post, result, model, pass } = served();
  const { model_id } = await model();
  const passed = await pass(model_id, 1);
  expect(passed).toEqual({ request_id: expect.any(String), model_id });
  const reply = await raw("retrieve_future", Buffer.from(JSON.stringify({ request_id: passed.request_id })));
  expect("bytes" in reply && reply.type).toBe("application/x-protobuf");
  const { fields, metrics } = decodeForwardBackwardResult("bytes" in reply ? reply.bytes : new Uint8Array());
  expect(fields.logprobs).toEqual([[expect.closeTo(-logOdds, 5), expect.closeTo(-logOdds, 5)]]);
  expect(metrics["loss:sum"]).toBeCloseTo(2 * logOdds, 5);
  const stepped = await result(await post("optim_step", { model_id, seq_id: 2, adam_params: { learning_rate: 0.5 } }));
  // Two rows of the gradient, each 5/6 at the target and −1/6 elsewhere: √(2 · (25 + 5) / 36).
  expect(stepped).toEqual({ metrics: { grad_norm: expect.closeTo(Math.sqrt(60 / 36), 9), learning_rate: 0.5 } });
  const after = await raw(
    "retrieve_future",
    Buffer.from(JSON.stringify({ request_id: (await pass(model_id, 3, true)).request_id })),
  );
  const learned = decodeForwardBackwardResult("bytes" in after ? after.bytes : new Uint8Array());
  expect(learned.fields.logprobs?.[0]?.[0]).toBeGreaterThan(-logOdds);
  // A step without a pass, the last one was forward alone: its gradient is 0.
  expect(await result(await post("optim_step", { model_id, seq_id: 4, adam_params: {} }))).toEqual({
    metrics: { grad_norm: 0, learning_rate: 1e-4 },
  });
});

test("a refused pass keeps the step behind it from running, unless it was to be forward alone", async () => {
  const { post, result, model, pass, refused } = served();
  for (const forwardOnly of [true, false]) {
    const { model_id } = await model();
    const step = (seq_id: number) => post("optim_step", { model_id, seq_id, adam_params: {} }).then(result);
    await result(await pass(model_id, 1));
    await expect(pass(model_id, 2, forwardOnly, [])).rejects.toThrow('data is "empty"; expected at least one datum');
    const stepped = await step(3);
    if (forwardOnly) expect(stepped).toEqual({ metrics: { grad_norm: expect.any(Number), learning_rate: 1e-4 } });
    else
      expect(stepped).toEqual({
        category: "user",
        error: expect.stringMatching(
          /^optim_step is "behind a forward_backward that failed"; expected a gradient.*Send the pass again, and then the step\. The pass failed because: data is "empty"/s,
        ),
      });
    // The refusal was said once: the next step runs.
    expect(await step(4)).toMatchObject({ metrics: {} });
    expect(await refused("optim_step", { model_id: "m", adam_params: {} })).toMatchObject({ status: 404 });
  }
});

test("weights are saved to continue, under a name that is used once, and loaded into the next model with its optimiser", async () => {
  const { opened, post, result, refused, model, pass, service, session } = served();
  const { session_id, model_id } = await model();
  await pass(model_id, 1);
  await result(await post("optim_step", { model_id, seq_id: 2, adam_params: {} }));
  const saved = await result(await post("save_weights", { model_id, seq_id: 3, path: "one" }));
  const path = `tinker://${model_id}/weights/one`;
  expect(saved).toEqual({ type: "save_weights", path });
  expect(await refused("save_weights", { model_id, seq_id: 4, path: "one" })).toEqual({
    status: 422,
    message: `${path} is "already exists". Names of checkpoints are used once: number them with the step.`,
  });
  expect(await result(await post("save_weights", { model_id, seq_id: 4, path: "one", overwrite: true }))).toEqual(saved);
  const named = await result(await post("save_weights", { model_id, seq_id: 5 }));
  expect(named.path).toMatch(/\/weights\/step-1-[0-9a-f]{8}$/);
  expect(await post("weights_info", { tinker_path: path })).toEqual({ base_model: "tiny", is_lora: true, lora_rank: 2 });

  opened.length = 0;
  const again = await post("load_weights", { session_id, model_seq_id: 9, path, optimizer: true });
  const id = `${session_id}:train:9`;
  expect(again).toEqual({ request_id: expect.any(String), model_id: id });
  expect(await result(again)).toEqual({ type: "load_weights", path, model_id: id });
  // With the optimiser the state is loaded into a fresh model, which then has its steps.
  expect(opened).toEqual([[expect.objectContaining({ rank: 2 }), undefined]]);
  expect(service.model(id).steps).toBe(1);
  opened.length = 0;
  await result(await post("load_weights", { session_id: await session(), path, optimizer: false, base_model: "tiny" }));
  expect(opened).toEqual([[expect.objectContaining({ rank: 2 }), expect.stringMatching(/weights[\\/]one[\\/]weights$/)]]);
});

test("weights are loaded by the first request of a model, and only those that fit", async () => {
  const { post, result, refused, model, session } = served();
  const first = await model({ rank: 2 });
  const { path } = await result(await post("save_weights", { model_id: first.model_id, seq_id: 1, path: "a" }));
  const sampler = await result(await post("save_weights_for_sampler", { model_id: first.model_id, seq_id: 2, path: "b" }));
  const next = await model({ rank: 2 });
  const loaded = await post("load_weights", { model_id: next.model_id, seq_id: 1, path, optimizer: true });
  expect(await result(loaded)).toEqual({ type: "load_weights", path });
  expect(await post("load_weights", { model_id: next.model_id, seq_id: 1, path, optimizer: true })).toEqual(loaded);
  expect(await refused("load_weights", { model_id: next.model_id, seq_id: 2, path, optimizer: true })).toEqual({
    status: 422,
    message:
      'load_weights is "not the first request of its model". Create another model, and load the weights as its first request.',
  });
  const other = await model({ rank: 3 });
  const whole = await model(null);
  const session_id = await session();
  const cases: [object, number, string][] = [
    [{ model_id: other.model_id, path, optimizer: false }, 422, `weights of ${path} is "rank 2"; expected rank 3.`],
    [{ model_id: whole.model_id, path, optimizer: false }, 422, "expected the whole model."],
    [{ path, optimizer: false }, 422, "model_id is missing; expected model_id, or session_id with model_seq_id."],
    [{ session_id: "x", path, optimizer: false }, 404, 'session is "x"'],
    [{ session_id, path, optimizer: false, base_model: "tony" }, 422, 'base_model is "tony"; expected tiny, of the checkpoint.'],
    [
      { session_id, path: sampler.path, optimizer: true },
      422,
      `optimiser of ${sampler.path} is missing; expected a checkpoint of save_weights, or optimizer: false.`,
    ],
    [{ session_id, path: "tinker://m/none", optimizer: false }, 404, "tinker://m/weights/none is"],
  ];
  for (const [body, status, message] of cases) {
    const given = await refused("load_weights", body);
    expect([given.status, given.message]).toEqual([status, expect.stringContaining(message)]);
  }
});

test("weights are saved to sample under a name, or for one session; samples are drawn from them", async () => {
  const { raw, post, result, model, service, session, refused } = served();
  const { session_id, model_id } = await model();
  const named = await result(await post("save_weights_for_sampler", { model_id, seq_id: 1, path: "s" }));
  const path = `tinker://${model_id}/sampler_weights/s`;
  expect(named).toEqual({ type: "save_weights_for_sampler", path, sampling_session_id: null });
  const unnamed = await result(await post("save_weights_for_sampler", { model_id, seq_id: 2, sampling_session_seq_id: 4 }));
  expect(unnamed).toEqual({
    ...{ type: "save_weights_for_sampler", path: null },
    sampling_session_id: expect.stringMatching(new RegExp(`^${session_id}:sample:session-4-[0-9a-f]{8}$`)),
  });
  const id = String(unnamed.sampling_session_id);
  expect(await getRoute(service, ["samplers", id])).toEqual({
    json: { sampler_id: id, base_model: "tiny", model_path: `tinker://${model_id}/sampler_weights/${id.split(":").at(-1)}` },
  });
  const opened = await post("create_sampling_session", { session_id, sampling_session_seq_id: 1, model_path: path });
  expect(opened).toEqual({ type: "create_sampling_session", sampling_session_id: `${session_id}:sample:1` });
  const base = await post("create_sampling_session", {
    session_id: await session(),
    sampling_session_seq_id: 0,
    base_model: "tiny",
  });
  expect(await getRoute(service, ["samplers", String(base.sampling_session_id)])).toMatchObject({ json: { model_path: null } });
  for (const source of [{ sampling_session_id: id }, { model_path: path }, { base_model: "tiny" }, opened]) {
    const { type: _, ...from } = source as Record<string, unknown>;
    const drawn = await post("asample", {
      ...{ ...from, prompt: { chunks: [{ type: "encoded_text", tokens: [1, 2] }] }, num_samples: 2 },
      sampling_params: { max_tokens: 3, seed: 5, stop: [], temperature: 1 },
    });
    expect(drawn.sample_sequence_ids).toEqual([`${drawn.request_id}:0`, `${drawn.request_id}:1`]);
    const reply = await raw("retrieve_future", Buffer.from(JSON.stringify({ request_id: drawn.request_id })));
    const { sequences } = decodeSamples("bytes" in reply ? reply.bytes : new Uint8Array());
    expect(sequences.map(({ tokens, stopReason }) => [tokens.length, stopReason])).toEqual([
      [3, "length"],
      [3, "length"],
    ]);
    expect(sequences[0]?.logprobs).toEqual([1, 2, 3].map(() => expect.closeTo(-logOdds, 5)));
  }
  const wrong = { prompt: { chunks: [{ tokens: [1] }] }, sampling_params: {} };
  expect((await refused("asample", wrong)).message).toContain("expected base_model, model_path or sampling_session_id.");
  expect(await refused("asample", { ...wrong, sampling_session_id: "x" })).toEqual({
    status: 404,
    message: 'sampling session is "x"; expected one of an open session.',
  });
});

test("a checkpoint is downloaded by its archive, and deleted", async () => {
  const { service, post, result, model } = served();
  const { model_id } = await model();
  await result(await post("save_weights", { model_id, seq_id: 1, path: "w" }));
  await result(await post("save_weights_for_sampler", { model_id, seq_id: 2, path: "s" }));
  const at = (...rest: string[]) => ["training_runs", model_id, "checkpoints", ...rest];
  expect(await getRoute(service, at("weights", "w", "archive"))).toEqual({
    location: `/api/v1/training_runs/${model_id}/checkpoints/weights/w/download`,
  });
  const reply = await getRoute(service, at("s", "download")); // without a kind: weights to sample
  expect(reply !== undefined && "bytes" in reply && reply.type).toBe("application/octet-stream");
  const tar = gunzipSync(reply !== undefined && "bytes" in reply ? reply.bytes : Buffer.alloc(0));
  expect(tar.length % 512).toBe(0);
  expect(tar.subarray(0, 11).toString()).toBe("adapter.txt");
  expect(tar.subarray(100, 108).toString()).toBe("0000644\0");
  expect(tar.subarray(124, 136).toString()).toBe("00000000015\0"); // 13 bytes
  expect(tar.subarray(257, 265).toString()).toBe("ustar\x0000");
  const header = Buffer.from(tar.subarray(0, 512));
  header.write(" ".repeat(8), 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  expect(tar.subarray(148, 156).toString()).toBe(`${sum.toString(8).padStart(6, "0")}\0 `);
  expect(tar.subarray(512, 525).toString()).toBe("after 0 steps");
  expect(tar.subarray(1024).every((byte) => byte === 0)).toBe(true);
  expect(tar).toHaveLength(1024 + 1024);
  await expect(getRoute(service, at("other", "w", "download"))).rejects.toThrow("kind of a checkpoint");
  expect(await deleteRoute(service, at("weights"))).toBeUndefined();
  expect(await deleteRoute(service, ["other", model_id, "checkpoints", "weights", "w"])).toBeUndefined();
  expect(await deleteRoute(service, at("weights", "w"))).toEqual({ status: 204 });
  await expect(deleteRoute(service, at("weights", "w"))).rejects.toThrow("not found");
});

test("a result that is not there yet is asked for again; a sample is cancelled; errors say whose they are", async () => {
  const { post, result, model, refused, pass } = served();
  const { model_id } = await model();
  const failed = await pass(model_id, 1);
  await result(failed);
  const step = await post("optim_step", { model_id, seq_id: 2, adam_params: { learning_rate: 1, beta1: 0 } });
  expect(await result(step)).toMatchObject({ metrics: { learning_rate: 1 } });
  expect(await refused("retrieve_future", { request_id: "nope" })).toEqual({
    status: 404,
    message: 'future is "nope"; expected a request of this server, not long ago.',
  });
  expect(await post("cancel_future", { request_id: "nope" })).toEqual({});
  const json = await refused("forward_backward", {});
  expect(json).toEqual({
    status: 415,
    message:
      'content-type of forward_backward is "application/json"; expected application/x-protobuf. ' +
      "Upgrade the client: JSON passes are of an earlier protocol (tinker SDK below 0.25).",
  });
});
