import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { DivergenceError } from "../../src/core/errors.ts";
import { randomStream } from "../../src/core/random.ts";
import { LocalEngine } from "./engine.ts";
import type { Provider } from "./machine/device.ts";
import { loadModel } from "./model/model-folder.ts";
import type { LocalEngineOptions } from "./options.ts";
import { DeviceDecoder } from "./sampling/device-decoder.ts";
import { prompt, rollouts } from "./sampling/rollouts.fixture.ts";
import type { LocalAction } from "./sampling/row.ts";
import { AdamW } from "./training/adamw.ts";
import { ParameterStore } from "./training/parameter-store.ts";

/**
 * All that is done where weights, gradients, moments, keys and values stay in a device's memory, done in the processor's: its provider of ONNX
 * Runtime takes tensors of its own and bindings too, and has the operators that a graph is spelled out in for a GPU's. Only that runs are recorded is
 * a GPU's alone.
 */
type Gpu = Exclude<Provider, "cpu">;
const device = vi.hoisted((): { kernels: Gpu | undefined } => ({ kernels: undefined }));
vi.mock("./machine/device.ts", async (original) => {
  const all = await original<typeof import("./machine/device.ts")>();
  const isGpu = (provider: Provider) => provider !== "cpu" || device.kernels !== undefined;
  const hasKernel: typeof all.hasKernel = (provider, kernel) => all.hasKernel(device.kernels ?? provider, kernel);
  return { ...all, isGpu, hasKernel };
});
beforeEach(() => {
  device.kernels = undefined;
});
const folder = mkdtempSync(join(tmpdir(), "on-device-"));
afterAll(() => rmSync(folder, { recursive: true }));

const optimiser = { beta1: 0.9, beta2: 0.999, epsilon: 1e-6, weightDecay: 0.01, clipNorm: 1, learningRate: 1e-2 };
const lora = { rank: 2, alpha: 4, targets: "all-linear", seed: 1 } as const;
const samples = [
  { trajectory: "a", turn: 0, context: prompt, action: [11, 13, 17] },
  { trajectory: "b", turn: 0, context: [...prompt, 1], action: [19, 2] },
];
const weights = [
  [1, -1, 0.5],
  [0.3, -2],
];

/** Runs on the processor, and with its memory as a device's. */
async function both<T>(
  name: string,
  run: (engine: LocalEngine) => Promise<T>,
  { gpu = "webgpu", ...options }: Partial<LocalEngineOptions> & { readonly gpu?: Gpu } = {},
) {
  const model = new URL(`../../test/golden/models/${name}`, import.meta.url).pathname;
  const results: T[] = [];
  for (const kernels of [undefined, gpu]) {
    device.kernels = kernels;
    const sizes = { passBytes: 2 ** 31, sampling: { cacheBytes: 2 ** 24 } };
    const engine = new LocalEngine(await loadModel(model), { model, threads: 1, provider: "cpu", ...sizes, ...options });
    results.push(await run(engine));
    await engine.dispose();
  }
  return results as [T, T];
}

const numbersOf = ({ logprobs, modelLogprobs, entropies, topLogprobs = [] }: LocalAction) => [
  ...[...logprobs, ...modelLogprobs, ...entropies, ...topLogprobs.flat()],
];

/** The same tokens, and what goes with them up to the rounding of sums in another order. */
function expectSame([here, there]: readonly [readonly LocalAction[], readonly LocalAction[]], within: number): void {
  expect(there.map(({ tokens, finish }) => ({ tokens, finish }))).toEqual(here.map(({ tokens, finish }) => ({ tokens, finish })));
  for (const [i, action] of there.entries()) expectClose(numbersOf(action), numbersOf(here[i]), within);
}

function expectClose(actual: Iterable<number>, expected: Iterable<number>, within: number): void {
  const [a, b] = [[...actual], [...expected]];
  expect(a.length).toBe(b.length);
  expect(Math.max(...a.map((value, i) => Math.abs(value - b[i])))).toBeLessThan(within);
}

test.each([
  { name: "qwen3", options: {} },
  { name: "gemma3_text", options: { gpu: "cuda" } as const },
  { name: "llama", options: { lora } },
])("$name with $options on a device draws what it draws on the processor, before and after a step", async ({ name, options }) => {
  const opened = vi.spyOn(DeviceDecoder, "open");
  let opens = 0;
  const run = async (engine: LocalEngine) => {
    const actions = await rollouts(engine);
    for (const key of ["fork", ...[0, 1, 2, 3, 4].map((i) => `rollout ${i}`)]) engine.release(key);
    await engine.forwardBackward(samples, weights, { temperature: 1 });
    await engine.step(optimiser);
    return [...actions, await engine.sample({ context: prompt, maxTokens: 5, stopTokens: [], seed: 3 })];
  };
  const [here, there] = await both(name, run, options).finally(() => {
    opens = opened.mock.calls.length;
    opened.mockRestore();
  });
  expect(opens).toBe(1);
  expectSame([here, there], 2e-3);
  expectSame([here.slice(0, -1), there.slice(0, -1)], 1e-4);
});

test.each([2 ** 24, 2 ** 17, 0])(
  "rows outgrow their slots on a device, with %i bytes for those that wait",
  async (cacheBytes) => {
    const random = randomStream(1, "contexts");
    const contexts = [5, 60, 63, 64, 130, 150].map((length) => Array.from({ length }, () => random.integer(60)));
    const turns = async (engine: LocalEngine) => {
      const turn = (context: readonly number[], seed: number) =>
        engine.sample({ context, maxTokens: 3 + 9 * seed, stopTokens: [], seed, cacheKey: `${seed}` });
      const first = await Promise.all(contexts.map(turn));
      const second = await Promise.all(first.map(({ tokens }, i) => turn([...contexts[i], ...tokens, 1], i)));
      for (const i of contexts.keys()) engine.release(`${i}`);
      return [...first, ...second, await turn(contexts[1], 1)];
    };
    expectSame(await both("qwen3", turns, { sampling: { cacheBytes } }), 1e-4);
  },
);

