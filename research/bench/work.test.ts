import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { makeTokenizer } from "../../src/chat/tokenizer.ts";
import type { ActionInContext } from "../../src/core/trajectory.ts";
import type { SampleRequest } from "../../src/engines/engine.ts";
import { rolloutBatch, turnWeights, writeBatch } from "./batch.ts";
import { sample, train } from "./gpu.ts";
import { peakLines, work } from "./memory.ts";
import { denseBatch, randomTokens } from "./model.ts";
import { denseRounds } from "./ours/dense.ts";
import { rolloutRounds } from "./ours/rollouts.ts";
import { answerRounds, type Measured, peakMegabytes, secondsPerCall } from "./ours/rounds.ts";
import { samplingRounds } from "./ours/sampling.ts";
import { wordsModel } from "./ours/words-model.ts";
import { picturesOf } from "./screenshots.ts";
import { shapeOf } from "./shapes.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** An engine with 50 words. An update takes 0.4 s, an action 10 ms for each of its tokens; bytes cross at each. */
function slowEngine() {
  const asked: SampleRequest[] = [];
  const updates: { samples: readonly ActionInContext[]; weights: unknown; options: unknown }[] = [];
  const released: string[] = [];
  const steps: unknown[] = [];
  const crossed = { up: 1e9, down: 2e9 };
  const engine = {
    info: { vocabularySize: 50 },
    forwardBackward: async (samples: readonly ActionInContext[], weights: unknown, options: unknown) => {
      updates.push({ samples, weights, options });
      vi.advanceTimersByTime(300);
      crossed.up += 4e5;
      crossed.down += 3e4;
      return samples.map((_, i) => [-i, -i]);
    },
    step: async (options: unknown) => {
      steps.push(options);
      vi.advanceTimersByTime(100);
      return { gradientNorm: 1.25 };
    },
    sample: async (request: SampleRequest) => {
      asked.push(request);
      vi.advanceTimersByTime(10 * request.maxTokens);
      crossed.up += 100 * request.maxTokens;
      crossed.down += 100 * request.maxTokens;
      return { tokens: [asked.length % 50] };
    },
    release: (key: string) => void released.push(key),
  } as unknown as Measured;
  return { engine, asked, updates, released, steps, crossed };
}
const adamw = { learningRate: 1e-5, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 };
const sines = ({ action }: ActionInContext) => action.map((_, i) => Math.sin(i));

test("a side says its name, then answers each request with a round", async () => {
  const said: string[] = [];
  const requests = (async function* () {
    yield* ["1 2", "3 4"];
  })();
  await answerRounds(
    async (request) => ({ speed: request.length }),
    "ours",
    requests,
    (line) => said.push(line),
  );
  expect(said).toEqual(['{"name":"ours"}', '{"speed":3}', '{"speed":3}']);
});

test("work is repeated for at least a second", async () => {
  const takes = (seconds: number) => secondsPerCall(async () => void vi.advanceTimersByTime(1000 * seconds));
  expect([await takes(0.4), await takes(0.5), await takes(3)].map((each) => each.toFixed(6))).toEqual([
    "0.400000",
    "0.500000",
    "3.000000",
  ]);
  let calls = 0;
  await secondsPerCall(async () => {
    calls++;
    vi.advanceTimersByTime(250);
  });
  expect(calls).toBe(4);
  expect(peakMegabytes()).toBeGreaterThan(20);
  expect(peakMegabytes()).toBeLessThan(20_000);
});

