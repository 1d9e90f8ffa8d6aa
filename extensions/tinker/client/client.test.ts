import { afterEach, describe, expect, test, vi } from "vitest";
import { encodeForwardBackwardResult } from "../../../research/tinker-server/wire.ts";
import { TinkerClient, type TinkerOptions } from "./client.ts";
import type { Datum } from "./data.ts";
import { TinkerError } from "./errors.ts";
import type { TinkerModel } from "./model.ts";
import { json, protobuf, ScriptedServer } from "./scripted-server.fixture.ts";
import type { TinkerLogEntry } from "./transport.ts";

const datum: Datum = { tokens: [1, 2, 3], targets: [2, 3, 4] };
const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.95, epsilon: 1e-8 };
const clients: TinkerClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

async function open(server: ScriptedServer, options: TinkerOptions = {}): Promise<TinkerClient> {
  const client = await TinkerClient.connect({
    ...{ baseUrl: "http://scripted", fetch: server.fetch, random: () => 0, patienceMs: 500, busyPatienceMs: 500 },
    ...options,
  });
  clients.push(client);
  return client;
}

async function openModel(server = new ScriptedServer(), options: TinkerOptions = {}) {
  const client = await open(server, options);
  const model = await client.createModel({ baseModel: "tiny", rank: 8, vocabularySize: 10 });
  return { server, client, model };
}

async function failure(call: Promise<unknown>): Promise<TinkerError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(TinkerError);
  return error as TinkerError;
}

describe("requests of a model", () => {
  test("are sent in the order of the calls, each after the last was acknowledged, and awaited in any order", async () => {
    const { server, model } = await openModel();
    server.slowPolls = 2;
    const pass = model.forwardBackward([datum], "cross_entropy");
    const step = model.optimStep(adam);
    const again = model.forward([datum]);
    expect((await step).gradientNorm).toBe(2);
    expect((await again).fields.logprobs).toEqual([[-2, -3, -4]]);
    expect((await pass).metrics).toEqual({ "loss:sum": 1 });
    expect(server.applied).toEqual(["forward_backward 1", "optim_step 2", "forward_backward 3"]);
  });

  test("wait, if a step, for the results of the passes before it, and are not sent if one fails", async () => {
    const { server, model } = await openModel();
    server.slowPolls = 2;
    const [pass, scored, step] = [model.forwardBackward([datum], "cross_entropy"), model.forward([datum]), model.optimStep(adam)];
    await Promise.all([pass, scored]);
    expect(server.applied).toEqual(["forward_backward 1", "forward_backward 2"]);
    await step;
    server.results.forward_backward = () => json({ error: "out of memory", category: "server" });
    const [failed, held] = [model.forwardBackward([datum], "cross_entropy"), model.optimStep(adam)];
    const error = await failure(failed);
    expect(await failure(held)).toMatchObject({ kind: "not-sent", retry: error.retry, cause: error });
    expect(server.applied).toEqual(["forward_backward 1", "forward_backward 2", "optim_step 3", "forward_backward 4"]);
  });

  test("wait, if a step, for a pass that is refused before it is sent", async () => {
    const { server, model } = await openModel();
    const [refused, step] = [model.forwardBackward([], "cross_entropy"), model.optimStep(adam)];
    expect(await failure(step)).toMatchObject({ kind: "not-sent", retry: "never", cause: await failure(refused) });
    await model.optimStep(adam);
    expect(server.applied).toEqual(["optim_step 1"]);
  });

  test.each(["refuse", "lose-request", "lose-answer", 429, 503] as const)(
    "are applied once, whatever happens first: %s",
    async (fault) => {
      const { server, model } = await openModel();
      for (const path of ["forward_backward", "optim_step", "retrieve_future", "save_weights"]) server.faults[path] = [fault];
      const [pass, step] = [model.forwardBackward([datum], "cross_entropy"), model.optimStep(adam)];
      expect((await pass).fields.logprobs).toHaveLength(1);
      expect((await step).gradientNorm).toBe(2);
      expect(await model.saveWeights("a")).toMatch(/^tinker:\/\/model\/(weights\/)?a$/);
      expect(server.applied).toEqual(["forward_backward 1", "optim_step 2", "save_weights 3"]);
    },
  );

  test("are not sent behind one that was refused, whose number is used again", async () => {
    const { server, model } = await openModel();
    server.faults.forward_backward = [422];
    const [pass, step] = [model.forwardBackward([datum], "gspo"), model.optimStep(adam)];
    expect(await failure(pass)).toMatchObject({ kind: "request", status: 422, retry: "never" });
    expect(await failure(step)).toMatchObject({ kind: "not-sent", retry: "never" });
    await model.forwardBackward([datum], "cross_entropy");
    await model.optimStep(adam);
    expect(server.applied).toEqual(["forward_backward 1", "optim_step 2"]);
  });

  test("are not sent any more once nobody knows what was applied", async () => {
    const { server, model } = await openModel(new ScriptedServer(), { patienceMs: 0 });
    server.faults.optim_step = ["lose-answer", "lose-answer", "lose-answer"];
    const error = await failure(model.optimStep(adam));
    expect(error).toMatchObject({ kind: "lost", retry: "from-checkpoint" });
    expect(await failure(model.forward([datum]))).toMatchObject({ kind: "not-sent", retry: "from-checkpoint", cause: error });
    expect(server.applied).toEqual(["optim_step 1"]);
  });

  test("carry at most a given number of data each, and come back as one result", async () => {
    const { server, model } = await openModel();
    const data = Array.from({ length: 1030 }, (_, i) => ({ ...datum, targets: [i % 10, 3, 4] }));
    const { fields, metrics } = await model.forward(data);
    expect(fields.logprobs.map(([first]) => first)).toEqual(data.map(({ targets }) => -targets[0]));
    expect(metrics).toEqual({ "loss:sum": 2 });
    expect(server.applied).toEqual(["forward_backward 1", "forward_backward 2"]);
  });

  test("unload after a step without length, which clears a gradient that the next model would inherit", async () => {
    const { server, model } = await openModel();
    await model.unload();
    expect(server.arrived.filter((path) => path !== "retrieve_future").slice(-2)).toEqual(["optim_step", "unload_model"]);
  });
});

