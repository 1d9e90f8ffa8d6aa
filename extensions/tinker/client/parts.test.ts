import { gzipSync } from "node:zlib";
import { afterEach, expect, test, vi } from "vitest";
import { readArchive } from "./archive.ts";
import type { Answer, Call } from "./call.ts";
import { checkAdam, checkData, checkedSamples, checkName, checkPass, checkSample } from "./check.ts";
import { chunksOf, combine } from "./chunks.ts";
import { TinkerError } from "./errors.ts";
import { connectionFailure, detailOf, statusError } from "./failures.ts";
import { Credential } from "./key.ts";
import { Sequence } from "./sequence.ts";
import { limiter } from "./session.ts";
import { type TinkerLogEntry, Transport, type TransportOptions } from "./transport.ts";

afterEach(() => void vi.useRealTimers());

const bytes = (text: string) => new TextEncoder().encode(text);
const errorOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

// ---- data of a pass in several requests

const datum = (length: number, inputs?: Record<string, number[]>) => {
  const ids = Array<number>(length).fill(1);
  return { tokens: ids, targets: ids, ...(inputs && { inputs }) };
};

test("requests hold as many data and bytes as they may, and a larger datum travels alone", () => {
  const sizes = (lengths: number[], data: number, limit: number) =>
    chunksOf(
      lengths.map((length) => datum(length)),
      { data, bytes: limit },
    ).map((chunk) => chunk.map(({ tokens }) => tokens.length));
  expect(sizes([1, 1, 1, 1, 1], 2, 1e6)).toEqual([[1, 1], [1, 1], [1]]);
  // A datum of n tokens is 64 + 4n + 8n bytes: 76 for one.
  expect(sizes([1, 1, 1], 9, 152)).toEqual([[1, 1], [1]]);
  expect(sizes([1, 1, 1], 9, 151)).toEqual([[1], [1], [1]]);
  expect(sizes([1, 100, 1], 9, 152)).toEqual([[1], [100], [1]]);
  // Inputs are float32, 32 bytes more each: 76 + 2 · (32 + 4) = 148.
  const inputs = { weights: [1], advantages: [1] };
  expect(chunksOf([datum(1, inputs), datum(1, inputs)], { data: 9, bytes: 296 })).toHaveLength(1);
  expect(chunksOf([datum(1, inputs), datum(1, inputs)], { data: 9, bytes: 295 })).toHaveLength(2);
});

test("results of one pass are joined: rows in order, metrics by the reduction that ends their name", () => {
  const part = (rows: number[][], metrics: Record<string, number>, more: Record<string, number[][]> = {}) => ({
    ...{ fields: { logprobs: rows, ...more }, metrics },
  });
  const one = part([[-1]], { "loss:sum": 1 });
  expect(combine([one])).toBe(one);
  const joined = combine([
    part([[-1], [-2], [-3]], { "loss:sum": 1, "kl:mean": 0.5, "a:max": 1, "b:min": 1, plain: 2, "c:d:mean": 4 }, { loss: [[1]] }),
    part([[-4]], { "loss:sum": 2, "kl:mean": 4.5, "a:max": 3, "b:min": -3, plain: 5 }),
  ]);
  expect(joined).toEqual({
    fields: { logprobs: [[-1], [-2], [-3], [-4]], loss: [[1]] },
    // (3 · 0.5 + 1 · 4.5) / 4
    metrics: { "loss:sum": 3, "kl:mean": 1.5, "a:max": 3, "b:min": -3, plain: 7, "c:d:mean": 4 },
  });
  expect(combine([])).toEqual({ fields: { logprobs: [] }, metrics: {} });
});

// ---- downloaded weights

