import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EngineError } from "../../../src/core/errors.ts";
import type { StepOptions } from "../../../src/engines/engine.ts";
import type { AdamSettings, Datum, SampledSequence } from "../client/index.ts";
import { ScriptedServer } from "../client/scripted-server.fixture.ts";
import { createTinkerEngine, TinkerEngine, type TinkerEngineOptions } from "./engine.ts";
import { linearForms } from "./linear-form.ts";
import type { Findings } from "./probe.ts";
import { Recovering } from "./recovering.ts";
import { readRemoteState, writeRemoteState } from "./state.ts";

const [signed, cispo] = linearForms as [Findings["form"], Findings["form"]];
const findings: Findings = {
  ...{ form: signed, rejected: [], adam: true, clips: true, logprobGap: 0.001 },
  ...{ bfloat16: false, topLogprobs: true, wideSeeds: true },
};
const options: TinkerEngineOptions = { baseUrl: "http://x", model: "tiny", rank: 4, seed: 0, vocabularySize: 20, maxLength: 30 };
const adam: StepOptions = { learningRate: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0, clipNorm: 2 };
const plain = { temperature: 1 };
const names = (path: string) => path.replace(/-[0-9a-f]{8}$/, "");

/** An engine on a server that scores target t as -t/10, and says what it was asked. */
function engineOf(changes: Partial<Findings> = {}, more: Partial<TinkerEngineOptions> = {}) {
  const log: unknown[] = [];
  let models = 0;
  const scored = (data: readonly Datum[]) => ({
    fields: { logprobs: data.map(({ targets }) => targets.map((target) => -target / 10)) },
    metrics: {},
  });
  const drawn: SampledSequence = { tokens: [3, 4], logprobs: [-1, -2], stopReason: "stop" };
  const sampling = { hold: Promise.resolve(), drawn };
  const modelOf = (from: string | undefined) => {
    const id = `m${++models}${from === undefined ? "" : ` from ${names(from)}`}`;
    return {
      id,
      forward: async (data: readonly Datum[]) => {
        log.push([`${id} forward`, data]);
        return scored(data);
      },
      forwardBackward: async (data: readonly Datum[], lossFn: string, config: object) => {
        log.push([`${id} ${lossFn}`, data, config]);
        return scored(data);
      },
      optimStep: async (settings: AdamSettings) => {
        log.push([`${id} step`, settings]);
        return { gradientNorm: settings.learningRate === 0.1 ? 3 : undefined, metrics: {} };
      },
      saveWeights: async (name: string) => {
        log.push(`${id} saves ${names(name)}`);
        return `tinker://${name}`;
      },
      saveForSampler: async (name: string) => {
        log.push(`${id} samples ${names(name)}`);
        return {
          sample: async () => {
            await sampling.hold;
            return { sequences: [sampling.drawn] };
          },
        };
      },
      unload: async () => void log.push(`${id} unloads`),
    };
  };
  const client = {
    baseUrl: "http://x",
    takeStats: () => ({ requests: 1, repeats: 0, sentBytes: 2, receivedBytes: 3 }),
    loadModel: async (path: string, limits: object) => {
      log.push([`load ${names(path)}`, limits]);
      return modelOf(path);
    },
    deleteWeights: async (path: string) => void log.push(`delete ${names(path)}`),
    downloadWeights: async (id: string, name: string) => {
      log.push(`download ${id} ${names(name)}`);
      return new Map([["config.json", Buffer.from("{}")]]);
    },
    close: () => void log.push("close"),
  };
  const open = async (from?: string) => ({ client, model: modelOf(from) }) as never;
  const engine = async () =>
    new TinkerEngine(new Recovering(await open(), open, 1), { ...findings, ...changes }, { ...options, ...more });
  return { engine, log, sampling };
}

const sample = (trajectory: string, action: readonly number[]) => ({ trajectory, turn: 0, context: [1, 2], action: [...action] });
const [a, b, c] = [sample("a", [5, 6]), sample("b", [7]), sample("c", [8])];
const datum = (ids: readonly number[], inputs?: object) => ({
  tokens: ids.slice(0, -1),
  targets: ids.slice(1),
  ...(inputs && { inputs }),
});
const sent = { learningRate: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0, clipNorm: 2 };

