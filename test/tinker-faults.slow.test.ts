import "./loopback.ts";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createTinkerEngine, type TinkerEngine } from "../extensions/tinker/engine/engine.ts";
import type { Findings } from "../extensions/tinker/engine/probe.ts";
import { serveModel } from "../research/tinker-server/local-model.ts";
import { type RunningServer, startTinkerServer } from "../research/tinker-server/server.ts";
import { makeTokenizer } from "../src/chat/tokenizer.ts";
import { randomStream } from "../src/core/random.ts";
import { adamW, distance, plain, samples, someWeights } from "./engine-fixtures.ts";
import { moreLettersTokenizer } from "./letters.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** Faults between the engine and our server, after which a run must have the numbers of an undisturbed one. */
vi.setConfig({ testTimeout: 240_000 });
const tokenizer = makeTokenizer(moreLettersTokenizer);
let folder: string;
let server: RunningServer;

async function start(port = 0): Promise<RunningServer> {
  return startTinkerServer({
    models: [await serveModel("tiny", join(folder, "tiny"), 1)],
    ...{ store: join(folder, "store"), port },
  });
}

type Fetch = typeof globalThis.fetch;
let findings: Findings | undefined;
async function open(fetch?: Fetch, baseUrl = server.baseUrl): Promise<TinkerEngine> {
  const engine = await createTinkerEngine({
    ...{ baseUrl, model: "tiny", rank: 4, seed: 5, vocabularySize: tokenizer.size, maxLength: 256 },
    ...{ patienceMs: 20_000, findings, fetch },
  });
  findings = engine.findings;
  return engine;
}

/** Three steps with a checkpoint between, and an action drawn from the result. */
async function train(engine: TinkerEngine, between: (step: number) => Promise<void> = async () => {}) {
  for (let step = 1; step <= 3; step++) {
    // Weights that are decided travel with their step, known ones before it.
    await engine.forwardBackward(samples, step === 2 ? () => someWeights : someWeights, plain);
    await between(step);
    await engine.step(adamW);
    if (step === 1) await engine.saveState(join(folder, `state-${Math.floor(performance.now() * 1000)}`));
  }
  const action = await engine.sample({ context: [1, 2, 3], maxTokens: 6, stopTokens: [], seed: 3 });
  return { logprobs: await engine.logprobs(samples, plain), tokens: action.tokens };
}

let undisturbed: Awaited<ReturnType<typeof train>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tinker-faults-"));
  await writeTinyModel(join(folder, "tiny"), moreLettersTokenizer);
  server = await start();
  const engine = await open();
  undisturbed = await train(engine);
  await engine.dispose();
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

async function expectUndisturbed(engine: TinkerEngine, between?: (step: number) => Promise<void>): Promise<void> {
  const result = await train(engine, between);
  expect(distance(result.logprobs, undisturbed.logprobs)).toBeLessThan(1e-5);
  expect(result.tokens).toEqual(undisturbed.tokens);
  expect(engine.weightVersion).toBe(3);
}

function broken(): Error {
  return Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error("cut"), { code: "ECONNRESET" }) });
}

/** Paths whose loss the client can make good: creating and loading models is not among them, and neither is opening the session. */
const forgiving = /(forward_backward|optim_step|asample|retrieve_future|save_weights|save_weights_for_sampler|weights_info)$/;

test.each([1, 2, 3])(
  "a network that is cut before or after two requests in five (seed %d): nothing is lost or applied twice",
  async (seed) => {
    const random = randomStream(seed, "cuts");
    let cuts = 0;
    const engine = await open(async (input, init) => {
      const draw = forgiving.test(String(input)) ? random.uniform() : 1;
      if (draw < 0.2) cuts++;
      if (draw < 0.2) throw broken();
      const answer = await fetch(input, init);
      if (draw < 0.4) cuts++;
      if (draw < 0.4) throw broken();
      return answer;
    });
    await expectUndisturbed(engine);
    expect(cuts).toBeGreaterThan(1);
    await engine.dispose();
  },
);

test("promises that the server forgot: samples are drawn again, passes and steps are repeated from the checkpoint", async () => {
  let [polls, lost] = [0, 0];
  const engine = await open(async (input, init) => {
    if (!String(input).endsWith("retrieve_future") || ++polls % 7 !== 0 || lost >= 3) return fetch(input, init);
    lost++;
    return Response.json({ detail: "Future not found" }, { status: 404 });
  });
  await expectUndisturbed(engine);
  expect(lost).toBe(3);
  await engine.dispose();
});

test("a queue that is full: every call waits, and is made once", async () => {
  const refused = new Map<string, number>();
  const engine = await open(async (input, init) => {
    const path = String(input).replace(/.*\//, "");
    const times = refused.get(path) ?? 0;
    if (times >= 2) return fetch(input, init);
    refused.set(path, times + 1);
    return Response.json({ detail: "busy" }, { status: times === 0 ? 429 : 503, headers: { "retry-after": "0" } });
  });
  await expectUndisturbed(engine);
  expect([...refused.keys()]).toEqual(expect.arrayContaining(["optim_step", "forward_backward", "asample"]));
  await engine.dispose();
});

test("a model that the server evicts between a pass and its step is built again from the checkpoint", async () => {
  let model = "";
  const engine = await open(async (input, init) => {
    const answer = await fetch(input, init);
    if (String(input).endsWith("optim_step"))
      model = (JSON.parse(new TextDecoder().decode(init?.body as Uint8Array)) as { model_id: string }).model_id;
    return answer;
  });
  let evictions = 0;
  await expectUndisturbed(engine, async (step) => {
    if (step === 1 || evictions > 0) return;
    evictions++;
    const body = JSON.stringify({ model_id: model, type: "unload_model" });
    const answer = await fetch(`${server.baseUrl}/api/v1/unload_model`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    const { request_id } = (await answer.json()) as { request_id: string };
    await fetch(`${server.baseUrl}/api/v1/retrieve_future`, {
      ...{ method: "POST", headers: { "content-type": "application/json" } },
      body: JSON.stringify({ request_id }),
    });
  });
  expect(evictions).toBe(1);
  await engine.dispose();
});

test("a server that is restarted on an old state, without the last checkpoint: the run stops and names it", async () => {
  const own = await start();
  const engine = await open(undefined, own.baseUrl);
  await engine.forwardBackward(samples, someWeights, plain);
  await engine.step(adamW);
  const state = join(folder, "old-state");
  await engine.saveState(state);
  await own.close();
  const { path } = JSON.parse(await readFile(join(state, "tinker.json"), "utf8")) as { path: string };
  const [, name] = /weights\/(.+)$/.exec(path) ?? [];
  for (const entry of await readdir(join(folder, "store"), { recursive: true }))
    if (entry.endsWith(name ?? "?")) await rm(join(folder, "store", entry), { recursive: true });
  const again = await start(Number(new URL(own.baseUrl).port));
  const failed = engine.logprobs(samples, plain);
  await expect(failed).rejects.toThrow(/the server lost .*--resume/s);
  await expect(failed).rejects.toThrow(String(name));
  await engine.dispose();
  await again.close();
});
