import { expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { appo, futureValues } from "./appo.ts";
import { ppu } from "./ppu.ts";

const rows = (...d: number[]) => ({ logprobs: [d], oldLogprobs: [d.map(() => 0)] });

test("what follows counts half after the half-life, and a token that was raised beyond 3 times not at all, by hand", () => {
  // Ω_2 = e^0.1, Ω_1 = e^(−0.2 + 0.05), Ω_0 = e^(0.3 − 0.075)
  expectClose(futureValues(rows(0.3, -0.2, 0.1), 1), [[Math.exp(0.225), Math.exp(-0.15), Math.exp(0.1)]]);
  expectClose(futureValues(rows(0.3, 1.2, 0.1), 1), [[Math.exp(0.3 + 0.025), Math.exp(0.05), Math.exp(0.1)]]);
});

test("the credit is A(1 + b·clip(Ω, 1, 1 + ε)), and the surrogate PPO's, by hand", () => {
  const batch = { ...rows(0.3, -0.2, 0.1), advantages: [[1, 1, 1]], tokenScales: [1] };
  const { weights } = appo(batch, { clip: { low: 0.2, high: 0.5 }, halfLife: 1, influence: 0.5, influenceClip: 0.15 });
  // e^0.225 = 1.252 → 1.15; e^−0.15 → 1; e^0.1 = 1.10517
  expectClose(weights, [[Math.exp(0.3) * 1.575, Math.exp(-0.2) * 1.5, Math.exp(0.1) * (1 + 0.5 * Math.exp(0.1))]]);
});

test("without influence, and at ratio 1 but for its factor, it is ppu", () => {
  const batch = { ...rows(0.5, -0.9, 0.1), advantages: [[1, -1, 2]], tokenScales: [0.5] };
  const options = { clip: { low: 0.2, high: 0.28 }, halfLife: 64, influenceClip: 0.2 };
  expect(appo(batch, { ...options, influence: 0 })).toEqual(ppu(batch, { level: "token", clip: options.clip }));
  const still = { ...batch, ...rows(0, 0, 0) };
  expectClose(appo(still, { ...options, influence: 1 }).weights, [[1, -1, 2]]);
});
