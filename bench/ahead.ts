/**
 * `npx jiti bench/ahead.ts [STEPS] [MILLISECONDS …]`: seconds of a training step whose rollouts are sampled within it, and ahead, with tools that
 * take a while. The default model, algorithm and batch in the office world; one run after the other, a fresh engine each.
 */
import { cpus } from "node:os";
import { join } from "node:path";
import { openModel } from "../src/sdk/model.ts";
import { resolveConfig } from "../src/training/config.ts";
import { rolloutSource } from "../src/training/rollout-source.ts";
import { type StepArguments, trainingStep } from "../src/training/step.ts";
import { officeClassicEnvironment } from "../studies/office-classic/office-classic.ts";
import { withSlowTools } from "./slow-tools.ts";

const [steps, ...slow] = process.argv.slice(2).map(Number);
const threads = 2;

/** Wall and processor seconds of a step, the first ones left out: they fill the pipeline. */
async function secondsPerStep(milliseconds: number, ahead: number, count: number) {
  const { engine, chat } = await openModel(join(import.meta.dirname, "../models/office-classic"), {
    kind: "local",
    device: "cpu",
    threads,
  });
  const environment = withSlowTools(officeClassicEnvironment(), milliseconds);
  const config = resolveConfig({ rollout: { ahead, concurrency: 128 }, steps: count + ahead + 1, engine: { threads } });
  const args: StepArguments = { config, engine, chat, environment, onEvent: () => {} };
  const start = { step: 0, position: 0, episodes: 0, toolCalls: 0, sampledTokens: 0, wallSeconds: 0, peakRssMb: 0 };
  const rollouts = await rolloutSource(args, start, undefined);
  let position = 0;
  let [started, processor] = [performance.now(), process.cpuUsage()];
  for (let step = 1; step <= config.steps; step++) {
    if (step === ahead + 2) [started, processor] = [performance.now(), process.cpuUsage()];
    const { tasks } = await trainingStep(args, step, await rollouts.take(step, position));
    await rollouts.stepped(step);
    position += tasks;
  }
  const seconds = (performance.now() - started) / 1000 / count;
  const { user, system } = process.cpuUsage(processor);
  await rollouts.close();
  await engine.dispose();
  return { seconds, processorSeconds: (user + system) / 1e6 / count };
}

console.log(`${cpus().length} × ${cpus()[0].model}, Node ${process.version}, ${threads} threads`);
for (const milliseconds of slow.length > 0 ? slow : [0, 50, 200])
  for (const ahead of [0, 1, 2, 0, 1, 2]) {
    const { seconds, processorSeconds } = await secondsPerStep(milliseconds, ahead, steps || 4);
    const name = `tools of ${milliseconds} ms, ${ahead} ahead`;
    console.log(`${name.padEnd(32)} ${seconds.toFixed(2)} s a step, ${processorSeconds.toFixed(2)} s of the processor`);
  }
