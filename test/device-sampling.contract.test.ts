import { describe, expect, test } from "vitest";
import { chooseProvider } from "../extensions/local/device-choice.ts";
import { LocalEngine } from "../extensions/local/engine.ts";
import { nativeRuntime } from "../extensions/local/machine/native.ts";
import { loadModel } from "../extensions/local/model/model-folder.ts";
import { prompt, rollouts } from "../extensions/local/sampling/rollouts.fixture.ts";
import type { LocalAction } from "../extensions/local/sampling/row.ts";

const missing = await chooseProvider("webgpu", 1).then(
  () => undefined,
  (error: Error) => error.message,
);

const lora = { rank: 2, alpha: 4, targets: "all-linear", seed: 1 } as const;
const optimiser = { beta1: 0.9, beta2: 0.999, epsilon: 1e-6, weightDecay: 0.01, clipNorm: 1, learningRate: 1e-2 };

/** The same ids, and what goes with them up to the rounding of sums in another order. */
function expectSame(actual: readonly LocalAction[], expected: readonly LocalAction[], within = 1e-4): void {
  expect(actual.map(({ tokens }) => tokens)).toEqual(expected.map(({ tokens }) => tokens));
  const numbersOf = ({ logprobs, modelLogprobs, entropies, topLogprobs = [] }: LocalAction) => [
    ...[...logprobs, ...modelLogprobs, ...entropies, ...topLogprobs.flat()],
  ];
  actual.forEach((action, i) => {
    const other = expected[i];
    const numbers = other === undefined ? [] : numbersOf(other);
    numbersOf(action).forEach((value, j) => {
      expect(Math.abs(value - (numbers[j] ?? Number.NaN))).toBeLessThan(within);
    });
  });
}

describe.skipIf(missing !== undefined)("sampling on the device", () => {
  test.each([
    { name: "qwen3", options: {} },
    { name: "gemma3_text", options: {} },
    { name: "llama", options: { lora } },
  ])("$name draws what the CPU draws, before and after an update", async ({ name, options }) => {
    const folder = new URL(`golden/models/${name}`, import.meta.url).pathname;
    const results: LocalAction[][] = [];
    for (const provider of ["cpu", "webgpu"] as const) {
      const model = await loadModel(folder);
      const engine = new LocalEngine(model, { model: folder, threads: 1, provider, ...options });
      const actions = await rollouts(engine);
      for (let i = 0; i < 5; i++) engine.release(`rollout ${i}`);
      engine.release("fork");
      const samples = [{ trajectory: "t", turn: 0, context: prompt, action: [11, 13, 17] }];
      await engine.forwardBackward(samples, [[1, -1, 1]], { temperature: 1 });
      await engine.step(optimiser);
      actions.push(await engine.sample({ context: prompt, maxTokens: 5, stopTokens: [], seed: 3 }));
      results.push(actions);
      await engine.dispose();
    }
    const [onCpu = [], onDevice = []] = results;
    expectSame(onDevice, onCpu, 2e-3);
    expectSame(onDevice.slice(0, -1), onCpu.slice(0, -1));
  });

  test("nothing crosses with a step but a few numbers of each row", async () => {
    const folder = new URL("golden/models/qwen3", import.meta.url).pathname;
    const engine = new LocalEngine(await loadModel(folder), { model: folder, threads: 1, provider: "webgpu" });
    const { crossed } = (await nativeRuntime()).device;
    const sample = (tokens: number) =>
      Promise.all(
        [0, 1, 2, 3].map((i) => engine.sample({ context: [...prompt, i], maxTokens: tokens, stopTokens: [], seed: i })),
      );
    const bytesOf = async (tokens: number) => {
      const before = { ...crossed };
      await sample(tokens);
      return crossed.up - before.up + crossed.down - before.down;
    };
    await sample(4); // what is prepared once
    const [short, long] = [await bytesOf(4), await bytesOf(20)];
    await engine.dispose();
    expect((long - short) / (4 * 16)).toBeLessThan(50);
  });

  test("what is cancelled in a step leaves the others what they draw", async () => {
    const folder = new URL("golden/models/qwen3", import.meta.url).pathname;
    const drawn: (readonly number[])[] = [];
    for (const cancels of [false, true]) {
      const engine = new LocalEngine(await loadModel(folder), { model: folder, threads: 1, provider: "webgpu" });
      const abort = new AbortController();
      const onToken = () => cancels && abort.abort();
      const others = [0, 1].map((i) => engine.sample({ context: [...prompt, i], maxTokens: 6, stopTokens: [], seed: i }));
      const request = { context: [...prompt, 2], maxTokens: 6, stopTokens: [], seed: 2, signal: abort.signal, onToken };
      const one = engine.sample(request).catch(() => undefined);
      drawn.push((await Promise.all(others)).flatMap(({ tokens }) => tokens));
      expect((await one) === undefined).toBe(cancels);
      await engine.dispose();
    }
    expect(drawn[1]).toEqual(drawn[0]);
  });
});

test.skipIf(process.env.VK_DRIVER_FILES === undefined)("where a driver is named, nothing above is skipped", () => {
  expect(missing).toBeUndefined();
});