/** A ustar archive of these files. */
function tar(...files: readonly (readonly [name: string, content: string, type?: string, prefix?: string])[]): Buffer {
  const blocks = files.map(([name, content, type = "0", prefix = ""]) => {
    const head = Buffer.alloc(512);
    head.write(name, 0);
    head.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
    head.write(type, 156);
    head.write(prefix, 345);
    const body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
    body.write(content);
    return Buffer.concat([head, body]);
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

test("an archive's files are read by their paths; folders are none", async () => {
  const long = "x".repeat(513);
  const archive = tar(
    ["./a.json", "{}"],
    ["dir/", "", "5"],
    ["b.bin", long, "0", "deep/er"],
    ["old", "o", "\0"],
    ["link", "", "2"],
  );
  const files = await readArchive(gzipSync(archive));
  expect([...files].map(([path, content]) => [path, Buffer.from(content).toString()])).toEqual([
    ["a.json", "{}"],
    ["deep/er/b.bin", long],
    ["old", "o"],
  ]);
});

test("an archive that is cut off, or none, is an answer that cannot be used", async () => {
  const whole = tar(["a", "x".repeat(600)]);
  await expect(readArchive(gzipSync(whole.subarray(0, 1000)))).rejects.toMatchObject({ value: "cut off", retry: "later" });
  const wrong = Buffer.from(whole);
  wrong.write("zzz", 124);
  await expect(readArchive(gzipSync(wrong))).rejects.toMatchObject({ value: "cut off" });
  await expect(readArchive(bytes("no gzip"))).rejects.toMatchObject({ value: "no gzip", kind: "answer", retry: "never" });
  expect((await readArchive(gzipSync(whole.subarray(0, 512 + 600)))).size).toBe(1);
});

// ---- checks

const limits = { vocabularySize: 10, maxLength: 8 };

test.each<[object, string | undefined]>([
  [{}, undefined],
  [{ prompt: [0, 9] }, undefined],
  [{ prompt: [] }, "prompt"],
  [{ prompt: [10] }, "prompt"],
  [{ prompt: [-1] }, "prompt"],
  [{ prompt: [0.5] }, "prompt"],
  [{ prompt: Array(9).fill(1), maxTokens: 1 }, "number of prompt"],
  [{ maxTokens: 6 }, undefined],
  [{ maxTokens: 7 }, "prompt and maxTokens"],
  [{ maxTokens: 0 }, "maxTokens"],
  [{ maxTokens: 1.5 }, "maxTokens"],
  [{ samples: 1 }, undefined],
  [{ samples: 0 }, "samples"],
  [{ samples: 1.5 }, "samples"],
  [{ temperature: 0 }, undefined],
  [{ temperature: -0.1 }, "temperature"],
  [{ temperature: Number.POSITIVE_INFINITY }, "temperature"],
  [{ temperature: Number.NaN }, "temperature"],
  [{ topP: 1 }, undefined],
  [{ topP: 0 }, "topP"],
  [{ topP: 1.01 }, "topP"],
  [{ topK: 0 }, undefined],
  [{ topK: -1 }, "topK"],
  [{ topK: 1.5 }, "topK"],
])("a sample with %j is refused for %s", (change, subject) => {
  const error = errorOf(() => checkSample({ prompt: [1, 2], maxTokens: 1, ...change }, limits));
  if (subject === undefined) expect(error).toBeUndefined();
  else expect(error).toMatchObject({ subject, kind: "request", retry: "never" });
});

test("limits that are not known are not checked", () => {
  expect(errorOf(() => checkSample({ prompt: [2 ** 31 - 1], maxTokens: 1e9 }, {}))).toBeUndefined();
  expect(errorOf(() => checkSample({ prompt: [2 ** 31], maxTokens: 1 }, {}))).toMatchObject({ subject: "prompt" });
  const data = [{ tokens: [1, 2], targets: [2, 3], inputs: { weights: [3.4e38, -1] } }];
  expect(errorOf(() => checkData(data, limits))).toBeUndefined();
  expect(errorOf(() => checkData([...data, { ...data[0], inputs: { weights: [1, 3.5e38] } }], limits))).toMatchObject({
    subject: "weights of datum 1",
  });
});

test("names and settings of Adam", () => {
  for (const name of ["a", "A-9_", "x".repeat(255)]) expect(errorOf(() => checkName(name))).toBeUndefined();
  for (const name of ["", "a b", "ä", "x".repeat(256), "a\n"]) expect(errorOf(() => checkName(name))).toBeInstanceOf(TinkerError);
  const adam = { learningRate: 0, beta1: 0, beta2: 0, epsilon: 0, clipNorm: 0 };
  expect(errorOf(() => checkAdam(adam))).toBeUndefined();
  for (const name of Object.keys(adam))
    expect(errorOf(() => checkAdam({ ...adam, [name]: -1 }))).toMatchObject({ subject: `adam.${name}` });
});

test("a result has one finite log-prob for each target", () => {
  const data = [datum(2), datum(1)];
  const check = (logprobs: number[][]) => errorOf(() => checkPass({ fields: { logprobs }, metrics: {} }, data));
  expect(check([[-1, -2], [-3]])).toBeUndefined();
  for (const rows of [
    [[-1, -2]],
    [[-1], [-3]],
    [
      [-1, -2],
      [-3, -4],
    ],
    [[-1, Number.NEGATIVE_INFINITY], [-3]],
  ])
    expect(check(rows)).toMatchObject({ kind: "answer", retry: "from-checkpoint", hint: expect.stringMatching(/NaN/) });
});

test("samples are those of the call, and log-probs of the prompt begin at its second token", () => {
  const sequence = { tokens: [3, 9], logprobs: [-1, -2], stopReason: "stop" } as const;
  const call = { prompt: [1, 2, 3], maxTokens: 2 };
  const check = (result: object, more: object = {}) =>
    errorOf(() => checkedSamples({ sequences: [sequence], ...result }, { ...call, ...more }, limits));
  expect(check({})).toEqual({ sequences: [sequence] });
  expect(check({ promptLogprobs: [-9] })).toEqual({ sequences: [sequence], promptLogprobs: [-9] });
  for (const given of [
    [-1, -2],
    [-7, -1, -2],
    [Number.NaN, -1, -2],
  ])
    expect(check({ promptLogprobs: given }, { promptLogprobs: true })).toMatchObject({ promptLogprobs: [Number.NaN, -1, -2] });
  for (const given of [undefined, [-1], [-1, -2, -3, -4], [-1, Number.NaN]])
    expect(check({ promptLogprobs: given }, { promptLogprobs: true })).toBeInstanceOf(TinkerError);
  for (const wrong of [
    { tokens: [], logprobs: [] },
    { logprobs: [-1] },
    { logprobs: [-1, Number.NaN] },
    { tokens: [3, 10] },
    { tokens: [-1, 3] },
  ])
    expect(check({ sequences: [{ ...sequence, ...wrong }] })).toMatchObject({ kind: "answer", retry: "from-checkpoint" });
  expect(check({}, { samples: 2 })).toMatchObject({ subject: "sequences in a sample" });
});

// ---- errors

const call = (path: string, method?: "GET"): Call => ({ path, repeatable: true, ...(method && { method }) });
const said = (status: number, text: string): Answer => ({ status, protobuf: false, bytes: bytes(text), repeated: false });

test.each([
  [400, false, "request", "never"],
  [401, false, "key", "never"],
  [402, false, "busy", "later"],
  [402, true, "busy", "from-checkpoint"],
  [403, false, "key", "never"],
  [404, false, "not-found", "never"],
  [408, false, "timeout", "from-checkpoint"],
  [409, false, "conflict", "never"],
  [410, false, "lost", "from-checkpoint"],
  [422, false, "request", "never"],
  [429, false, "busy", "later"],
  [500, false, "lost", "from-checkpoint"],
  [503, true, "busy", "from-checkpoint"],
] as const)("status %i, repeated %s: %s, %s", (status, repeated, kind, retry) => {
  const credential = new Credential("tml-key");
  const error = statusError(call("x"), said(status, '{"detail":"tml-key is wrong"}'), { repeated, credential });
  expect(error).toMatchObject({ kind, retry, status, subject: "x", value: `${status} [key] is wrong` });
});

test.each([
  ['{"detail":"no"}', "no"],
  ['{"error":"bad"}', "bad"],
  ['{"detail":[{"loc":["body","a"],"msg":"missing","input":"secret"},{"msg":"b"}]}', "body.a: missing; : b"],
  [" plain\n", "plain"],
  ['{"other":1}', '{"other":1}'],
  ["x".repeat(300), "x".repeat(300)],
  ["x".repeat(301), `${"x".repeat(300)}…`],
])("of the body %j the detail is %j", (body, detail) => {
  expect(detailOf(bytes(body))).toBe(detail);
});

test("a call without an answer may have arrived, unless the connection never stood", () => {
  const failure = { code: "E", maybeSent: false, permanent: false, timedOut: false, cause: new Error("x") };
  const of = (change: object, path = "optim_step", repeated = false, method?: "GET") =>
    connectionFailure("http://x", call(path, method), { ...failure, ...change }, repeated);
  expect(of({})).toMatchObject({ kind: "address", retry: "later", hint: expect.stringMatching(/Is the server running/) });
  expect(of({ maybeSent: true })).toMatchObject({ kind: "lost", retry: "from-checkpoint", hint: expect.stringMatching(/broke/) });
  expect(of({}, "optim_step", true)).toMatchObject({ kind: "lost" });
  expect(of({ timedOut: true, maybeSent: true })).toMatchObject({ kind: "timeout", retry: "from-checkpoint" });
  for (const path of ["asample", "session_heartbeat", "weights_info"])
    expect(of({ maybeSent: true }, path)).toMatchObject({ kind: "lost", retry: "later" });
  expect(of({ maybeSent: true }, "healthz", false, "GET")).toMatchObject({ retry: "later" });
});

// ---- keys

test("a token is used for half of its life, and one exchange serves all who wait", async () => {
  vi.useFakeTimers({ now: 1_000_000 });
  const claims = (life: number) => `h.${Buffer.from(JSON.stringify({ iat: 50, exp: 50 + life })).toString("base64url")}.`;
  const credential = new Credential("key");
  expect(await credential.value(false)).toBe("key");
  let exchanges = 0;
  credential.useTokens(async () => `${claims(100)}${++exchanges}`);
  const first = `${claims(100)}1`;
  expect(await Promise.all([credential.value(false), credential.value(false)])).toEqual([first, first]);
  expect(await credential.value(true)).toBe("key");
  vi.advanceTimersByTime(49_999);
  expect(await credential.value(false)).toBe(first);
  vi.advanceTimersByTime(1);
  expect(await credential.value(false)).toBe(`${claims(100)}2`);
  expect(credential.redact(`key ${claims(100)}2`)).toBe("[key] [key]");
  credential.useTokens(async () => `no claims ${++exchanges}`);
  vi.advanceTimersByTime(50_000);
  expect(await credential.value(false)).toBe("no claims 3");
  vi.advanceTimersByTime(59_999);
  expect(await credential.value(false)).toBe("no claims 3");
  vi.advanceTimersByTime(1);
  expect(await credential.value(false)).toBe("no claims 4");
});

test.each(["a b", "a\tb", "", "ä"])("%j is no key", (key) => {
  expect(() => new Credential(key)).toThrow(/apiKey is "\[hidden\]"/);
});

// ---- repeats

type Tried = Response | string;
function transport(tries: readonly Tried[], options: Partial<TransportOptions> = {}) {
  const waits: number[] = [];
  let at = 0;
  const sent = new Transport({
    ...{ baseUrl: "http://x", credential: new Credential(undefined), requestTimeoutMs: 1000, log: undefined, random: () => 0 },
    ...{ patienceMs: 60_000, busyPatienceMs: 600_000 },
    fetch: async () => {
      waits.push(performance.now());
      const next = tries[Math.min(at++, tries.length - 1)] ?? "ECONNRESET";
      if (typeof next !== "string") return next.clone();
      throw new TypeError("fetch failed", { cause: Object.assign(new Error(next), { code: next }) });
    },
    ...options,
  });
  return { sent, pauses: () => waits.slice(1).map((each, i) => Math.round(each - (waits[i] ?? 0))) };
}
const status = (code: number, headers: Record<string, string> = {}) => new Response("{}", { status: code, headers });

async function ended(work: Promise<unknown>) {
  const outcome = work.then(
    (value) => value,
    (error: unknown) => error,
  );
  await vi.runAllTimersAsync();
  return outcome;
}

test("pauses double from 0.1 s to 5 s, and are longer where the server or chance wants it", async () => {
  vi.useFakeTimers();
  const down = transport(["ECONNREFUSED"], { patienceMs: 20_000 });
  expect(await ended(down.sent.send(call("x")))).toMatchObject({ kind: "address", retry: "later" });
  expect(down.pauses()).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
  const spread = transport([status(500), status(500), status(200)], { random: () => 0.5 });
  expect(await ended(spread.sent.send(call("x")))).toMatchObject({ status: 200, repeated: true });
  expect(spread.pauses()).toEqual([125, 250]);
  const busy = transport([status(429, { "retry-after": "3" }), status(503, { "retry-after": "600" }), status(402), status(200)]);
  expect(await ended(busy.sent.send(call("x")))).toMatchObject({ status: 200, repeated: false });
  expect(busy.pauses()).toEqual([3000, 60_000, 400]);
  expect(busy.sent.takeStats()).toMatchObject({ requests: 4, repeats: 3, sentBytes: 0, receivedBytes: 8 });
  expect(busy.sent.takeStats()).toMatchObject({ requests: 0, repeats: 0, receivedBytes: 0 });
});

test("only what cannot be applied twice is repeated", async () => {
  vi.useFakeTimers();
  const once = { path: "x", repeatable: false } as const;
  for (const [first, answers] of [
    [status(500), { kind: "lost", status: 500 }],
    ["ECONNRESET", { kind: "lost", retry: "from-checkpoint" }],
    ["ENOTFOUND", { kind: "address" }],
    [status(404), { kind: "not-found" }],
  ] as const) {
    const { sent, pauses } = transport([first, status(200)]);
    expect(await ended(sent.send(once))).toMatchObject(answers);
    expect(pauses()).toEqual([]);
  }
  for (const first of [
    "ECONNREFUSED",
    "EAI_AGAIN",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "UND_ERR_CONNECT_TIMEOUT",
    status(429),
    status(503),
  ])
    expect(await ended(transport([first, status(200)]).sent.send(once))).toMatchObject({ status: 200, repeated: false });
  for (const first of ["ECONNRESET", status(502)])
    expect(await ended(transport([first, status(200)]).sent.send(call("x")))).toMatchObject({ status: 200, repeated: true });
  expect(await ended(transport([status(425)]).sent.send({ ...once, expected: [425] }))).toMatchObject({ status: 425 });
  expect(await ended(transport(["ECONNRESET"], { patienceMs: -1 }).sent.send(call("x")))).toMatchObject({ kind: "lost" });
});

test("a body travels as JSON or as bytes, with what it asks for and the key", async () => {
  const seen: object[] = [];
  const fetch: TransportOptions["fetch"] = async (url, { method, headers, body }) => {
    seen.push({ url, method, headers, body: body && Buffer.from(body).toString() });
    return new Response("{}", { headers: { "content-type": "application/x-protobuf; a=b" } });
  };
  const entries: object[] = [];
  const { sent } = transport([], { fetch, credential: new Credential("k"), log: (entry) => entries.push(entry) });
  expect(await sent.send({ ...call("a"), body: { x: 1 } })).toMatchObject({ protobuf: true, status: 200 });
  await sent.send({ ...call("b"), body: bytes("raw"), acceptProtobuf: true });
  await sent.send({ path: "c", method: "DELETE", repeatable: true });
  const [json, protobuf] = ["application/json", "application/x-protobuf"];
  expect(seen).toEqual([
    ...[
      {
        url: "http://x/api/v1/a",
        method: "POST",
        headers: { accept: json, "x-api-key": "k", "content-type": json },
        body: '{"x":1}',
      },
    ],
    ...[
      {
        url: "http://x/api/v1/b",
        method: "POST",
        headers: { accept: protobuf, "x-api-key": "k", "content-type": protobuf },
        body: "raw",
      },
    ],
    ...[{ url: "http://x/api/v1/c", method: "DELETE", headers: { accept: json, "x-api-key": "k" }, body: undefined }],
  ]);
  expect(entries).toMatchObject([
    { method: "POST", path: "a", status: 200, failure: undefined, attempt: 1, sentBytes: 7, receivedBytes: 2 },
    { path: "b", sentBytes: 3 },
    { method: "DELETE", path: "c", sentBytes: 0 },
  ]);
});

// ---- order

test("a sequence that nobody may continue sends nothing, and says whose it was", async () => {
  const sequence = new Sequence("m1");
  const lost = new TinkerError("x", "gone", { kind: "lost", retry: "from-checkpoint" });
  await expect(sequence.submit("save_weights", () => Promise.reject(lost))).rejects.toBe(lost);
  const send = vi.fn(async () => 1);
  await expect(sequence.submit("optim_step", send)).rejects.toMatchObject({
    ...{
      subject: "optim_step of m1",
      kind: "not-sent",
      hint: expect.stringMatching(/An earlier request of the model failed: x is "gone"/),
    },
  });
  expect(send).not.toHaveBeenCalled();
});

test("what fails in an unknown way leaves the model in doubt", async () => {
  const sequence = new Sequence("m1");
  await expect(sequence.submit("a", () => Promise.reject(new RangeError("odd")))).rejects.toThrow(RangeError);
  await expect(sequence.submit("b", async () => 1)).rejects.toMatchObject({ kind: "not-sent", retry: "from-checkpoint" });
});

test("a limiter runs as many as it may, forgets who left, and passes errors on", async () => {
  const limit = limiter(1);
  let free = () => {};
  const busy = limit(() => new Promise<void>((resolve) => (free = resolve)), undefined);
  const stop = new AbortController();
  const task = vi.fn(async () => "done");
  const waiting = limit(task, stop.signal);
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ kind: "cancelled", retry: "later" });
  await expect(limit(task, AbortSignal.abort())).rejects.toMatchObject({ kind: "cancelled" });
  const next = limit(task, new AbortController().signal);
  free();
  await busy;
  expect(await next).toBe("done");
  expect(task).toHaveBeenCalledTimes(1);
  await expect(limit(() => Promise.reject(new RangeError("x")), new AbortController().signal)).rejects.toThrow(RangeError);
});

const coded = (code: unknown, message = "inner") => Object.assign(new Error(message), { code });

test.each<[string, unknown, string]>([
  ["what is no error", "text", "text"],
  ["a message", new Error("m"), "m"],
  ["a code that is no text", coded(5), "inner"],
  ["its own code", coded("E1"), "E1"],
  ["its cause's code", new TypeError("f", { cause: coded("E2") }), "E2"],
  ["the first of several addresses", new TypeError("f", { cause: new AggregateError([coded("E3"), coded("E4")]) }), "E3"],
  ["none of several", new AggregateError([], "no address"), "no address"],
  ["its cause's message", new TypeError("f", { cause: new Error("inner") }), "inner"],
])("a broken connection is called by %s", async (_, thrown, failure) => {
  vi.useFakeTimers();
  const entries: TinkerLogEntry[] = [];
  const { sent } = transport([], {
    fetch: () => Promise.reject(thrown),
    log: (entry) => entries.push(entry),
    patienceMs: -1,
  });
  await ended(sent.send(call("x")));
  expect(entries).toMatchObject([{ status: undefined, failure, attempt: 1, receivedBytes: 0 }]);
});

test("a pause that is no number of seconds is the client's own", async () => {
  vi.useFakeTimers();
  const { sent, pauses } = transport([status(429, { "retry-after": "soon" }), status(429, { "retry-after": "-5" }), status(200)]);
  await ended(sent.send(call("x")));
  expect(pauses()).toEqual([100, 200]);
});

test("a request has its own time, or the transport's; each that is late is sent again", async () => {
  vi.useFakeTimers();
  const signals: AbortSignal[] = [];
  const fetch: TransportOptions["fetch"] = (_, { signal }) =>
    new Promise((_, reject) => {
      signals.push(signal);
      signal?.addEventListener("abort", () => reject(new Error("aborted")));
    });
  const { sent } = transport([], { fetch, patienceMs: 1500 });
  const late = sent.send(call("x")).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(999);
  expect([signals.length, signals[0]?.aborted]).toEqual([1, false]);
  await vi.advanceTimersByTimeAsync(1);
  expect(signals[0]?.aborted).toBe(true);
  await vi.runAllTimersAsync();
  expect(await late).toMatchObject({ kind: "timeout", retry: "from-checkpoint" });
  expect(signals).toHaveLength(2);
  const short = sent.send({ ...call("x"), timeoutMs: 10, patienceMs: -1 }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(10);
  expect(await short).toMatchObject({ kind: "timeout" });
});

test.each(["before it is sent", "while it is on its way", "in a pause"])(
  "a call that is cancelled %s ends at once",
  async (when) => {
    vi.useFakeTimers();
    const stop = new AbortController();
    const fetch: TransportOptions["fetch"] = async (_, { signal }) => {
      if (when === "in a pause") return status(500);
      if (signal?.aborted !== true) await new Promise((resolve) => signal?.addEventListener("abort", resolve));
      throw new Error("aborted");
    };
    const { sent } = transport([], { fetch });
    if (when === "before it is sent") stop.abort();
    const cancelled = sent.send({ ...call("x"), signal: stop.signal }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(50);
    stop.abort();
    expect(await cancelled).toMatchObject({
      ...{ kind: "cancelled", retry: "later", value: "cancelled", subject: when === "in a pause" ? "a repeat" : "x" },
    });
  },
);