test("dense rows: one update to warm up, then rounds of the same rows", async () => {
  const { engine, updates, steps } = slowEngine();
  const opened: unknown[] = [];
  const open = async (...given: unknown[]) => {
    opened.push(given);
    return engine;
  };
  const round = await denseRounds(["model", "3", "2", "8", "adapter"], open);
  const lora = { rank: 16, alpha: 32, targets: "all-linear", seed: 1 };
  const use = { training: true, length: 8, concurrency: 1, trajectories: 2 };
  expect(opened).toEqual([[{ model: "model", threads: 3, lora }, use]]);
  const rows = denseBatch(50, 2, 8);
  expect(updates).toEqual([{ samples: rows, weights: rows.map(sines), options: { temperature: 1 } }]);
  expect(steps).toEqual([adamw]);
  const { tokensPerSecond, peakMegabytes: peak } = await round("");
  expect(tokensPerSecond).toBeCloseTo(16 / 0.4, 6);
  expect(peak).toBeGreaterThan(20);
  expect(updates).toHaveLength(4);
  expect(updates[3]?.samples).toEqual(rows);

  const long = slowEngine();
  const adapters: unknown[] = [];
  const openLong = async ({ lora: none }: { readonly lora?: object }) => {
    adapters.push(none);
    return long.engine;
  };
  await (await denseRounds(["model", "1", "1", "80"], openLong))("");
  expect(adapters).toEqual([undefined]);
  expect(long.updates.map(({ samples }) => samples.map(({ action }) => action.length))).toEqual([[63], [79], [79], [79]]);
});

test("recorded rollouts: every turn is trained, and every token of a trajectory counts once", async () => {
  const turn = (index: number, context: readonly number[], action: readonly number[]) => ({
    trajectory: "t",
    turn: index,
    context,
    action,
  });
  const turns = [turn(0, [1, 2], [3, 4]), turn(1, [1, 2, 3, 4, 5], [6])];
  const file = join(mkdtempSync(join(tmpdir(), "bench-rollouts-")), "batch.json");
  await writeBatch(file, rolloutBatch([{ trajectories: [{ turns }, { turns }] }] as never));
  const { engine, updates } = slowEngine();
  const round = await rolloutRounds(["model", "2", file], async (options) => {
    expect(options).toEqual({ model: "model", threads: 2 });
    return engine;
  });
  expect(updates.map(({ samples, weights }) => [samples, weights])).toEqual([
    [[...turns, ...turns], [...turns, ...turns].map(turnWeights)],
  ]);
  expect((await round("")).tokensPerSecond).toBeCloseTo(12 / 0.4, 6);
});

test("sampling: prompts are cached by a first token, and only what follows is timed", async () => {
  const { engine, asked, released } = slowEngine();
  const round = await samplingRounds(["model", "2"], async (options, use) => {
    expect([options, use]).toEqual([
      { model: "model", threads: 2 },
      { training: true, length: 1024, concurrency: 128 },
    ]);
    return engine;
  });
  const prompt = (length: number, row: number) => randomTokens(50, length, "prompt", row);
  const request = (context: readonly number[], maxTokens: number, seed: number, row: number) => ({
    ...{ context, maxTokens, stopTokens: [], seed, cacheKey: `row ${row}` },
  });
  expect(asked).toEqual([request(prompt(64, 0), 1, 0, 0), request([...prompt(64, 0), 1], 8, 1, 0)]);
  asked.length = released.length = 0;
  const { tokensPerSecond } = await round("2 16 30");
  expect(asked.slice(0, 4)).toEqual([
    ...[request(prompt(16, 0), 1, 2, 0), request(prompt(16, 1), 1, 3, 1)],
    ...[request([...prompt(16, 0), 1], 30, 4, 0), request([...prompt(16, 1), 2], 30, 5, 1)],
  ]);
  expect(asked).toHaveLength(8);
  expect(released).toEqual(["row 0", "row 1", "row 0", "row 1"]);
  expect(tokensPerSecond).toBeCloseTo(60 / 0.6, 6);
});

