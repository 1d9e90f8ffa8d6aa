import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LocalEngine } from "./engine.ts";
import { measureSpeed, speedText } from "./speed.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** An engine whose calls take these milliseconds, one after the other the last again. */
function timed(training: readonly number[], sampling: readonly number[], maxLength = 64) {
  const asked: unknown[] = [];
  let [passes, draws] = [0, 0];
  const engine: Partial<Record<keyof LocalEngine, unknown>> = {
    info: { vocabularySize: 50, maxLength },
    forwardBackward: async (
      samples: readonly { context: number[]; action: number[] }[],
      weights: number[][],
      options: object,
    ) => {
      asked.push([
        samples.length,
        samples[0]?.context.length,
        samples[0]?.action.length,
        weights.flat().every((w) => w === 1),
        options,
      ]);
      vi.advanceTimersByTime(training[Math.min(passes++, training.length - 1)] ?? 0);
    },
    step: async () => {},
    sample: async ({ context, maxTokens, seed }: { context: number[]; maxTokens: number; seed: number }) => {
      if (seed === 0) {
        asked.push(["sample", context.length, maxTokens]);
        vi.advanceTimersByTime(sampling[Math.min(draws++, sampling.length - 1)] ?? 0);
      }
    },
  };
  return { asked, engine: engine as unknown as LocalEngine };
}

const speedOf = async (training: readonly number[], sampling: readonly number[], maxLength?: number) => {
  const { asked, engine } = timed(training, sampling, maxLength);
  return { speed: await measureSpeed(engine), asked };
};

test("one row, eight and sixty-four are timed, each by the faster of two runs, and the best counts", async () => {
  const { speed, asked } = await speedOf([100, 80, 100, 160, 400], [50, 40, 60, 10, 500]);
  // 64 tokens in 0.08 s, 512 in 0.1, then 4,096 in 0.4; 16 sampled in 0.04, 128 in 0.01, 1,024 in 0.5.
  expect(speed).toEqual({ training: 4096 / 0.4, sampling: 128 / 0.01 });
  const pass = (rows: number) => [rows, 32, 32, true, { temperature: 1 }];
  const sample = ["sample", 32, 16];
  expect(asked).toEqual([1, 8, 64].flatMap((rows) => [pass(rows), pass(rows), sample, sample]));
});

test("no more rows are measured after a second, and sequences are no longer than the model takes", async () => {
  const { speed, asked } = await speedOf([400], [101], 20);
  expect(asked.length).toBe(4);
  expect(asked[0]).toEqual([1, 10, 10, true, { temperature: 1 }]);
  expect(asked[2]).toEqual(["sample", 10, 10]);
  expect(speed).toEqual({ training: 20 / 0.4, sampling: expect.closeTo(10 / 0.101, 9) });
  expect((await speedOf([400], [100])).asked.length).toBe(12); // a second, no more
});

test("speeds are said in tokens a second", () => {
  expect(speedText({ training: 1234.4, sampling: 56.6 })).toBe("trains 1,234 and samples 57 tokens/s");
});
