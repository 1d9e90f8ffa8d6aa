import "./loopback.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { engineModel } from "../extensions/inference/engine-model.ts";
import { serveInference } from "../extensions/inference/server.ts";
import { createLocalEngine } from "../extensions/local/engine.ts";
import { TinkerModel } from "../extensions/tinker/client/model.ts";
import { decodeForwardBackwardResult } from "../extensions/tinker/client/wire/forward-backward.ts";
import { createTinkerEngine, type TinkerEngine } from "../extensions/tinker/engine/engine.ts";
import type { Findings } from "../extensions/tinker/engine/probe.ts";
import { serveModel } from "../research/tinker-server/local-model.ts";
import { type RunningServer, type ServerOptions, startTinkerServer } from "../research/tinker-server/server.ts";
import { encodeForwardBackwardResult } from "../research/tinker-server/wire.ts";
import { makeChat } from "../src/chat/chat.ts";
import { makeTokenizer } from "../src/chat/tokenizer.ts";
import type { Capability } from "../src/core/policy.ts";
import type { Engine } from "../src/engines/engine.ts";
import { adamW, distance, expectClose, plain, samples, someWeights } from "./engine-fixtures.ts";
import { engineSuite } from "./engine-suite.ts";
import { moreLettersTokenizer } from "./letters.ts";
import { parityAlgorithms, parityOf } from "./tinker-parity.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** The remote engine on our own server; test/tinker-skyrl.contract.test.ts has it on a real one. */
let folder: string;
let server: RunningServer;
const tokenizer = makeTokenizer(moreLettersTokenizer);
const lora = { rank: 4, alpha: 32, targets: "all-linear" as const, seed: 5 };

async function start(changes: Partial<ServerOptions> = {}): Promise<RunningServer> {
  const models = [await serveModel("tiny", join(folder, "tiny"), 1)];
  return startTinkerServer({ models, store: join(folder, "store"), port: 0, ...changes });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tinker-engine-"));
  await writeTinyModel(join(folder, "tiny"), moreLettersTokenizer);
  server = await start();
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

vi.setConfig({ testTimeout: 900_000 });

/** What the first engine finds out holds for the others. */
let findings: Findings | undefined;
async function open(baseUrl = server.baseUrl): Promise<TinkerEngine> {
  const engine = await createTinkerEngine({
    ...{ baseUrl, model: "tiny", rank: lora.rank, seed: lora.seed, vocabularySize: tokenizer.size, maxLength: 256 },
    ...{ decode: (tokens) => tokenizer.decode(tokens), patienceMs: 5_000, findings },
  });
  findings = engine.findings;
  return engine;
}

const ours: readonly Capability[] = [
  ...(["reference", "adam-settings", "exact-state"] as const),
  ...(["gradient-accumulation", "gradient-clipping", "top-logprobs"] as const),
];
engineSuite("The engine on our own server", open, ours);

const options = {
  ...{ model: "tiny", rank: lora.rank, seed: lora.seed, vocabularySize: tokenizer.size, maxLength: 256 },
  patienceMs: 5_000,
};

/** As SkyRL with FSDP: of a step's settings the server takes the learning rate alone, and clips at 1. */
const fixedAdam: typeof globalThis.fetch = (input, init) => {
  if (!String(input).endsWith("/optim_step")) return fetch(input, init);
  const body = JSON.parse(new TextDecoder().decode(init?.body as Uint8Array)) as { adam_params: { learning_rate: number } };
  const { learning_rate } = body.adam_params;
  const adam_params = { learning_rate, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01, grad_clip_norm: 1 };
  return fetch(input, { ...init, body: JSON.stringify({ ...body, adam_params }) });
};

/** As a server that computes in bfloat16: log-probs of passes are rounded to 8 bits. */
const sixteenBits = () => withLogprobs(bfloat16);

/** As a server whose weights became NaN, from `begin` on. */
function nanPasses() {
  let begun = false;
  return { fetch: withLogprobs((value) => (begun ? Number.NaN : value)), begin: () => (begun = true) };
}

/** A server of which the log-probs of passes are changed on their way. */
function withLogprobs(change: (value: number) => number): typeof globalThis.fetch {
  const passes = new Set<string>();
  return async (input, init) => {
    const response = await fetch(input, init);
    if (String(input).endsWith("/forward_backward")) {
      const answer = (await response.clone().json()) as { request_id: string };
      passes.add(answer.request_id);
    }
    if (!String(input).endsWith("/retrieve_future") || !response.headers.get("content-type")?.includes("protobuf"))
      return response;
    const { request_id } = JSON.parse(new TextDecoder().decode(init?.body as Uint8Array)) as { request_id: string };
    if (!passes.has(request_id)) return response;
    const result = decodeForwardBackwardResult(new Uint8Array(await response.arrayBuffer()));
    const logprobs = result.fields.logprobs.map((row) => Array.from(row, change));
    const bytes = encodeForwardBackwardResult({ ...result, fields: { ...result.fields, logprobs } }, "");
    return new Response(new Uint8Array(bytes), { headers: { "content-type": "application/x-protobuf" } });
  };
}

function bfloat16(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer);
  bits[0] = (bits[0] + 0x8000) & 0xffff0000;
  return new Float32Array(bits.buffer)[0];
}

