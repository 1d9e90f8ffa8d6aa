import fc from "fast-check";
import { expect, test } from "vitest";
import { scheduledLearningRate } from "./schedule.ts";

const values = (schedule: "constant" | "linear" | "cosine", steps: number, warmupSteps: number) =>
  Array.from({ length: steps }, (_, i) => scheduledLearningRate(i + 1, steps, { learningRate: 8, schedule, warmupSteps }));

test("after a linear warm-up the rate stays, or falls along a line or half a cosine towards 0", () => {
  expect(values("constant", 6, 2)).toEqual([4, 8, 8, 8, 8, 8]);
  expect(values("linear", 6, 2)).toEqual([4, 8, 8, 6, 4, 2]);
  const cosine = values("cosine", 6, 2);
  [4, 8, 8, 4 + 4 * Math.SQRT1_2, 4, 4 - 4 * Math.SQRT1_2].forEach((rate, i) => {
    expect(cosine[i]).toBeCloseTo(rate, 12);
  });
});

test("the rate is positive and never above its setting, whatever the lengths", () => {
  const schedule = fc.constantFrom("constant", "linear", "cosine" as const);
  fc.assert(
    fc.property(schedule, fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 50 }), (kind, steps, warmup) => {
      for (const rate of values(kind as "linear", steps, warmup)) {
        expect(rate).toBeGreaterThan(0);
        expect(rate).toBeLessThanOrEqual(8);
      }
    }),
  );
});
