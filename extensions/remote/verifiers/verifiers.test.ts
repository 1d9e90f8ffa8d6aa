import "../../../test/loopback.ts";
import "../../install.ts";
import { mkdtempSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decode, encode } from "@msgpack/msgpack";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import type { Sampler } from "../../../src/engines/engine.ts";
import type { Environment, Task } from "../../../src/environments/environment.ts";
import { createEnvironment } from "../../../src/environments/registry.ts";
import { rollout } from "../../../src/rollouts/rollout.ts";
import { testChat } from "../../../test/fixtures/chats.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { frame, greeting, ready, ZmtpReader } from "./zmtp.ts";

interface Run {
  readonly task_data: { readonly prompt: string };
  readonly client: { readonly base_url: string; readonly headers: Record<string, string>; readonly renderer_model_name: string };
  readonly model: string;
  readonly sampling: Record<string, number>;
}
type Send = (kind: "delta" | "reply", value: unknown) => void;
type Answer = (run: Run, send: Send, socket: Socket, id: Buffer) => unknown;

const chat = testChat("plain");
const folder = mkdtempSync(join(tmpdir(), "verifiers-"));
const file = join(folder, "tasks.jsonl");
writeFileSync(
  file,
  `${JSON.stringify({ idx: 0, prompt: "Write a.", name: "letters" })}\n\n${JSON.stringify({ idx: 1, prompt: "Write b." })}\n`,
);

let server: Server | undefined;
let environment: Environment | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  await environment?.close?.();
  for (const socket of sockets.splice(0)) socket.destroy();
  server?.close();
});

/** A ROUTER that answers health, and runs as the test says. */
async function serving(run: Answer, hello: Buffer = greeting()) {
  const methods: string[] = [];
  server = createServer((socket) => {
    sockets.push(socket);
    const reader = new ZmtpReader(2 ** 30);
    socket.on("error", () => {});
    socket.write(hello);
    socket.write(ready());
    socket.on("data", (part) => {
      for (const received of reader.read(part)) {
        if (received.kind !== "message") continue;
        const [id, method, payload] = received.frames;
        methods.push(String(method));
        const send: Send = (kind, value) =>
          void socket.write(
            Buffer.concat([
              frame(id, { more: true }),
              frame(Buffer.from(kind), { more: true }),
              frame(encode(value, { ignoreUndefined: true })),
            ]),
          );
        if (String(method) === "health") send("reply", { success: true, error: null });
        else if (String(method) === "run") void run(decode(payload) as Run, send, socket, id);
      }
    });
  });
  const listening = server;
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  return { address: `verifiers:tcp://127.0.0.1:${(listening.address() as AddressInfo).port}`, methods };
}

async function generate(run: Run, context: readonly number[], sampling: object = {}) {
  const response = await fetch(`${run.client.base_url.replace(/\/v1$/, "")}/inference/v1/generate`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer EMPTY", ...run.client.headers },
    body: JSON.stringify({
      model: run.model,
      token_ids: context,
      sampling_params: {
        ...run.sampling,
        stop_token_ids: chat.tokenizer.stopTokens,
        logprobs: 1,
        skip_special_tokens: false,
        ...sampling,
      },
    }),
  });
  return { status: response.status, body: (await response.json()) as { choices: [{ token_ids: number[] }] } };
}

const done = (send: Send, more: object = {}, id = "world") => {
  const nodes = [
    { parent: null, message: { role: "user", content: "Write a." } },
    { parent: 0, message: { role: "assistant", content: "a", tool_calls: [{ id: "c1", name: "f", arguments: '{"x": 1.0}' }] } },
    { parent: 1, message: { role: "tool", tool_call_id: "c1", content: [{ type: "text", text: "ok" }] } },
  ];
  send("delta", { trace: "t", open: { id: "t", version: 1, verifiers: { version: "0.4.0" } }, nodes: nodes.slice(0, 2) });
  send("delta", {
    ...{ trace: "t", nodes: nodes.slice(2) },
    set: { rewards: { exact: { score: 0.5, weight: 2 } }, metrics: { length: 3 }, ok: true, ...more },
  });
  send("reply", {
    success: true,
    error: null,
    head: { id: "e", env: { id }, errors: [] },
    traces: [{ id: "t", nodes: 3, calls: 2 }],
  });
};

