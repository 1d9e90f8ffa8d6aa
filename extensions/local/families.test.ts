import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { randomStream } from "../../src/core/random.ts";
import type { ActionInContext, TokenId } from "../../src/core/trajectory.ts";
import { createLocalEngine, type LocalEngine } from "./engine.ts";
import type { LoraOptions } from "./options.ts";

const families = ["gemma3_text", "mistral-window", "smollm3", "lfm2", "qwen3"];
const folderOf = (name: string) => new URL(`../../test/golden/models/${name}`, import.meta.url).pathname;
const random = randomStream(1, "families");
const ids = (length: number): TokenId[] => Array.from({ length }, () => random.integer(64));
const adapter: LoraOptions = { rank: 2, alpha: 4, targets: "all-linear", seed: 3 };
const steps = { learningRate: 0.02, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };

/**
 * Episodes of two turns, four of which share their prompt; rows of unequal lengths, all longer than the windows of the models (5 tokens).
 * Prompts are fed at once, tokens one by one, second turns start from what the first left in the cache.
 */
async function play(engine: LocalEngine): Promise<{ samples: ActionInContext[]; sampled: (readonly number[])[] }> {
  const prompt = ids(11);
  const contexts = [prompt, prompt, prompt, [...prompt.slice(0, 7), ...ids(6)], ids(3), ids(25)];
  const turns = await Promise.all(
    contexts.map(async (context, i) => {
      const cacheKey = `${i}`;
      const sample = (of: readonly TokenId[], turn: number) =>
        engine.sample({ context: of, maxTokens: 9 + 2 * i, stopTokens: [], seed: 10 * i + turn, cacheKey });
      const first = await sample(context, 0);
      const longer = [...context, ...first.tokens, ...ids(4)];
      const second = await sample(longer, 1);
      return [
        { context, action: first, turn: 0 },
        { context: longer, action: second, turn: 1 },
      ].map((each) => ({ trajectory: `${i}`, ...each }));
    }),
  );
  const all = turns.flat();
  return {
    samples: all.map(({ action, ...rest }) => ({ ...rest, action: action.tokens })),
    sampled: all.map(({ action }) => action.modelLogprobs),
  };
}

function distance(a: readonly (readonly number[])[], b: readonly (readonly number[])[]): number {
  expect(a.map((row) => row.length)).toEqual(b.map((row) => row.length));
  return Math.max(...a.flatMap((row, i) => row.map((value, j) => Math.abs(value - b[i][j]))));
}

// Float32 in orders of their own: two orders of magnitude below what a token too many or too few in a window changes.
const tolerance = 2e-4;

test.each(families)(
  "%s: what is sampled with a cache has the log-probs of tries, of single sequences and of layers",
  async (name) => {
    const engine = await createLocalEngine({ model: folderOf(name), threads: 1 });
    const layered = await createLocalEngine({ model: folderOf(name), threads: 1, recompute: true });
    const { samples, sampled } = await play(engine);
    const scored = await engine.logprobs(samples, { temperature: 1 });
    expect(distance(scored, sampled)).toBeLessThan(tolerance);
    expect(distance(await layered.logprobs(samples, { temperature: 1 }), sampled)).toBeLessThan(tolerance);
    const single: (readonly number[])[] = [];
    for (const sample of samples) single.push(...(await engine.logprobs([sample], { temperature: 1 })));
    expect(distance(single, scored)).toBeLessThan(tolerance);
    await engine.dispose();
    await layered.dispose();
  },
);

test.each(families)(
  "%s: a trained adapter samples what it scores, and so does the model that it is merged into",
  async (name) => {
    const engine = await createLocalEngine({ model: folderOf(name), threads: 1, lora: adapter });
    const { samples } = await play(engine);
    const before = await engine.logprobs(samples, { temperature: 1 });
    for (let step = 0; step < 3; step++) {
      const weights = samples.map(({ action }, i) => action.map((_, j) => ((i + j) % 3) - 1));
      await engine.forwardBackward(samples, weights, { temperature: 1 });
      await engine.step(steps);
    }
    const after = await engine.logprobs(samples, { temperature: 1 });
    expect(distance(after, before)).toBeGreaterThan(0.05);
    const again = await play(engine);
    expect(distance(await engine.logprobs(again.samples, { temperature: 1 }), again.sampled)).toBeLessThan(tolerance);

    const folder = await mkdtemp(join(tmpdir(), "retrograde-families-"));
    await engine.saveModel(folder);
    const merged = await createLocalEngine({ model: folder, threads: 1 });
    expect(distance(await merged.logprobs(samples, { temperature: 1 }), after)).toBeLessThan(tolerance);
    await merged.dispose();
    await engine.dispose();
    await rm(folder, { recursive: true });
  },
);
