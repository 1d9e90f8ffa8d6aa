import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { makeTokenizer } from "../src/chat/tokenizer.ts";
import type { Capability } from "../src/core/policy.ts";
import type { Engine } from "../src/engines/engine.ts";
import { createLocalEngine } from "../src/engines/local/engine.ts";
import { createTinkerEngine, type TinkerEngine } from "../src/engines/tinker/engine.ts";
import type { Findings } from "../src/engines/tinker/probe.ts";
import { serveModel } from "../src/sdk/served-model.ts";
import { type RunningServer, type ServerOptions, startTinkerServer } from "../src/server/tinker/server.ts";
import { adamW, distance, expectClose, plain, samples, someWeights } from "./engine-fixtures.ts";
import { engineSuite } from "./engine-suite.ts";
import { moreLettersTokenizer } from "./letters.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** The remote engine on our own server, and on the real one that RETROGRADE_SKYRL_URL names (its model is tiny-qwen3). */
let folder: string;
let server: RunningServer;
const tokenizer = makeTokenizer(moreLettersTokenizer);
const lora = { rank: 4, alpha: 32, targets: "all-linear" as const, seed: 5 };

async function start(changes: Partial<ServerOptions> = {}): Promise<RunningServer> {
  const limits = { models: 32, bytes: 2 ** 40, queue: 1024, body: 2 ** 26, samplers: 4 };
  const models = [await serveModel("tiny", join(folder, "tiny"), 1)];
  const store = join(folder, "store");
  return startTinkerServer({ models, store, imports: new Map(), limits, sessionMs: 60_000, port: 0, keys: [], ...changes });
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

vi.setConfig({ testTimeout: 300_000 });

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

const skyrl = process.env.RETROGRADE_SKYRL_URL;
let found: Findings | undefined;
const openSkyrl = async () => {
  const shape = { rank: 4, seed: 1, vocabularySize: 512, maxLength: 2048 };
  const engine = await createTinkerEngine({ baseUrl: skyrl, model: "tiny-qwen3", ...shape, findings: found });
  found = engine.findings;
  return engine;
};
if (skyrl === undefined) test.skip("the engine on a real SkyRL server (skipped: RETROGRADE_SKYRL_URL names none)", () => {});
else engineSuite("The engine on a real SkyRL server", openSkyrl, ["reference", "adam-settings", "exact-state"]);

describe("on our own server", () => {
  test("cross-entropy is the linear form, and samples are the trainer's to the last digit of a float32", async () => {
    const engine = await open();
    expect(engine.findings).toMatchObject({ form: { lossFn: "cross_entropy" }, rejected: [], clips: true, topLogprobs: true });
    expect(engine.findings.logprobGap).toBeLessThan(1e-4);
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
