import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test, vi } from "vitest";
import { TinkerClient, type TinkerOptions } from "./client.ts";
import type { TinkerError } from "./errors.ts";
import { json, protobuf, ScriptedServer } from "./scripted-server.fixture.ts";

const clients: TinkerClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** A client of a scripted server, and what it sends. @param answers instead of the usual ones, by path */
async function open(answers: Record<string, () => Response> = {}, options: TinkerOptions = {}) {
  const server = new ScriptedServer();
  const sent: Sent[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const path = String(input).replace(/^.*?\/api\/v1\//, "");
    const { body, method = "GET" } = init ?? {};
    const text = body instanceof Uint8Array ? Buffer.from(body).toString() : undefined;
    if (path !== "session_heartbeat") sent.push({ method, path, body: text?.startsWith("{") ? JSON.parse(text) : text });
    return answers[path]?.() ?? server.fetch(input, init);
  };
  const client = await TinkerClient.connect({
    ...{ baseUrl: "http://scripted", fetch, random: () => 0, patienceMs: 500, busyPatienceMs: 500 },
    ...options,
  });
  clients.push(client);
  return { client, server, sent, answers, last: (path: string) => sent.findLast((each) => each.path === path)?.body };
}

const failure = (work: Promise<unknown>): Promise<TinkerError> =>
  work.then(
    () => {
      throw new Error("no failure");
    },
    (error: TinkerError) => error,
  );

test.each([
  ["http://host:1", "http://host:1"],
  ["http://host:1/", "http://host:1"],
  ["https://host/api/v1/", "https://host"],
  ["https://host/base/api/v1", "https://host/base"],
  ["http://host/?a=b#c", "http://host"],
])("the server of %s is at %s", async (baseUrl, address) => {
  expect((await open({}, { baseUrl })).client.baseUrl).toBe(address);
});

test("a session is asked for by the version that is spoken, with its tags", async () => {
  const supported = [{ model_name: "tiny", max_context_length: 32 }, { model_name: "other" }, { model_name: null }];
  const messages: string[] = [];
  const { client, sent } = await open(
    {
      get_server_capabilities: () => json({ supported_models: supported }),
      create_session: () => json({ session_id: "s9", info_message: "a", warning_message: "b", error_message: "c" }),
    },
    { tags: ["x"], onMessage: (message) => messages.push(message) },
  );
  expect(client).toMatchObject({ sessionId: "s9", models: [{ name: "tiny", maxLength: 32 }, { name: "other" }] });
  expect(messages).toEqual(["a", "b", "c"]);
  expect(sent).toEqual([
    { method: "GET", path: "healthz", body: undefined },
    { method: "POST", path: "client/config", body: { sdk_version: "0.38.0" } },
    { method: "GET", path: "get_server_capabilities", body: undefined },
    { method: "POST", path: "forward", body: {} },
    {
      ...{ method: "POST", path: "create_session" },
      body: { tags: ["x"], user_metadata: null, sdk_version: "0.38.0", type: "create_session" },
    },
  ]);
});

test("a model is made with its rank and seed, and knows the server's limit", async () => {
  const { client, last } = await open();
  const first = await client.createModel({ baseModel: "tiny", rank: 8 });
  expect(last("create_model")).toEqual({
    ...{ session_id: "session", model_seq_id: 0, base_model: "tiny", lora_config: { rank: 8 }, type: "create_model" },
  });
  expect(first.limits).toEqual({ maxLength: 32 });
  const second = await client.createModel({ baseModel: "tiny", rank: 0, seed: 5, vocabularySize: 10, maxLength: 16 });
  expect(last("create_model")).toMatchObject({ model_seq_id: 1, lora_config: { rank: 0, seed: 5 } });
  expect(second.limits).toEqual({ maxLength: 16, vocabularySize: 10 });
  for (const rank of [-1, 1.5, Number.NaN])
    expect(await failure(client.createModel({ baseModel: "tiny", rank }))).toMatchObject({ subject: "rank", kind: "request" });
  const unnamed = await open({ get_server_capabilities: () => json({ supported_models: [] }) });
  expect((await unnamed.client.createModel({ baseModel: "any", rank: 1 })).limits).toEqual({});
});

test("checkpoints are known, loaded, deleted and downloaded by their paths", async () => {
  const info = { base_model: "tiny", is_lora: true, lora_rank: 4 };
  const { client, answers, sent, last } = await open({ weights_info: () => json(info) });
  expect(await client.weightsInfo("tinker://m/weights/a")).toEqual({ baseModel: "tiny", rank: 4 });
  expect(last("weights_info")).toEqual({ tinker_path: "tinker://m/weights/a" });
  for (const [change, rank] of [
    [{ lora_rank: null }, 0],
    [{ is_lora: false }, 0],
  ] as const) {
    answers.weights_info = () => json({ ...info, ...change });
    expect((await client.weightsInfo("x")).rank).toBe(rank);
  }
  await client.loadModel("tinker://m/weights/a", { optimizer: true, maxLength: 7 });
  expect(last("load_weights")).toEqual({
    ...{ model_id: "model", seq_id: 1, path: "tinker://m/weights/a", optimizer: true, type: "load_weights" },
  });
  const route = "training_runs/m/checkpoints/weights/a";
  answers[route] = () => json({}, 404);
  await client.deleteWeights("tinker://m/weights/a");
  expect(sent.at(-1)).toEqual({ method: "DELETE", path: route, body: undefined });
  answers[route] = () => json({}, 403);
  expect(await failure(client.deleteWeights("tinker://m/weights/a"))).toMatchObject({ kind: "key" });
  answers["training_runs/m/checkpoints/e/archive"] = () => new Response(new Uint8Array(gzipSync(Buffer.alloc(1024))));
  expect(await client.downloadWeights("m", "e")).toEqual(new Map());
  expect(sent.at(-1)).toMatchObject({ method: "GET", path: "training_runs/m/checkpoints/e/archive" });
});

test("a step has all of Adam's settings, also those that the caller leaves out", async () => {
  const { client, server, last } = await open();
  const model = await client.createModel({ baseModel: "tiny", rank: 8 });
  const adam = { learningRate: 0.1, beta1: 0.9, beta2: 0.95, epsilon: 1e-8 };
  const sent = { learning_rate: 0.1, beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0, grad_clip_norm: 0 };
  await model.optimStep(adam);
  expect(last("optim_step")).toEqual({ model_id: "model", seq_id: 1, adam_params: sent, type: "optim_step" });
  await model.optimStep({ ...adam, weightDecay: 0.2, clipNorm: 3 });
  expect(last("optim_step")).toMatchObject({ seq_id: 2, adam_params: { ...sent, weight_decay: 0.2, grad_clip_norm: 3 } });
  for (const [metrics, expected] of [
    [
      { "a/grad_norm:mean": 3, other: 1, gone: null },
      { gradientNorm: 3, metrics: { "a/grad_norm:mean": 3, other: 1 } },
    ],
    [{ other: 1 }, { gradientNorm: undefined, metrics: { other: 1 } }],
    [undefined, { gradientNorm: undefined, metrics: {} }],
  ] as const) {
    server.results.optim_step = () => json({ metrics });
    expect(await model.optimStep(adam)).toEqual(expected);
  }
  await model.unload();
  expect(last("optim_step")).toMatchObject({ adam_params: { learning_rate: 0 } });
  expect(last("unload_model")).toEqual({ model_id: "model", type: "unload_model" });
});

test("a name that another process took is refused; one that this call took before its answer was lost is waited for", async () => {
  const { client, server, answers, last } = await open();
  const model = await client.createModel({ baseModel: "tiny", rank: 8 });
  expect(await model.saveWeights("a")).toBe("tinker://model/a");
  expect(last("save_weights")).toEqual({ model_id: "model", seq_id: 1, path: "a", type: "save_weights" });
  expect(await failure(model.saveWeights("a"))).toMatchObject({
    ...{ kind: "conflict", retry: "never", status: 409, hint: "Names of checkpoints are used once: number them with the step." },
  });
  server.faults.save_weights = ["lose-answer"];
  let asked = 0;
  answers.weights_info = () => (++asked < 3 ? json({}, 425) : json({ base_model: "tiny", is_lora: true }));
  expect(await model.saveWeights("b")).toBe("tinker://model/weights/b");
  expect(asked).toBe(3);
  expect(last("weights_info")).toEqual({ tinker_path: "tinker://model/weights/b" });
});

describe("a sample", () => {
  const call = { prompt: [1, 2, 3], maxTokens: 4 };

  test("is asked for with the customary settings, and others only where they are used", async () => {
    const { client, last } = await open();
    const sampler = client.baseSampler("tiny", { maxLength: 32 });
    await sampler.sample(call);
    const prompt = { chunks: [{ type: "encoded_text", tokens: [1, 2, 3] }] };
    const sampling = { max_tokens: 4, temperature: 1, top_p: 1, top_k: -1 };
    expect(last("asample")).toEqual({ base_model: "tiny", prompt, num_samples: 1, sampling_params: sampling, type: "sample" });
    const chosen = { temperature: 0, topP: 0.5, topK: 7, seed: 9, stop: ["x"] };
    await sampler.sample({ ...call, ...chosen, topPromptLogprobs: 2, topLogprobs: 3 });
    expect(last("asample")).toEqual({
      ...{ base_model: "tiny", prompt, num_samples: 1, type: "sample", topk_prompt_logprobs: 2, topk_sample_logprobs: 3 },
      sampling_params: { max_tokens: 4, temperature: 0, top_p: 0.5, top_k: 7, seed: 9, stop: ["x"] },
    });
    expect(await failure(sampler.promptLogprobs([1, 2, 3]))).toMatchObject({ subject: "log-probs of the prompt" });
    expect(last("asample")).toMatchObject({ prompt_logprobs: true, sampling_params: { max_tokens: 1, seed: 0 } });
  });

  test("whose result is lost is drawn four times at most; other errors once", async () => {
    for (const [fault, draws] of [
      [404, 4],
      [410, 4],
      [500, 1],
      [422, 1],
    ] as const) {
      const { client, server, sent } = await open();
      server.faults.retrieve_future = Array(20).fill(fault);
      const { hint } = await failure(client.baseSampler("tiny").sample(call));
      if (draws > 1) expect(hint).toBe("The server was restarted, or dropped the result before it was fetched.");
      expect(sent.filter(({ path }) => path === "asample")).toHaveLength(draws);
    }
  });

  test("whose poll ends without an answer, or with a proxy's, is polled again", async () => {
    let polls = 0;
    const { client, server, answers } = await open();
    const page = () => new Response("<html>", { status: 400 });
    answers.retrieve_future = () => {
      polls++;
      if (polls <= 3) return page();
      if (polls === 4) return json({}, 408);
      if (polls === 5) return json({ status: "complete_metadata" });
      return (answers.done ?? page)();
    };
    expect(await failure(client.baseSampler("tiny").sample(call))).toMatchObject({ kind: "failed", status: 400 });
    expect(polls).toBe(6);
    server.results.asample = () => json({ tokens: [] });
    delete answers.retrieve_future;
    expect(await failure(client.baseSampler("tiny").sample(call))).toMatchObject({ kind: "answer", value: "malformed" });
    server.results.asample = () => protobuf(Uint8Array.of(10, 200, 1));
    expect(await failure(client.baseSampler("tiny").sample(call))).toMatchObject({ kind: "answer", retry: "later" });
    server.results.asample = () => json({ error: "busy", category: "server" });
    expect(await failure(client.baseSampler("tiny").sample(call))).toMatchObject({
      kind: "failed",
      retry: "later",
      value: "busy",
    });
    server.results.asample = () => json({ error: "bad", category: "odd" });
    expect(await failure(client.baseSampler("tiny").sample(call))).toMatchObject({ kind: "failed", retry: "later" });
  });
});

test("an acknowledgement without an id is an answer that cannot be used", async () => {
  const { client } = await open({ asample: () => json({ id: 1 }), create_model: () => new Response("<html>") });
  expect(await failure(client.baseSampler("tiny").sample({ prompt: [1], maxTokens: 1 }))).toMatchObject({ kind: "answer" });
  expect(await failure(client.createModel({ baseModel: "tiny", rank: 1 }))).toMatchObject({ kind: "answer", expected: "JSON" });
});

test("signs of life come in their time, the first at once", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  try {
    const { client, server } = await open({}, { heartbeatMs: 1000 });
    const beats = () => server.arrived.filter((path) => path === "session_heartbeat").length;
    await vi.advanceTimersByTimeAsync(0);
    expect(beats()).toBe(1);
    await vi.advanceTimersByTimeAsync(2500);
    expect(beats()).toBe(3);
    client.close();
    await vi.advanceTimersByTimeAsync(5000);
    expect(beats()).toBe(3);
  } finally {
    vi.useRealTimers();
  }
});