const sampled: number[][] = [];
/** Writes "a" and ends its turn. */
const sampler: Sampler = {
  info: { name: "scripted", parameters: 0, vocabularySize: 306, maxLength: 500, capabilities: [] } as never,
  weightVersion: 7,
  async sample({ context, maxTokens, temperature, seed }) {
    sampled.push([context.length, maxTokens, temperature ?? -1, seed]);
    const tokens = chat.tokenizer.encode("a<|im_end|>");
    return {
      tokens,
      logprobs: tokens.map((_, i) => -0.5 - i),
      entropies: tokens.map(() => 0.1),
      finish: "stop",
      weightVersion: 7,
    };
  },
  release: () => {},
};

async function play(address: string, settings: object = {}, change: object = {}) {
  environment = createEnvironment(address, { tasks: { train: file }, tokenizer: "x", ...settings });
  await environment.open?.();
  const options = { id: "r/0", group: "r", seed: 1, maxTurns: 6, maxTokens: 30, episodeTimeoutMs: 1000, ...change };
  return rollout(sampler, chat, environment, await environment.task("train", 0), options);
}

const prompt = chat.tokenizer.encode("<|im_start|>user\nWrite a.<|im_end|><|im_start|>assistant\n");

test("a rollout there is a trajectory here: the ids that its program sent and got, its messages and its reward", async () => {
  const asked: unknown[] = [];
  const { address } = await serving(async (run, send) => {
    asked.push(run);
    const first = await generate(run, prompt);
    const ids = first.body.choices[0].token_ids;
    asked.push(first.body);
    const models = await fetch(`${run.client.base_url}/models`, { headers: run.client.headers });
    asked.push(await models.json());
    await generate(run, [...prompt, ...ids, ...chat.tokenizer.encode("ok")]);
    await generate(run, prompt);
    done(send);
  });
  const trajectory = await play(address);
  const action = chat.tokenizer.encode("a<|im_end|>");
  expect(trajectory).toMatchObject({
    reward: 1,
    scores: { exact: 0.5, length: 3 },
    stopReason: "done",
    task: "train/0",
    kind: "letters",
  });
  expect(trajectory.messages).toEqual([
    { role: "user", content: "Write a." },
    { role: "assistant", content: "a", toolCalls: [{ id: "c1", name: "f", arguments: { x: 1 }, argumentsText: '{"x": 1.0}' }] },
    { role: "tool", name: "tool", callId: "c1", content: "ok" },
  ]);
  expect(trajectory.turns.map(({ context }) => [...context])).toEqual([
    prompt,
    [...prompt, ...action, ...chat.tokenizer.encode("ok")],
    prompt,
  ]);
  expect(trajectory.turns.map(({ rewritten }) => rewritten)).toEqual([false, false, true]);
  expect(trajectory.turns[0]).toMatchObject({ action, samplerLogprobs: action.map((_, i) => -0.5 - i), weightVersion: 7 });
  expect(new Set(sampled.map(([, , , seed]) => seed)).size).toBe(3);
  expect(asked[0]).toMatchObject({ task_data: { prompt: "Write a." }, sampling: { temperature: 1, top_p: 1, max_tokens: 30 } });
  expect(asked[1]).toMatchObject({
    request_id: expect.stringMatching(/^gen-/),
    choices: [
      {
        token_ids: action,
        finish_reason: "stop",
        logprobs: { content: action.map((id, i) => ({ token: `token_id:${id}`, logprob: -0.5 - i })) },
      },
    ],
  });
  expect(asked[2]).toMatchObject({ object: "list", data: [{ id: (asked[0] as Run).model, max_model_len: 500 }] });
});

