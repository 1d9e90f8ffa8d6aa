import { expect, test } from "vitest";
import { measurePeak } from "./peak.ts";

test("matrix products reach a speed that only compiled code has", async () => {
  // Plain JavaScript makes about 1 GFLOP/s; no CPU of this decade makes 100,000.
  const peak = await measurePeak({ threads: 1 });
  expect(peak).toBeGreaterThan(4);
  expect(peak).toBeLessThan(100_000);
});
