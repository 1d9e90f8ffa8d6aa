import { expect, test } from "vitest";
import { isHardware, measure, measurePeak, otherLoad } from "./peak.ts";

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

test("a chain of products is timed by the fastest of its runs", async () => {
  // Three runs of 4, 2 and 3 ms: 2 · 8³ · 5 operations in 2 ms.
  const times = [0, 4, 10, 12, 20, 23];
  const gflops = await measure({ size: 8, products: 5, runs: 3 }, { threads: 1 }, () => times.shift() ?? expect.unreachable());
  expect(gflops).toBeCloseTo((2 * 512 * 5) / 2e-3 / 1e9, 12);
  expect(times).toEqual([]);
});

test("a GPU is measured by a small product first, and by that alone where no hardware is so slow", async () => {
  const timed = (...found: number[]) => {
    const asked: unknown[] = [];
    const measured: typeof measure = async ({ size, products, runs }, options) => {
      asked.push([size, products, runs, options]);
      return found[asked.length - 1] ?? expect.unreachable();
    };
    return { asked, measured };
  };
  const [short, long] = [
    [256, 1, 2],
    [1024, 8, 4],
  ];
  const options = { threads: 3, provider: "webgpu" } as const;
  const slow = timed(0.99);
  expect([await measurePeak(options, slow.measured), slow.asked]).toEqual([0.99, [[...short, options]]]);
  const fast = timed(1, 500);
  expect([await measurePeak(options, fast.measured), fast.asked]).toEqual([
    500,
    [
      [...short, options],
      [...long, options],
    ],
  ]);
  const processor = timed(40);
  expect(await measurePeak({ threads: 3 }, processor.measured)).toBe(40);
  expect(processor.asked).toEqual([[...long, { threads: 3, provider: "cpu" }]]);
  expect([await isHardware(options, timed(1).measured), await isHardware(options, timed(0.99).measured)]).toEqual([true, false]);
});