test("what would train on other numbers is refused: settings, tokenizers, ids, keys, lengths", async () => {
  const statuses: [string, number][] = [];
  const { address } = await serving(async (run, send) => {
    const note = async (name: string, context: readonly number[], sampling: object = {}, change: Partial<Run> = {}) =>
      statuses.push([name, (await generate({ ...run, ...change }, context, sampling)).status]);
    await note("another tokenizer", chat.tokenizer.encode("Something else."));
    await note("temperature", prompt, { temperature: 0.5 });
    await note("penalty", prompt, { presence_penalty: 1 });
    await note("an id beyond the vocabulary", [...prompt, 306]);
    await note("a long context", Array(500).fill(1));
    await note("an unknown model", prompt, {}, { model: "other" });
    await note("no key", prompt, {}, { client: { ...run.client, headers: {} } });
    await note("as it should be", prompt, { presence_penalty: 0, top_k: -1 });
    done(send);
  });
  expect(await play(address)).toMatchObject({ reward: 1, stopReason: "done" });
  expect(statuses).toEqual([
    ["another tokenizer", 400],
    ["temperature", 400],
    ["penalty", 400],
    ["an id beyond the vocabulary", 400],
    ["a long context", 400],
    ["an unknown model", 404],
    ["no key", 401],
    ["as it should be", 200],
  ]);
});

test("a rollout that fails there, dies, is late or lies is a fault of the environment; the limit of turns is an end", async () => {
  const stopped = async (run: Answer, settings: object = {}, change: object = {}) => {
    const { address, methods } = await serving(run);
    const { stopReason, error = "", reward } = await play(address, settings, change);
    await environment?.close?.();
    await expect.poll(() => sockets.every(({ destroyed }) => destroyed)).toBe(true);
    server?.close();
    return { stopReason, error, reward, methods };
  };
  expect(await stopped((_, send) => send("reply", { success: false, error: "KeyError: x" }))).toMatchObject({
    stopReason: "environment-error",
    error: expect.stringContaining("KeyError: x"),
  });
  expect(await stopped((_, send) => done(send, { ok: false }))).toMatchObject({ stopReason: "environment-error", reward: 0 });
  expect(await stopped((_, __, socket) => socket.destroy())).toMatchObject({
    error: expect.stringContaining("closed the connection"),
  });
  expect(await stopped(() => {}, { rolloutTimeoutMs: 80 })).toMatchObject({
    error: expect.stringContaining("80 ms"),
    methods: ["health", "run", "cancel"],
  });
  expect(await stopped((_, send) => send("reply", { success: true, traces: [{ id: "t", nodes: 9 }] }))).toMatchObject({
    error: expect.stringContaining("0 of 9 messages"),
  });
  expect(await stopped((_, send) => send("delta", { trace: "t", nodes: "x".repeat(3_000_000) }), { maxAnswer: 1 })).toMatchObject(
    {
      error: expect.stringContaining("1048576 bytes"),
    },
  );
  const lies: [object, RegExp][] = [
    ...["high", Number.NaN, null].map((score): [object, RegExp] => [
      { set: { rewards: { share: { score } } } },
      /rewards.*share.*score.*verifiers 0\.4/s,
    ]),
    [{ open: { version: 2, verifiers: { version: "0.5.0" } } }, /open.*version.*verifiers 0\.4/s],
  ];
  for (const [lie, error] of lies)
    expect(await stopped((_, send) => send("delta", { trace: "t", ...lie }))).toMatchObject({
      ...{ stopReason: "environment-error", error: expect.stringMatching(error) },
    });
  for (const rewards of [{ exact: null }, { exact: { score: 1 }, other: null }, {}, undefined])
    expect(
      await stopped(async (run, send) => {
        await generate(run, prompt);
        done(send, { rewards });
      }),
    ).toMatchObject({
      stopReason: "environment-error",
      error: expect.stringMatching(/rewards of the rollout.*version 0\.4\.0/s),
    });
  const limited = await stopped(
    async (run, send) => {
      await generate(run, prompt);
      await generate(run, prompt);
      done(send);
    },
    {},
    { maxTurns: 1 },
  );
  expect(limited).toMatchObject({ stopReason: "max-turns", reward: 1 });
  expect(await stopped((_, send) => done(send))).toMatchObject({
    error: expect.stringContaining("without asking for an action"),
  });
});