test("the engine says what the server is, has and rounds", async () => {
  const { info } = await engineOf().engine();
  expect(info).toEqual({
    ...{
      name: "tiny at http://x",
      parameters: 0,
      vocabularySize: 20,
      maxLength: 30,
      fixedAdam: undefined,
      logprobTolerance: 0.02,
    },
    capabilities: ["reference", "adam-settings", "exact-state", "gradient-accumulation", "gradient-clipping", "top-logprobs"],
  });
  const rounding = await engineOf({ bfloat16: true, adam: false, logprobGap: 0.02, topLogprobs: false }).engine();
  expect(rounding.info).toMatchObject({
    ...{ fixedAdam: { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 }, logprobTolerance: 0.25 },
    capabilities: ["reference", "exact-state", "gradient-accumulation", "gradient-clipping"],
  });
  const fixedAdam = { beta1: 0, beta2: 0, epsilon: 1, weightDecay: 0 };
  const own = await engineOf({ adam: false, logprobGap: 0.5, form: cispo, clips: false }, { fixedAdam }).engine();
  expect(own.info).toMatchObject({ fixedAdam, logprobTolerance: 5, capabilities: ["reference", "exact-state", "top-logprobs"] });
});

test("what a server has not is refused by its name", async () => {
  const engine = await engineOf().engine();
  const refusals = {
    "frozen-policies": [engine.freeze(), engine.loadFrozen()],
    critic: [engine.critic()],
    "entropy-gradient": [engine.forwardBackward([a], [[1, 1]], { temperature: 1, entropyWeights: [[1, 1]] })],
    "tempered-logprobs": [
      engine.logprobs([a], { temperature: 0.5 }),
      engine.referenceLogprobs([a], { temperature: 0.5 }),
      engine.forwardBackward([a], [[1, 1]], { temperature: 0.5 }),
      engine.passAndStep([a], [[1, 1]], { temperature: 0.5 }, adam),
    ],
  };
  for (const [capability, calls] of Object.entries(refusals))
    for (const call of calls) await expect(call).rejects.toThrow(`the capability "${capability}" of tiny at http://x`);
  engine.release();
});

test("a pass with weights is one request, and its step another; the norm is the server's", async () => {
  const { engine: make, log } = engineOf();
  const engine = await make();
  await expect(engine.step(adam)).rejects.toThrow(/gradient is missing; expected a forwardBackward before a step/);
  expect(await engine.forwardBackward([a, b], [[0.5, -1], [2]], plain)).toEqual([[-0.5, -0.6], [-0.7]]);
  expect(await engine.step(adam)).toEqual({ gradientNorm: 3, learningRate: 0.1 });
  expect(log).toEqual([
    ["m1 cross_entropy", [datum([1, 2, 5, 6], { weights: [0, 0.5, -1] }), datum([1, 2, 7], { weights: [0, 2] })], {}],
    ["m1 step", sent],
  ]);
  expect(engine.weightVersion).toBe(1);
  await expect(engine.step(adam)).rejects.toThrow(EngineError);
  await engine.forwardBackward([a], [[1, 1]], plain);
  expect(await engine.step({ ...adam, learningRate: 0.2, clipNorm: Number.POSITIVE_INFINITY })).toEqual({
    ...{ gradientNorm: Number.NaN, learningRate: 0.2 },
  });
  expect(log.at(-1)).toEqual(["m1 step", { ...sent, learningRate: 0.2, clipNorm: 0 }]);
  expect(engine.takeStats()).toMatchObject({ remote: { waits: 4, requests: 1, sentBytes: 2, receivedBytes: 3 } });
});

test("decided weights take a pass forward, and one backward that travels with the step, without samples of weight 0", async () => {
  const { engine: make, log } = engineOf();
  const engine = await make();
  const seen: unknown[] = [];
  const logprobs = await engine.forwardBackward(
    [a, b],
    (given) => {
      seen.push(given);
      return [[0, 0], [2]];
    },
    plain,
  );
  expect(seen).toEqual([logprobs]);
  expect(log).toEqual([["m1 forward", [datum([1, 2, 5, 6]), datum([1, 2, 7])]]]);
  await engine.step(adam);
  expect(log.slice(1)).toEqual([
    ["m1 cross_entropy", [datum([1, 2, 7], { weights: [0, 2] })], {}],
    ["m1 step", sent],
  ]);
  expect(engine.takeStats()).toMatchObject({ remote: { waits: 3 } });
  await engine.forwardBackward([a], () => [[0, 0]], plain);
  log.length = 0;
  await engine.step(adam);
  expect(log).toEqual([["m1 step", sent]]);
});

test("without samples nothing is asked", async () => {
  const { engine: make, log } = engineOf();
  const engine = await make();
  expect([await engine.logprobs([], plain), await engine.forwardBackward([], [], plain)]).toEqual([[], []]);
  expect(log).toEqual([]);
});

