import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { RunError } from "../src/core/errors.ts";
import { type Algorithm, interruptedAt, model } from "./interrupted-moments.fixture.ts";
import { writeTinyModel } from "./tiny-model.ts";

beforeAll(() => writeTinyModel(model));

test.each<[Algorithm, number]>([
  ["grpo", 20],
  ["sft", 8],
])("%s: at each of %i moments an interruption is one, and every finished step is kept", async (algorithm, moments) => {
  const seen = new Set<number>();
  for (let moment = 1; moment <= moments; moment++) {
    const { ended, out, stepped } = await interruptedAt(moment, algorithm);
    if (ended === undefined)
      expect(stepped).toBe(4); // it came to its end first
    else expect(ended, `moment ${moment}`).toBeInstanceOf(RunError);
    const kept = existsSync(join(out, "checkpoints")) ? readdirSync(join(out, "checkpoints")) : [];
    const steps = kept.filter((name) => !name.startsWith(".")).map((name) => Number(/\d+/.exec(name)?.[0]));
    if (stepped > 0) expect(Math.max(...steps), `moment ${moment}`).toBe(stepped);
    seen.add(stepped);
  }
  expect(seen.size).toBeGreaterThan(1);
});