test("an environment that is another one than before is a fault", async () => {
  let episodes = 0;
  const { address } = await serving(async (run, send) => {
    await generate(run, prompt);
    done(send, {}, `world-${++episodes}`);
  });
  expect(await play(address)).toMatchObject({ stopReason: "done" });
  const task = await environment?.task("train", 0);
  const options = { id: "r/1", group: "r", seed: 1, maxTurns: 6, maxTokens: 30, episodeTimeoutMs: 1000 };
  expect(await rollout(sampler, chat, environment as Environment, task as Task, options)).toMatchObject({
    ...{ stopReason: "environment-error", error: expect.stringMatching(/env\.id.*"world-2".*world-1.*version 0\.4\.0/s) },
  });
});

test("a server that is not there or speaks something else is found when the environment is opened", async () => {
  const gone = createEnvironment("verifiers:tcp://127.0.0.1:1", { tasks: { train: file }, tokenizer: "x" });
  await expect(gone.open?.()).rejects.toBeInstanceOf(RemoteEnvError);
  const { address } = await serving(() => {}, Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"));
  const wrong = createEnvironment(address, { tasks: { train: file }, tokenizer: "x" });
  await expect(wrong.open?.()).rejects.toMatchObject({
    ...{ problem: "malformed", value: expect.stringContaining("does not speak ZMTP") },
  });
  expect(() => createEnvironment("verifiers:tcp://h:1", { tasks: { train: "nowhere.jsonl" }, tokenizer: "x" })).toThrow(
    /nowhere.jsonl/,
  );
  for (const setting of [{ system: "Play." }, { replayable: true }, { keyVariable: "KEY" }])
    expect(() => createEnvironment("verifiers:tcp://h:1", { tasks: { train: file }, tokenizer: "x", ...setting })).toThrow(
      new RegExp(`${Object.keys(setting)[0]}.*no setting of this name`),
    );
  writeFileSync(join(folder, "bad.jsonl"), '{"a":1}\n{oops\n');
  expect(() => createEnvironment("verifiers:tcp://h:1", { tasks: { train: join(folder, "bad.jsonl") }, tokenizer: "x" })).toThrow(
    /line 2/,
  );
});

test("ZMTP frames are the specification's bytes, and are read wherever parts end", () => {
  expect(greeting().subarray(0, 16).toString("hex")).toBe("ff00000000000000017f03004e554c4c");
  expect(ready().toString("latin1")).toBe("\x04\x29\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0\0");
  expect(frame(Buffer.from("hi"), { more: true }).toString("hex")).toBe("01026869");
  expect(frame(Buffer.alloc(256)).subarray(0, 9).toString("hex")).toBe("020000000000000100");
  const wire = Buffer.concat([
    greeting(),
    ready(),
    frame(Buffer.from("a"), { more: true }),
    frame(Buffer.alloc(300, 7)),
    frame(Buffer.alloc(0)),
  ]);
  const whole = new ZmtpReader(1000).read(wire);
  expect(
    whole.map((received) => (received.kind === "message" ? received.frames.map(({ length }) => length) : received.name)),
  ).toEqual(["READY", [1, 300], [0]]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: wire.length - 1 }), { maxLength: 10 }), (cuts) => {
      const at = [0, ...[...cuts].sort((a, b) => a - b), wire.length];
      const reader = new ZmtpReader(1000);
      expect(at.slice(1).flatMap((end, i) => reader.read(wire.subarray(at[i], end)))).toEqual(whole);
    }),
  );
  expect(() => new ZmtpReader(100).read(wire)).toThrow(/more than 100 bytes/);
});

