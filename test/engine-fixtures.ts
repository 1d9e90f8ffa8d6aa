import { expect } from "vitest";
import type { Logprobs, Weights } from "../src/core/policy.ts";
import type { ActionInContext } from "../src/core/trajectory.ts";
import type { StepOptions } from "../src/engines/engine.ts";

/** Engines add float32 numbers in orders of their own; log-probs are of size 10. */
export const rounding = 5e-5;

/** ε is large enough that gradients of nothing but rounding do not become full steps. */
export const adamW: StepOptions = {
  learningRate: 1e-3,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-2,
  weightDecay: 0.01,
  clipNorm: Number.POSITIVE_INFINITY,
};

// Two turns of one trajectory, and another that shares the prompt and the first action token.
export const samples: readonly ActionInContext[] = [
  { trajectory: "a", turn: 0, context: [1, 2, 3, 4], action: [5, 6, 7] },
  { trajectory: "a", turn: 1, context: [1, 2, 3, 4, 5, 6, 7, 8], action: [9, 2] },
  { trajectory: "b", turn: 0, context: [1, 2, 3, 4], action: [5, 3] },
];
export const someWeights: Weights = [
  [0.5, -1, 2],
  [1, 1],
  [-0.3, 0.7],
];
export const otherWeights: Weights = [
  [1, 0.2, -0.4],
  [-2, 0.1],
  [0.9, 0],
];
export const plain = { temperature: 1 };

export function combine(a: Weights, b: Weights, by: (x: number, y: number) => number): Weights {
  return a.map((row, i) => row.map((x, j) => by(x, b[i][j])));
}

export function dot(a: readonly (readonly number[])[], b: readonly (readonly number[])[]): number {
  return a.reduce((sum, row, i) => row.reduce((partial, value, j) => partial + value * b[i][j], sum), 0);
}

export function distance(actual: Logprobs, expected: Logprobs): number {
  expect(actual.map((row) => row.length)).toEqual(expected.map((row) => row.length));
  return Math.max(...actual.flatMap((row, i) => row.map((value, j) => Math.abs(value - expected[i][j]))));
}

export function expectClose(actual: Logprobs, expected: Logprobs): void {
  expect(distance(actual, expected)).toBeLessThan(rounding);
}

/** Plain gradient ascent: with a large ε Adam without memory moves by learningRate/ε · g. */
export function ascent(rate: number): StepOptions {
  const epsilon = 1e8;
  return { ...adamW, learningRate: rate * epsilon, beta1: 0, beta2: 0, epsilon, weightDecay: 0 };
}