describe("on our own server", () => {
  test("cross-entropy is the linear form, and samples are the trainer's to the last digit of a float32", async () => {
    const engine = await open();
    expect(engine.findings).toMatchObject({
      form: { lossFn: "cross_entropy" },
      rejected: [],
      adam: true,
      clips: true,
      topLogprobs: true,
      bfloat16: false,
    });
    expect(engine.findings.logprobGap).toBeLessThan(1e-4);
    await engine.dispose();
  });

  test("a server with Adam's settings and clipping of its own: both are missing by name, and its steps are those settings'", async () => {
    const engine = await createTinkerEngine({ ...options, baseUrl: server.baseUrl, fetch: fixedAdam });
    expect(engine.findings).toMatchObject({ adam: false, clips: false, form: { lossFn: "cross_entropy" } });
    expect(engine.info.capabilities).not.toContain("adam-settings");
    expect(engine.info.fixedAdam).toEqual({ beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 });
    await engine.forwardBackward(samples, someWeights, plain);
    await expect(engine.step(adamW)).rejects.toThrow(/adam-settings/);
    await expect(engine.step({ ...adamW, epsilon: 1e-8, clipNorm: 1 })).rejects.toThrow(/gradient-clipping/);
    const step = { ...adamW, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 };
    await engine.step(step);
    const local = await createLocalEngine({ model: join(folder, "tiny"), threads: 1, lora });
    await local.forwardBackward(samples, someWeights, plain);
    await local.step({ ...step, clipNorm: 1 });
    // Where gradients are of the size of ε, their rounding decides the direction of Adam's first step.
    expect(distance(await engine.logprobs(samples, plain), await local.logprobs(samples, plain))).toBeLessThan(5e-3);
    for (const each of [engine, local]) await each.dispose();
  });

  test("log-probs of 16 bits: the probe measures larger steps, and the limit of the gap follows", async () => {
    const engine = await createTinkerEngine({ ...options, baseUrl: server.baseUrl, fetch: sixteenBits() });
    expect(engine.findings).toMatchObject({ adam: true, clips: true, form: { lossFn: "cross_entropy" } });
    expect(engine.findings.logprobGap).toBeGreaterThan(1e-3);
    expect(engine.findings.logprobGap).toBeLessThan(0.02);
    expect(engine.findings.bfloat16).toBe(true);
    expect(engine.info.logprobTolerance).toBe(0.25);
    await engine.dispose();
  });

  test("a step moves the model as it does in process", async () => {
    const [remote, local]: Engine[] = [await open(), await createLocalEngine({ model: join(folder, "tiny"), threads: 1, lora })];
    for (const engine of [remote, local]) {
      await engine.forwardBackward(samples, (logprobs) => logprobs.map((row, i) => row.map((_, j) => someWeights[i][j])), plain);
      await engine.step({ ...adamW, clipNorm: 0.3 });
    }
    expectClose(await remote.logprobs(samples, plain), await local.logprobs(samples, plain));
    for (const engine of [remote, local]) await engine.dispose();
  });

  test("a server that is restarted without its models: the model is built again, and every step is applied once", async () => {
    const expected = await open();
    const unlucky = await start();
    const port = Number(new URL(unlucky.baseUrl).port);
    const engine = await open(unlucky.baseUrl);
    const train = async (each: Engine) => {
      await each.forwardBackward(samples, someWeights, plain);
      await each.step(adamW);
    };
    for (const each of [expected, engine]) await train(each);
    await engine.saveState(join(folder, "unlucky"));
    for (const each of [expected, engine]) await train(each);
    for (const each of [expected, engine]) await each.forwardBackward(samples, someWeights, plain);
    await unlucky.close();
    const again = await start({ port });
    for (const each of [expected, engine]) await each.step(adamW);
    expect(engine.weightVersion).toBe(3);
    expect(distance(await engine.logprobs(samples, plain), await expected.logprobs(samples, plain))).toBeLessThan(1e-5);
    const request = { context: [1, 2, 3], maxTokens: 4, stopTokens: [], seed: 3 };
    expect((await engine.sample(request)).tokens).toEqual((await expected.sample(request)).tokens);
    for (const each of [expected, engine]) await each.dispose();
    await again.close();
  });

  test("all weights of a trained model: the probe's step is small enough to be linear where gradients are large", async () => {
    const office = await start({ models: [await serveModel("office", "models/office", 1)] });
    const shape = { rank: 0, vocabularySize: 896, maxLength: 256 };
    const engine = await createTinkerEngine({ ...options, ...shape, model: "office", baseUrl: office.baseUrl });
    expect(engine.findings).toMatchObject({ form: { lossFn: "cross_entropy" }, rejected: [], adam: true, clips: true });
    await engine.dispose();
    await office.close();
  });

  test("the endpoint's three forms, whole and streamed, say what they say over the local engine", async () => {
    const tinker = await open();
    const local = await createLocalEngine({ model: join(folder, "tiny"), threads: 1 });
    const chat = makeChat(tokenizer);
    const models = new Map([
      ["tinker", engineModel(tinker, chat)],
      ["local", engineModel(local, chat)],
    ]);
    const endpoint = await serveInference({ host: "127.0.0.1", port: 0, keys: [], models });
    const messages = [{ role: "user", content: "ab" }];
    const text = async (path: string, body: object) => {
      const response = await fetch(`${endpoint.baseUrl}${path}`, {
        ...{ method: "POST", headers: { "content-type": "application/json" } },
        body: JSON.stringify({ temperature: 0, ...body }),
      });
      expect(response.status).toBe(200);
      const said = await response.text();
      return said.replace(/"(?:id|item_id|model|created|created_at|completed_at)":(?:"[^"]*"|[\d.]+)/g, "");
    };
    for (const [path, body] of [
      ["/v1/chat/completions", { messages, max_tokens: 8 }],
      ["/v1/responses", { input: "ab", max_output_tokens: 8 }],
      ["/v1/messages", { messages, max_tokens: 8 }],
    ] as const)
      for (const stream of [false, true]) {
        const [remote, own] = [
          await text(path, { ...body, stream, model: "tinker" }),
          await text(path, { ...body, stream, model: "local" }),
        ];
        if (stream) expect(joined(remote)).toBe(joined(own));
        else expect(remote).toBe(own);
        if (stream) expect(joined(remote)).not.toBe("");
      }
    await endpoint.close();
    for (const each of [tinker, local]) await each.dispose();
  });

  test.each(parityAlgorithms)("%s moves the model as it does in process, from the same adapter", async (kind, algorithm) => {
    const engine = await open();
    const base = await serveModel("tiny", join(folder, "tiny"), 1);
    const { moved, before, after } = await parityOf(algorithm, engine, base, join(folder, `parity-${kind}`));
    expect(before).toBeLessThan(1e-5);
    expect(moved).toBeGreaterThan(1e-2);
    expect(after).toBeLessThan(1e-4);
    await engine.dispose();
  });

  test("a pass with its step: the numbers of two calls, and a step is sent when its passes are done", async () => {
    const [together, apart] = [await open(), await open()];
    const partly = [someWeights[0], [0, 0], someWeights[2]]; // the second is scored only
    for (const engine of [together, apart]) engine.takeStats();
    const events: string[] = [];
    const { forwardBackward, optimStep } = TinkerModel.prototype;
    vi.spyOn(TinkerModel.prototype, "forwardBackward").mockImplementation(async function (this: TinkerModel, ...given) {
      const result = await forwardBackward.apply(this, given);
      events.push("pass done");
      return result;
    });
    vi.spyOn(TinkerModel.prototype, "optimStep").mockImplementation(function (this: TinkerModel, ...given) {
      events.push("step sent");
      return optimStep.apply(this, given);
    });
    const { logprobs, report } = await together.passAndStep(samples, partly, plain, adamW);
    vi.restoreAllMocks();
    expect(events).toEqual(["pass done", "step sent"]);
    expectClose(logprobs, await apart.forwardBackward(samples, partly, plain));
    const { gradientNorm } = await apart.step(adamW);
    expect(report.gradientNorm).toBeCloseTo(gradientNorm, 4);
    expect([together, apart].map((engine) => engine.takeStats().remote?.waits)).toEqual([2, 2]);
    expect(together.weightVersion).toBe(1);
    expectClose(await together.logprobs(samples, plain), await apart.logprobs(samples, plain));
    await expect(together.passAndStep(samples, [[1]], plain, adamW)).rejects.toThrow(/weights of turn 0/);
    await together.forwardBackward(samples, someWeights, plain); // a refused call leaves no pass behind
    for (const engine of [together, apart]) await engine.dispose();
  });

  test("a server that is restarted has lost the reference too: it is opened again", async () => {
    const unlucky = await start();
    const engine = await open(unlucky.baseUrl);
    await engine.snapshotReference();
    await engine.saveState(join(folder, "with-reference"));
    const before = await engine.referenceLogprobs(samples, plain);
    await engine.passAndStep(samples, someWeights, plain, adamW);
    await unlucky.close();
    const again = await start({ port: Number(new URL(unlucky.baseUrl).port) });
    expect(await engine.referenceLogprobs(samples, plain)).toEqual(before);
    expect(distance(await engine.logprobs(samples, plain), before)).toBeGreaterThan(1e-3);
    await engine.dispose();
    await again.close();
  });

  test("a server whose results are NaN: the run ends, and weights in doubt are neither saved nor sampled", async () => {
    const poisoned = nanPasses();
    const engine = await createTinkerEngine({ ...options, baseUrl: server.baseUrl, fetch: poisoned.fetch, recoveries: 1 });
    await engine.saveState(join(folder, "sound"));
    poisoned.begin();
    await expect(engine.passAndStep(samples, someWeights, plain, adamW)).rejects.toThrow(/lost.*log-prob of datum 0.*--resume/s);
    expect(engine.weightVersion).toBe(0);
    await expect(engine.saveState(join(folder, "doubtful"))).rejects.toThrow(/log-prob of datum 0/);
    const request = { context: [1, 2, 3], maxTokens: 4, stopTokens: [], seed: 3 };
    await expect(engine.sample(request)).rejects.toThrow(/log-prob of datum 0/);
    await engine.loadState(join(folder, "sound"));
    expect((await engine.sample(request)).tokens).toHaveLength(4);
    await engine.dispose();
  });

  test("a server that does not come back: the error says how to continue", async () => {
    const gone = await start();
    const engine = await createTinkerEngine({
      ...{ baseUrl: gone.baseUrl, model: "tiny", rank: 4, seed: 1, vocabularySize: tokenizer.size, maxLength: 256 },
      patienceMs: 100,
    });
    await gone.close();
    await expect(engine.logprobs(samples, plain)).rejects.toThrow(/the server lost .*--resume/s);
    await engine.dispose();
  });
});

/** The texts of a stream's deltas, however they were cut. */
function joined(stream: string): string {
  const texts = [...stream.matchAll(/^data: (\{.*"(?:delta|content_block_delta|response.output_text.delta)".*)$/gm)];
  return texts
    .flatMap(([, json]) => [...json.matchAll(/"(?:content|text|delta)":"((?:[^"\\]|\\.)*)"/g)].map(([, part]) => part))
    .join("");
}