test("gradients of several passes are refused where the form does not add them up", async () => {
  const one = await engineOf({ form: cispo }).engine();
  await one.forwardBackward([a], [[1, 1]], plain);
  const why = 'the capability "gradient-accumulation"';
  await expect(one.forwardBackward([a], [[1, 1]], plain)).rejects.toThrow(why);
  await expect(one.passAndStep([a], [[1, 1]], plain, { ...adam })).rejects.toThrow(why);
  const adding = await engineOf().engine();
  await adding.forwardBackward([a], [[1, 1]], plain);
  await adding.forwardBackward([a], [[1, 1]], plain);
});

test("a pass with its step: samples of weight 0 are scored beside, and log-probs keep their order", async () => {
  const { engine: make, log } = engineOf();
  const engine = await make();
  expect(await engine.passAndStep([a, b, c], [[0, 0], [2], [0]], plain, adam)).toEqual({
    ...{ logprobs: [[-0.5, -0.6], [-0.7], [-0.8]], report: { gradientNorm: 3, learningRate: 0.1 } },
  });
  expect(log).toEqual([
    ["m1 cross_entropy", [datum([1, 2, 7], { weights: [0, 2] })], {}],
    ["m1 forward", [datum([1, 2, 5, 6]), datum([1, 2, 8])]],
    ["m1 step", sent],
  ]);
  expect(engine.takeStats()).toMatchObject({ remote: { waits: 2 }, training: { denseTokens: 4 + 3 + 3 } });
  log.length = 0;
  await engine.passAndStep([a], [[0, 0]], plain, adam);
  expect(log.map((each) => (each as unknown[])[0])).toEqual(["m1 forward", "m1 step"]);
  log.length = 0;
  await engine.passAndStep([a], [[1, 1]], plain, adam);
  expect(log.map((each) => (each as unknown[])[0])).toEqual(["m1 cross_entropy", "m1 step"]);
  await expect(engine.passAndStep([a], [[1]], plain, adam)).rejects.toThrow(/expected 2 numbers/);
});

const request = { context: [1, 2], maxTokens: 5, stopTokens: [9], seed: 1 };

test("weights are saved for sampling once a version, and no step is made while actions are drawn", async () => {
  const { engine: make, log, sampling } = engineOf();
  const engine = await make();
  expect(await engine.sample(request)).toEqual({
    ...{ tokens: [3, 4], logprobs: [-1, -2], modelLogprobs: [-1, -2], entropies: [], finish: "stop", weightVersion: 0 },
  });
  await engine.sample(request);
  expect(log).toEqual(["m1 samples sample-0"]);
  let release = () => {};
  sampling.hold = new Promise((resolve) => {
    release = resolve;
  });
  const drawn = engine.sample(request);
  await expect(engine.passAndStep([a], [[1, 1]], plain, adam)).rejects.toThrow(
    /weights is "changed while actions are being sampled"/,
  );
  release();
  await drawn;
  await engine.passAndStep([a], [[1, 1]], plain, adam);
  log.length = 0;
  expect((await engine.sample({ ...request, temperature: 0 })).logprobs).toEqual([0, 0]);
  expect(log).toEqual(["m1 samples sample-1"]);
});

test("an action ends where a stop string does, with the candidates of what is left of it", async () => {
  const decode = (tokens: readonly number[]) => tokens.map((token) => "abcde".charAt(token)).join("");
  const { engine: make, sampling } = engineOf({}, { decode });
  const topLogprobs = [1, 2, 3, 4].map((token) => ({ tokens: [token, 0], logprobs: [-token, -9] }));
  sampling.drawn = { tokens: [1, 2, 3, 4], logprobs: [-1, -2, -3, -4], stopReason: "length", topLogprobs };
  const engine = await make();
  expect(await engine.sample({ ...request, stopStrings: ["x", "cd"], topLogprobs: 2 })).toEqual({
    ...{
      tokens: [1, 2, 3],
      logprobs: [-1, -2, -3],
      modelLogprobs: [-1, -2, -3],
      entropies: [],
      finish: "stop",
      weightVersion: 0,
    },
    topLogprobs: [
      [-1, -9],
      [-2, -9],
      [-3, -9],
    ],
    topTokens: [
      [1, 0],
      [2, 0],
      [3, 0],
    ],
  });
  const { finish, tokens } = await engine.sample({ ...request, stopStrings: ["x"] });
  expect([finish, tokens]).toEqual(["length", [1, 2, 3, 4]]);
  expect(engine.takeStats()).toMatchObject({ sampler: { prefilledTokens: 4, sampledTokens: 7 } });
});

