import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createLocalEngine } from "../engine.ts";
import { model, opened, samples, trained } from "./workers.fixture.ts";

afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.dispose();
});

describe.each([
  ["the whole model", {}],
  ["an adapter", { lora: { rank: 4, alpha: 8, targets: "all-linear", seed: 1 } }],
  ["the whole model layer by layer", { recompute: true }],
] as const)("passes of %s that workers share", (_, options) => {
  test("are those of one up to rounding, and the same to the byte in every run", async () => {
    const one = await trained(options);
    const two = await trained({ ...options, workers: 2 });
    const again = await trained({ ...options, workers: 2 });
    expect(again.numbers).toEqual(two.numbers);
    two.numbers.forEach((row, i) => {
      row.forEach((number, j) => {
        expect(Math.abs(number - one.numbers[i][j])).toBeLessThan(2e-4);
      });
    });
    expect(two.numbers.length).toBe(one.numbers.length);
    expect(two.training.denseTokens).toBe(one.training.denseTokens);
  });
});

test("entropies too, by three", async () => {
  const one = await trained({}, true);
  const three = await trained({ workers: 3 }, true);
  const gradientNorms = (of: typeof one) => of.numbers.filter((row) => row.length === 1).flat();
  gradientNorms(three).forEach((norm, i) => {
    expect(norm).toBeCloseTo(gradientNorms(one)[i], 4);
  });
});

test("a state loaded by another engine continues with its parameters", async () => {
  const { engine } = await trained({ workers: 2 });
  const other = await createLocalEngine({ model, threads: 1, workers: 2 });
  opened.push(other);
  await other.logprobs(samples, { temperature: 1 }); // its workers have the first parameters
  const folder = await mkdtemp(join(tmpdir(), "workers-"));
  await engine.saveState(folder);
  await other.loadState(folder);
  expect(await other.logprobs(samples, { temperature: 1 })).toEqual(await engine.logprobs(samples, { temperature: 1 }));
  await rm(folder, { recursive: true });
});