test("memory: actions, updates, actions; rows are as long as they were asked for", async () => {
  const { engine, asked, updates, released } = slowEngine();
  const said: string[] = [];
  await work(engine, { tokens: 20, rows: 2, updates: 2 }, (line) => said.push(line));
  expect(said).toEqual(["update 1: 0.4 s", "update 2: 0.4 s"]);
  expect(updates.map(({ samples }) => samples)).toEqual([denseBatch(50, 2, 20), denseBatch(50, 2, 20)]);
  const contexts = [0, 1].map((row) => randomTokens(50, 12, "context", row));
  const requests = contexts.map((context, seed) => ({ context, maxTokens: 8, stopTokens: [], seed, cacheKey: `${seed}` }));
  expect(asked).toEqual([...requests, ...requests]);
  expect(released).toEqual(["0", "1", "0", "1"]);
  asked.length = 0;
  await work(engine, { tokens: 20, rows: 1, updates: 0 }, () => {});
  expect(asked).toHaveLength(1);
  const parts = [
    { name: "weights", bytes: 2 ** 30 },
    { name: "activations", bytes: 2 ** 29 },
  ];
  expect(peakLines(parts as never, 2 ** 31)).toEqual([
    "  weights                            1.00 GiB",
    "  activations                        0.50 GiB",
    "peak   2.00 GiB   estimate   1.50 GiB   estimate / peak 0.75",
  ]);
});

test("a device: medians of five updates and what crosses the bus, then decoding by rows", async () => {
  const { engine, updates, crossed, asked, released } = slowEngine();
  const said: string[] = [];
  await train(engine, crossed, (line) => said.push(line.replace(/loop \d+ ms/, "loop N ms")));
  const report = "mean log π -7.5000, norm 1.2500, 0.4 MB up, 0.03 MB down";
  expect(said).toEqual([
    `first step 0.4 s with its sessions; ${report}`,
    `TRAIN 20480 tokens/s; ${report}; longest wait of the event loop N ms`,
  ]);
  expect(updates).toHaveLength(6);
  expect(updates[0]?.samples).toEqual(denseBatch(50, 16, 512));
  said.length = 0;
  await sample(engine, crossed, (line) => said.push(line));
  expect(said).toEqual([
    "SAMPLE rows 1, 512 cached: 100 tokens/s, 10.00 ms a step, 200 bytes a token across the bus",
    "SAMPLE rows 32, 512 cached: 100 tokens/s, 320.00 ms a step, 200 bytes a token across the bus",
    "SAMPLE rows 128, 512 cached: 100 tokens/s, 1280.00 ms a step, 200 bytes a token across the bus",
  ]);
  expect(asked.slice(0, 3)).toEqual(
    [2, 8, 64].map((maxTokens, i) => ({
      ...{ context: randomTokens(50, 512, "row", 0), maxTokens, stopTokens: [], seed: i + 1, cacheKey: "row 0" },
    })),
  );
  expect(asked.at(-1)).toMatchObject({ context: randomTokens(50, 512, "row", 127), seed: 130, cacheKey: "row 127" });
  expect(released.slice(0, 4)).toEqual(["row 0", "row 0", "row 1", "row 2"]);
});

test("the model of words: as many words as tokens, and an answer ends where it is trained to", () => {
  const { config, companions } = wordsModel({ ...shapeOf("5m"), layers: 1, vocabSize: 1030 });
  const file = (name: string) => JSON.parse(new TextDecoder().decode(companions.get(name)));
  const tokenizer = makeTokenizer({ tokenizer: file("tokenizer.json"), config: file("tokenizer_config.json") });
  expect([tokenizer.size, config.eosTokenIds]).toEqual([1030, [1022]]);
  expect(tokenizer.encode("w0 w1021 <eos> <pad> w1022 w1027")).toEqual([0, 1021, 1022, 1023, 1024, 1029]);
  expect(tokenizer.stopTokens).toEqual([1022]);
});

test("the pictures of the dashboard are pages of one run", () => {
  expect(picturesOf("/runs/a b", "3", "step-3/2/7", "1.5").map(({ name, path }) => `${name} ${path}`)).toEqual([
    "overview run/a%20b",
    "why run/a%20b/why?step=3",
    "trajectory run/a%20b/trajectory?id=step-3%2F2%2F7&token=1.5",
    "tree run/a%20b/tree?step=3&group=step-3%2F2",
  ]);
});
