import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { train } from "../entries/index.ts";
import type { Environment, Task } from "../src/environments/environment.ts";
import type { TrainingEvent } from "../src/training/record/events.ts";
import { lettersEnvironment } from "./letters.ts";

export const root = mkdtempSync(join(tmpdir(), "retrograde-moments-"));
export const model = join(root, "model");

export const letters = lettersEnvironment() as unknown as Environment<Task>;
export const demonstrate = () =>
  [
    { role: "user", content: "a" },
    { role: "assistant", content: "b" },
  ] as const;
export type Algorithm = "grpo" | "sft";

/** A run that is interrupted at a moment: `open` while its environment opens, `size` while it counts its tasks, or a number of its events. */
export async function interruptedAt(moment: "open" | "size" | number, algorithm: Algorithm = "grpo") {
  const out = join(root, `${algorithm}-${moment}`);
  const controller = new AbortController();
  const events: TrainingEvent[] = [];
  let isOpen = false;
  const environment: Environment<Task> = {
    ...letters,
    demonstrate,
    open: async () => {
      isOpen = true;
      if (moment !== "open") return;
      controller.abort();
      await new Promise((resolve) => setTimeout(resolve, 50));
    },
    size: (split) => {
      if (moment === "size" && isOpen) controller.abort();
      return letters.size(split);
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