describe("what is sent is checked, because servers do not", () => {
  const wrong: [string, (model: TinkerModel) => Promise<unknown>, RegExp][] = [
    ["no data", (model) => model.forward([]), /data is "empty"/],
    ["a foreign token", (model) => model.forward([{ tokens: [10], targets: [1] }]), /tokens of datum 0 is 10; expected .*0 to 9/],
    ["a negative target", (model) => model.forward([{ tokens: [1], targets: [-1] }]), /targets of datum 0 is -1/],
    ["too few targets", (model) => model.forward([{ tokens: [1, 2], targets: [1] }]), /targets of datum 0 is 1; expected 2/],
    ["too long", (model) => model.forward([{ tokens: Array(33).fill(1), targets: Array(33).fill(1) }]), /at most 32/],
    [
      "NaN",
      (model) => model.forwardBackward([{ ...datum, inputs: { weights: [1, Number.NaN, 0] } }], "x"),
      /weights of datum 0 is NaN/,
    ],
    ["more than a float32", (model) => model.forwardBackward([{ ...datum, inputs: { weights: [1, 1e39, 0] } }], "x"), /1e\+39/],
    [
      "too few weights",
      (model) => model.forwardBackward([{ ...datum, inputs: { weights: [1] } }], "x"),
      /weights of datum 0 is 1/,
    ],
    ["a learning rate", (model) => model.optimStep({ ...adam, learningRate: Number.NaN }), /adam.learningRate is NaN/],
    ["a name", (model) => model.saveWeights("a/b"), /name of a checkpoint is "a\/b"/],
  ];
  test.each(wrong)("%s", async (_, call, message) => {
    const { server, model } = await openModel();
    const before = server.arrived.length;
    const error = await failure(call(model));
    expect(error.message).toMatch(message);
    expect(error).toMatchObject({ kind: "request", retry: "never" });
    expect(server.arrived.length).toBe(before);
  });
});

describe("what comes back is checked", () => {
  const result = (rows: number[][]) => () =>
    protobuf(encodeForwardBackwardResult({ fields: { logprobs: rows }, metrics: {} }, "x"));
  test.each([
    ["too few data", result([]), /data in a result is 0; expected 1/],
    ["too few log-probs", result([[-1]]), /log-probs of datum 0 is 1; expected 3/],
    ["NaN", result([[-1, Number.NaN, -1]]), /a log-prob of datum 0 is NaN/],
    ["JSON", () => json({ loss_fn_outputs: [] }), /malformed/],
    ["half a message", () => protobuf(Uint8Array.of(18, 200, 1)), /malformed/],
  ] as const)("%s", async (_, answer, message) => {
    const { server, model } = await openModel();
    server.results.forward_backward = answer;
    const error = await failure(model.forward([datum]));
    expect(error.message).toMatch(message);
    expect(error).toMatchObject({ kind: "answer", retry: "from-checkpoint" });
  });

  test("a norm that is null: the weights are NaN", async () => {
    const { server, model } = await openModel();
    server.results.optim_step = () => json({ metrics: { "skyrl.ai/grad_norm": null } });
    expect(await failure(model.optimStep(adam))).toMatchObject({ kind: "answer", retry: "from-checkpoint" });
  });

  test.each([
    ["the engine's error", json({ detail: "Model model not loaded" }, 400), "failed", "from-checkpoint"],
    ["a sequence conflict", json({ detail: "Sequence conflict: expected 3, got 2" }, 409), "conflict", "from-checkpoint"],
    ["a lost future", json({ detail: "Future not found" }, 404), "lost", "from-checkpoint"],
    ["a failure by the hosted convention", json({ error: "no such loss", category: "user" }), "failed", "never"],
    ["a result that cannot be encoded", new Response("Internal Server Error", { status: 500 }), "failed", "from-checkpoint"],
  ] as const)("%s", async (_, answer, kind, retry) => {
    const { server, model } = await openModel();
    server.results.forward_backward = () => answer.clone();
    expect(await failure(model.forward([datum]))).toMatchObject({ kind, retry });
  });
});

