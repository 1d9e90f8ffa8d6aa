import { existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { train } from "../entries/index.ts";
import { RunError } from "../src/core/errors.ts";
import type { Environment, Task } from "../src/environments/environment.ts";
import { InterruptedError } from "../src/sdk/train.ts";
import type { TrainingEvent } from "../src/training/record/events.ts";
import { lettersEnvironment } from "./letters.ts";
import { writeTinyModel } from "./tiny-model.ts";

const root = mkdtempSync(join(tmpdir(), "retrograde-moments-"));
const model = join(root, "model");
beforeAll(() => writeTinyModel(model));

const letters = lettersEnvironment() as unknown as Environment<Task>;
const demonstrate = () =>
  [
    { role: "user", content: "a" },
    { role: "assistant", content: "b" },
  ] as const;
type Algorithm = "grpo" | "sft";

/** A run that is interrupted at a moment: `open` while its environment opens, or a number of its events. */
async function interruptedAt(moment: "open" | number, algorithm: Algorithm = "grpo") {
  const out = join(root, `${algorithm}-${moment}`);
  const controller = new AbortController();
  const events: TrainingEvent[] = [];
  const environment: Environment<Task> = {
    ...letters,
    demonstrate,
    open: async () => {
      if (moment !== "open") return;
      controller.abort();
      await new Promise((resolve) => setTimeout(resolve, 50));
    },
  };
  const config = {
    ...{ environment, model, out, steps: 4, engine: { threads: 1 }, evaluation: { tasks: 0 }, checkpoint: { every: 100 } },
    algorithm,
    rollout: { tasksPerStep: 1, groupSize: 2, maxTokens: 4, maxTurns: 2 },
  };
  const onEvent = (event: TrainingEvent) => {
    events.push(event);
    if (events.length === moment) controller.abort();
  };
  const ended = await train(config, { signal: controller.signal, onEvent }).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { ended, out, stepped: events.filter(({ type }) => type === "stepped").length };
}

test("a run that is interrupted before it begins says so, and leaves no folder", async () => {
  const { ended, out } = await interruptedAt("open");
  expect(ended).toBeInstanceOf(InterruptedError);
  expect(String(ended)).toMatch(/is "interrupted"\. It had not begun/);
  expect(existsSync(out)).toBe(false);
});

test.each<[Algorithm, number]>([
  ["grpo", 20],
  ["sft", 8],
])(
  "%s: at each of %i moments an interruption is one, and every finished step is kept",
  { timeout: 120_000 },
  async (algorithm, moments) => {
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
  },
);