test("a run says all that its program needs, and nothing more", async () => {
  const asked: unknown[] = [];
  const { address } = await serving(async (run, send) => {
    asked.push(run);
    await generate(run, prompt);
    done(send);
  });
  await play(address);
  await environment?.close?.();
  const port = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  const client = {
    ...{ type: "train", base_url: port, api_key_var: "RETROGRADE_NO_KEY", renderer_model_name: "x" },
    headers: { "X-API-Key": expect.stringMatching(/^[\w-]{32}$/) },
  };
  const sampling = { temperature: 1, top_p: 1, max_tokens: 30 };
  const data = { idx: 0, prompt: "Write a.", name: "letters" };
  expect(asked).toEqual([{ task_data: data, client, model: "policy-0", sampling }]);
  const other = await serving(async (run, send) => {
    asked.push(run);
    await generate(run, prompt);
    done(send);
  });
  await play(other.address, { renderer: "qwen3", host: "localhost" }, { topK: 5 });
  expect(asked[1]).toEqual({
    ...{ task_data: data, model: "policy-0", sampling: { ...sampling, top_k: 5 } },
    client: { ...client, base_url: expect.stringMatching(/^http:\/\/localhost:\d+\/v1$/), renderer: { name: "qwen3" } },
  });
});

test("tasks are rows by their place; an episode is played by the environment's own program alone", async () => {
  const made = createEnvironment("verifiers:tcp://h:1", { tasks: { train: file }, tokenizer: "x", concurrency: 3 });
  expect(made).toMatchObject({ name: "verifiers:tcp://h:1", splits: ["train"], concurrency: 3 });
  expect([await made.size("train"), await made.size("test")]).toEqual([2, 0]);
  expect(await made.task("train", 0)).toEqual({
    ...{ id: "train/0", kind: "letters", data: { idx: 0, prompt: "Write a.", name: "letters" } },
  });
  expect(await made.task("train", 1)).toEqual({ id: "train/1", data: { idx: 1, prompt: "Write b." } });
  expect(await made.task("train", 2)).toEqual({ id: "train/2", data: {} });
  expect(createEnvironment("verifiers:tcp://h:1", { tasks: {}, tokenizer: "x" })).not.toHaveProperty("concurrency");
  const task = await made.task("train", 0);
  expect(() => made.start(task, 0)).toThrow(/an episode of "verifiers:tcp:\/\/h:1" is "started by hand"; expected a rollout/);
  await expect(async () => made.play?.(task, {} as never)).rejects.toThrow(
    /is "not open"; expected open\(\) before the first episode/,
  );
});

test.each<[string, readonly string[] | undefined, object | undefined, RegExp]>([
  ["too few frames", ["reply"], undefined, /2 frames, expected 3/],
  ["too many frames", ["reply", "a", "b"], undefined, /4 frames, expected 3/],
  ["another form", undefined, { ok: true }, /success/],
])("an answer with %s is malformed", async (_, frames, value, message) => {
  const { address } = await serving((_, send, socket, id) => {
    if (value !== undefined) return send("reply", value);
    const parts = [id, ...(frames ?? []).map((each) => Buffer.from(each))];
    socket.write(Buffer.concat(parts.map((each, i) => frame(each, { more: i < parts.length - 1 }))));
  });
  const { stopReason, error } = await play(address);
  expect([stopReason, error]).toEqual(["environment-error", expect.stringMatching(message)]);
  expect(error).toContain("expected messages of verifiers 0.4");
});