describe("sampling", () => {
  const call = { prompt: [1, 2, 3], maxTokens: 4, seed: 1 };

  test("keeps at most a given number of calls in flight", async () => {
    const { server, model } = await openModel(new ScriptedServer(), { inFlight: 3 });
    const sampler = await model.saveForSampler("s");
    server.maxInFlight = 0;
    const drawn = await Promise.all(Array.from({ length: 20 }, () => sampler.sample(call)));
    expect(drawn.map(({ sequences }) => sequences[0].tokens)).toEqual(Array(20).fill([3]));
    expect(server.maxInFlight).toBe(3);
  });

  test("draws again what the server lost", async () => {
    const { server, model } = await openModel();
    const sampler = await model.saveForSampler("s");
    server.faults.retrieve_future = [404, 410];
    expect((await sampler.sample(call)).sequences).toHaveLength(1);
    expect(server.arrived.filter((path) => path === "asample")).toHaveLength(3);
  });

  test("is cancelled while it waits for its turn, and while it waits for a result", async () => {
    const { server, model } = await openModel(new ScriptedServer(), { inFlight: 1 });
    const sampler = await model.saveForSampler("s");
    server.slowPolls = Number.POSITIVE_INFINITY;
    const [first, second] = [new AbortController(), new AbortController()];
    const running = failure(sampler.sample(call, { signal: first.signal }));
    const waiting = failure(sampler.sample(call, { signal: second.signal }));
    await new Promise((resolve) => setTimeout(resolve, 20));
    second.abort();
    expect(await waiting).toMatchObject({ kind: "cancelled", retry: "later" });
    first.abort();
    expect(await running).toMatchObject({ kind: "cancelled", retry: "later" });
    server.slowPolls = 0;
    expect((await sampler.sample(call)).sequences).toHaveLength(1);
  });

  test("says what keeps the server's queue, and gives up after a time", async () => {
    const messages: string[] = [];
    const { server, model } = await openModel(new ScriptedServer(), {
      resultTimeoutMs: 60,
      onMessage: (text) => messages.push(text),
    });
    const sampler = await model.saveForSampler("s");
    server.slowPolls = Number.POSITIVE_INFINITY;
    expect(await failure(sampler.sample(call))).toMatchObject({
      ...{ kind: "timeout", retry: "later", hint: "Raise resultTimeoutMs if the server is only slow." },
    });
    expect(messages).toContain("hello");
    expect(messages).toContain("the server's queue: paused_capacity");
  });

  test("refuses what no server should be sent", async () => {
    const { model } = await openModel();
    const sampler = await model.saveForSampler("s");
    for (const bad of [
      { prompt: [] },
      { prompt: [10] },
      { maxTokens: 0 },
      { samples: 0 },
      { temperature: -1 },
      { maxTokens: 30 },
    ])
      expect(await failure(sampler.sample({ ...call, ...bad }))).toMatchObject({ kind: "request", retry: "never" });
  });
});

