/**
 * Memory over many tiny steps: resident memory must not grow with the number of steps.
 *
 *     npx jiti bench/long-run.ts --steps 10000
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { planRun, runPlan } from "../src/sdk/train.ts";
import { lettersEnvironment } from "../test/letters.ts";
import { writeTinyModel } from "../test/tiny-model.ts";

const { values } = parseArgs({ options: { steps: { type: "string", default: "10000" } } });
const steps = Number(values.steps);
const root = mkdtempSync(join(tmpdir(), "retrograde-long-"));
const model = join(root, "model");
await writeTinyModel(model);

const plan = await planRun({
  environment: lettersEnvironment(),
  model,
  rollout: { tasksPerStep: 1, groupSize: 2, maxTokens: 3 },
  evaluation: { tasks: 0 },
  checkpoint: { every: Math.max(1, Math.floor(steps / 20)) },
  engine: { kind: "local", threads: 1 },
  steps,
  out: join(root, "run"),
});
console.log("step    resident MB   JavaScript heap MB   seconds");
const started = performance.now();
await runPlan(plan, {
  onEvent: (event) => {
    if (event.type !== "stepped" || event.record.step % Math.max(1, Math.floor(steps / 10)) !== 0) return;
    const { rss, heapUsed } = process.memoryUsage();
    const megabytes = (bytes: number) => (bytes / 2 ** 20).toFixed(0).padStart(8);
    console.log(
      `${String(event.record.step).padEnd(6)} ${megabytes(rss)}      ${megabytes(heapUsed)}             ` +
        `${((performance.now() - started) / 1000).toFixed(0)}`,
    );
  },
});
rmSync(root, { recursive: true, force: true });
