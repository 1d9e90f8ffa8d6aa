import { expect, test } from "vitest";
import { measurePeak, otherLoad } from "./peak.ts";

test("matrix products reach a speed that only compiled code has", async () => {
  // Plain JavaScript makes about 1 GFLOP/s; no CPU of this decade makes 100,000.
  const peak = await measurePeak({ threads: 1 });
  expect(peak).toBeGreaterThan(4);
  expect(peak).toBeLessThan(100_000);
});

test("a machine that other programs fill is named by its load, one with a core to spare is not", () => {
  expect(otherLoad([7.72, 7.5, 6.1], 2)).toBe("a load of 7.7 on 2 cores");
  expect(otherLoad([1.2, 0, 0], 1)).toBe("a load of 1.2 on 1 core");
  expect(otherLoad([1.9, 7, 7], 2)).toBeUndefined();
  expect(otherLoad([0, 0, 0], 2)).toBeUndefined();
});