test("what is cancelled in a step on a device leaves the others what they draw", async () => {
  const draw = (cancels: boolean) => async (engine: LocalEngine) => {
    const abort = new AbortController();
    const onToken = () => cancels && abort.abort();
    const request = (i: number) => ({ context: [...prompt, i], maxTokens: 6, stopTokens: [], seed: i });
    const others = [0, 1].map((i) => engine.sample(request(i)));
    const one = engine.sample({ ...request(2), signal: abort.signal, onToken }).catch(() => undefined);
    const actions = await Promise.all(others);
    expect((await one) === undefined).toBe(cancels);
    return actions;
  };
  const [here] = await both("qwen3", draw(false));
  const [, there] = await both("qwen3", draw(true));
  expectSame([here, there], 1e-4);
});

/** Log-probs at each point of a run in which gradients of several passes add up, and states come and go. */
async function trained(engine: LocalEngine, state: string): Promise<number[][]> {
  const found: number[][] = [];
  const note = async (numbers?: readonly (readonly number[])[]) => {
    found.push((numbers ?? (await engine.logprobs(samples, { temperature: 1 }))).flat());
  };
  const step = async () => {
    for (const scale of [1, -0.25])
      await engine.forwardBackward(
        samples,
        weights.map((row) => row.map((w) => scale * w)),
        { temperature: 0.8 },
      );
    found.push([(await engine.step(optimiser)).gradientNorm]);
  };
  await engine.snapshotReference();
  await step();
  await note();
  const frozen = engine.info.capabilities.includes("frozen-policies") ? await engine.freeze() : undefined;
  const { overSteps, restore } = await engine.restorePoint();
  expect(overSteps).toBe(true);
  await engine.saveState(state);
  await step();
  await note();
  await restore();
  await note();
  await step();
  await note(); // as before
  await engine.loadState(state);
  await note();
  await note(await frozen?.logprobs(samples, { temperature: 1 }));
  await frozen?.dispose();
  await note(await engine.referenceLogprobs(samples, { temperature: 1 }));
  const critic = await engine.critic();
  await critic.forwardBackward(samples, (values) => values.map((row) => row.map((value) => 1 - value)));
  await critic.step(optimiser);
  await note(await critic.values(samples));
  return found;
}

test.each([
  { name: "qwen3", options: {} },
  { name: "gemma3_text", options: {} }, // windows
  { name: "qwen2", options: { lora, gpu: "cuda" } as const },
  { name: "qwen3", options: { recompute: true, gpu: "cuda" } as const },
  { name: "lfm2", options: { recompute: true } }, // convolutions
])("$name with $options learns on a device as on the processor, and goes back where it was", async ({ name, options }) => {
  const [here, there] = await both(name, (engine) => trained(engine, join(folder, name)), options);
  expect(there.length).toBe(here.length);
  for (const [i, numbers] of here.entries()) expectClose(there[i], numbers, 2e-3 * Math.max(1, Math.abs(numbers[0])));
  const [, first, , second, restored, , again, loaded, frozen] = there;
  expect([restored, again, loaded, frozen]).toEqual([first, second, first, first]);
  expectClose(second, first, 10);
  expect(second).not.toEqual(first);
});

const shapes = new Map([
  ["matrix", [5, 3]],
  ["vector", [7]],
  ["number", [1]],
]);

test("AdamW on a device follows the one in this thread, step for step, and changes nothing where a gradient is not finite", async () => {
  const draw = (seed: number) => {
    const random = randomStream(seed, "numbers");
    return new Map(
      [...shapes].map(([name, sizes]) => [
        name,
        Float32Array.from({ length: sizes[0] * (sizes[1] ?? 1) }, () => random.normal()),
      ]),
    );
  };
  const made = [undefined, "webgpu" as const].map((kernels) => {
    device.kernels = kernels;
    const store = (arrays: ReadonlyMap<string, Float32Array>) => ParameterStore.of(arrays, shapes, { provider: "cpu" });
    const parameters = store(draw(1));
    expect(parameters.provider).toBe(kernels && "cpu");
    return { parameters, store, optimiser: new AdamW(parameters) };
  });
  for (let i = 0; i < 4; i++) {
    const options = { ...optimiser, clipNorm: i === 0 ? 0.5 : 100, weightDecay: 0.1, beta2: 0.95 };
    const norms: number[] = [];
    for (const { store, optimiser } of made) norms.push(await optimiser.step(store(draw(2 + i)), options));
    expect(norms[1]).toBeCloseTo(norms[0], 4);
    const [here, there] = await Promise.all(made.map(({ parameters }) => parameters.host()));
    for (const [name, numbers] of here) expectClose(there.get(name) ?? [], numbers, 1e-5);
  }
  const [, { parameters, store, optimiser: there }] = made;
  const before = await parameters.host();
  const broken = draw(9);
  broken.set("vector", (broken.get("vector") ?? expect.unreachable()).with(2, Number.NaN));
  const step = there.step(store(broken), optimiser);
  await expect(step).rejects.toThrow(DivergenceError);
  await expect(step).rejects.toThrow('gradient of vector is "not finite"');
  expect([await parameters.host(), there.steps]).toEqual([before, 4]);
  await there.close();
});