test("the reference is a model of its own with the weights of then", async () => {
  const { engine: make, log } = engineOf();
  const engine = await make();
  await expect(engine.referenceLogprobs([a], plain)).rejects.toThrow(
    /reference model is missing; expected a snapshot\. Call snapshotReference\(\) before training starts/,
  );
  await engine.snapshotReference();
  expect(await engine.referenceLogprobs([a], plain)).toEqual([[-0.5, -0.6]]);
  const limits = { vocabularySize: 20, maxLength: 30, optimizer: false };
  expect(log).toEqual([
    ...["m1 saves reference", ["load tinker://reference", limits]],
    ["m2 from tinker://reference forward", [datum([1, 2, 5, 6])]],
  ]);
  await engine.snapshotReference();
  expect(log.slice(3)).toEqual(["m1 saves reference", "m2 from tinker://reference unloads", ["load tinker://reference", limits]]);
  await engine.dispose();
  expect(log.slice(-3)).toEqual(["m3 from tinker://reference unloads", "m1 unloads", "close"]);
});

test("a state is where the server keeps it; it is loaded by its rank and server, and the last one is not dropped", async () => {
  const at = mkdtempSync(join(tmpdir(), "tinker-state-"));
  const [first, second] = [join(at, "1"), join(at, "2")];
  const { engine: make, log } = engineOf();
  const engine = await make();
  await engine.passAndStep([a], [[1, 1]], plain, adam);
  await engine.saveState(first);
  const state = await readRemoteState(first);
  expect(state).toEqual({
    url: "http://x",
    path: expect.stringMatching(/^tinker:\/\/step-1-/),
    steps: 1,
    rank: 4,
    reference: null,
  });
  await engine.snapshotReference();
  await engine.saveState(second);
  expect((await readRemoteState(second)).reference).toMatch(/^tinker:\/\/reference-/);
  log.length = 0;
  await engine.dropState(second);
  await engine.dropState(first);
  expect(log).toEqual(["delete tinker://step-1"]);
  log.length = 0;
  await engine.forwardBackward([a], () => [[1, 1]], plain);
  await engine.loadState(second);
  expect([engine.weightVersion, log.slice(1)]).toEqual([
    1,
    [
      ...["m1 unloads", "m2 from tinker://reference unloads"],
      ["load tinker://reference", { vocabularySize: 20, maxLength: 30, optimizer: false }],
    ],
  ]);
  // What was not sent yet belongs to the weights of before.
  await expect(engine.step(adam)).rejects.toThrow(/expected a forwardBackward/);
  for (const [change, message] of [
    [{ rank: 8 }, /rank of the saved state is 8; expected 4, of this engine/],
    [
      { url: "http://y" },
      /server of the saved state is "http:\/\/y"; expected http:\/\/x\. The state is on the server that wrote it/,
    ],
  ] as const) {
    await writeRemoteState(first, { ...state, ...change });
    await expect(engine.loadState(first)).rejects.toThrow(message);
  }
  await writeRemoteState(first, { ...state, steps: 7 });
  await engine.loadState(first);
  expect(engine.weightVersion).toBe(7);
  await expect(engine.referenceLogprobs([a], plain)).rejects.toThrow(/expected a snapshot/);
});

test("a model is downloaded under a name of its own, and sampled under another afterwards", async () => {
  const { engine: make, log } = engineOf();
  const engine = await make();
  await engine.sample(request);
  await engine.saveModel(mkdtempSync(join(tmpdir(), "tinker-model-")));
  await engine.sample(request);
  expect(log).toEqual(["m1 samples sample-0", "m1 samples export", "download m1 export", "m1 samples sample-0"]);
});

test("an engine is opened within the server's limit, without a probe where its findings are known", async () => {
  const server = new ScriptedServer();
  const open = (more: object) =>
    createTinkerEngine({ ...options, fetch: server.fetch, random: () => 0, patienceMs: 500, findings, ...more });
  for (const [maxLength, known] of [
    [64, 32],
    [16, 16],
  ]) {
    const engine = await open({ maxLength });
    expect([engine.info.maxLength, engine.findings]).toEqual([known, findings]);
    await engine.dispose();
  }
  expect(server.arrived).not.toContain("forward_backward");
  expect(server.arrived.filter((path) => path === "create_model")).toHaveLength(2);
  await expect(open({ findings: undefined, vocabularySize: 7 })).rejects.toThrow(
    /vocabularySize is 7; expected at least 8 tokens/,
  );
  const engine = await open({});
  const at = mkdtempSync(join(tmpdir(), "tinker-state-"));
  await engine.saveState(at);
  expect(server.arrived).not.toContain("load_weights");
  await engine.loadState(at);
  expect(server.arrived.filter((path) => path === "load_weights")).toHaveLength(1);
  await engine.dispose();
  await expect(open({ model: "other" })).rejects.toMatchObject({ subject: "base model", value: "other" });
});