describe("a connection", () => {
  test("sends the key in one header, and writes it nowhere", async () => {
    const server = new ScriptedServer();
    const entries: TinkerLogEntry[] = [];
    const { model } = await openModel(server, { apiKey: "tml-secret", log: (entry) => entries.push(entry) });
    expect(server.headers["x-api-key"]).toBe("tml-secret");
    server.faults.forward_backward = [403];
    server.results.optim_step = () => json({ detail: "tml-secret is not welcome" }, 400);
    const errors = [await failure(model.forward([datum]))];
    expect(errors[0]).toMatchObject({ kind: "key", status: 403 });
    expect(JSON.stringify([entries, errors.map(({ message }) => message)])).not.toContain("secret");
    expect(entries.find(({ path }) => path === "forward_backward")).toMatchObject({ status: 403, attempt: 1, method: "POST" });
  });

  test("trades the key for tokens where the server wants them, and renews them", async () => {
    const claims = Buffer.from(JSON.stringify({ iat: 0, exp: 0 })).toString("base64url");
    const server = new ScriptedServer();
    const seen: string[] = [];
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const path = String(input).replace(/^.*\/api\/v1\//, "");
      seen.push(`${path} ${new Headers(init?.headers).get("x-api-key")}`);
      if (path === "client/config") return json({ pjwt_auth_enabled: true });
      if (path === "auth/token") return json({ jwt: `head.${claims}.${seen.length}` });
      return server.fetch(input, init);
    };
    await open(server, { fetch, apiKey: "tml-key" });
    expect(seen.filter((line) => line.startsWith("auth/token"))).toEqual(Array(4).fill("auth/token tml-key"));
    expect(seen.find((line) => line.startsWith("create_session"))).toMatch(/^create_session head\./);
  });

  test.each([
    ["no address", { baseUrl: undefined }, "address", /baseUrl is missing/],
    ["no web address", { baseUrl: "localhost:1" }, "address", /baseUrl is "localhost:1"/],
    [
      "a key with a line break",
      { apiKey: "a\nb" },
      "key",
      /apiKey is "\[hidden\]"; expected printable characters without spaces/,
    ],
  ] as const)("refuses %s", async (_, options, kind, message) => {
    const error = await failure(open(new ScriptedServer(), options as TinkerOptions));
    expect(error.kind).toBe(kind);
    expect(error.message).toMatch(message);
  });

  test("says that nothing answers, that something else answers, and which server is too old", async () => {
    const down = new ScriptedServer();
    down.faults.healthz = Array(100).fill("refuse");
    const fetch = down.fetch;
    expect(await failure(open(down, { fetch }))).toMatchObject({ kind: "address", retry: "later" });
    const web = new ScriptedServer();
    web.faults.healthz = [404];
    expect((await failure(open(web))).message).toMatch(
      /no Tinker server".*Something else answers there\. Give the address without \/api\/v1/,
    );
    const old = new ScriptedServer();
    old.faults.forward = [422];
    expect(await failure(open(old))).toMatchObject({
      kind: "old-wire",
      message: expect.stringContaining("SkyRL needs version 0.4"),
    });
  });

  test("waits 30 seconds for a server that takes the connection and never answers", async () => {
    vi.useFakeTimers();
    const fetch: typeof globalThis.fetch = (_, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
    const failed = failure(open(new ScriptedServer(), { fetch }));
    let isOver = false;
    void failed.then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(29_900);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(isOver).toBe(true);
    expect(await failed).toMatchObject({ kind: "timeout" });
    vi.useRealTimers();
  });

  test("names the models that the server has", async () => {
    const client = await open(new ScriptedServer());
    expect((await failure(client.createModel({ baseModel: "tony", rank: 8 }))).message).toBe(
      'base model is "tony"; expected "tiny".',
    );
  });

  test.each(["healthz", "client/config", "get_server_capabilities", "forward", "create_session"])(
    "asks %s again where its answer was lost",
    async (path) => {
      const server = new ScriptedServer();
      server.faults[path] = ["lose-answer", 500];
      expect((await open(server)).sessionId).toBe("session");
      expect(server.arrived.filter((each) => each === path)).toHaveLength(3);
    },
  );

  test("asks what a checkpoint is, for its files and for its end again where the answer was lost", async () => {
    const server = new ScriptedServer();
    const { client, model } = await openModel(server);
    const asks: Record<string, () => Promise<unknown>> = {
      weights_info: () => client.weightsInfo("tinker://m/weights/a"),
      unload_model: () => model.unload(),
      asample: () => client.baseSampler("tiny").sample({ prompt: [1], maxTokens: 1 }),
      "training_runs/m/checkpoints/weights/a": () => client.deleteWeights("tinker://m/weights/a"),
    };
    for (const [path, ask] of Object.entries(asks)) {
      server.faults[path] = ["lose-answer"];
      await ask();
      expect([path, server.arrived.filter((each) => each === path).length]).toEqual([path, 2]);
    }
  });

  test("creates no second model where the answer to the first was lost", async () => {
    const server = new ScriptedServer();
    const client = await open(server);
    server.faults.create_model = ["refuse", "lose-answer"];
    expect(await failure(client.createModel({ baseModel: "tiny", rank: 8 }))).toMatchObject({ kind: "lost" });
    expect(server.arrived.filter((path) => path === "create_model")).toHaveLength(2);
  });

  test("beats, and refuses new models once the server ended the session", async () => {
    const server = new ScriptedServer();
    server.faults.session_heartbeat = [undefined, 410];
    const client = await open(server, { heartbeatMs: 5 });
    const beaten = () => server.arrived.filter((path) => path === "session_heartbeat").length;
    await vi.waitFor(() => expect(beaten()).toBeGreaterThan(2), { timeout: 60_000 });
    expect(await failure(client.createModel({ baseModel: "tiny", rank: 8 }))).toMatchObject({ status: 410 });
    client.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const beats = server.arrived.length;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(server.arrived.length).toBe(beats);
  });
});
