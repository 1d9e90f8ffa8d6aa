/**
 * `npx jiti bench/tinker/step.ts [rounds]`: a training step and sampling through `serve --tinker` beside the same in this process, in turns. The batch is the first
 * that the default model plays in its office: 8 tasks × 8 rollouts. Ratios are those of neighbouring rounds. Processor time counts all threads of both
 * processes, and is given on Linux; threads of ONNX Runtime that wait for work spin, and count.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEnvironment } from "../../entries/index.ts";
import { createTinkerEngine } from "../../extensions/tinker/engine/engine.ts";
import { seedOf } from "../../src/core/random.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { rolloutGroups } from "../../src/rollouts/rollout.ts";
import { openModel } from "../../src/sdk/model.ts";
import { resolveConfig } from "../../src/training/config.ts";
import { trainingTasks } from "../../src/training/tasks.ts";
import { turnWeights } from "../batch.ts";

const rounds = Number(process.argv[2] ?? 5);
const root = join(import.meta.dirname, "../..");
const model = join(root, "models/office");
const store = mkdtempSync(join(tmpdir(), "bench-tinker-"));
const jiti = join(root, "node_modules/jiti/lib/jiti-cli.mjs");
const cli = join(root, "entries/main.ts");
const args = ["serve", "--tinker", "--port", "0", "--model", `office=${model}`, "--threads", "2", "--store", store];
const server = spawn(process.execPath, [jiti, cli, ...args], { stdio: ["ignore", "pipe", "inherit"] });
const baseUrl = await new Promise<string>((resolve) => {
  server.stdout.on("data", (text: Buffer) => {
    const found = /TINKER_BASE_URL=(\S+)/.exec(String(text));
    if (found) resolve(found[1]);
  });
});

const { environment: named, rollout, seed } = resolveConfig({ rollout: { tasksPerStep: 8, groupSize: 8 } });
const { engine: local, chat } = await openModel(model, { kind: "local", device: "cpu", threads: 2 });
const environment = createEnvironment(named.name, named.settings);
const tasks = await trainingTasks(environment, 0, rollout.tasksPerStep, seed);
const options = { ...rollout, seed: seedOf(seed, "rollout", 1), name: "step-1" };
const groups = await rolloutGroups(local, chat, environment, tasks, options);
const turns = groups.flatMap(({ trajectories }) => trajectories.flatMap((trajectory) => trajectory.turns));
const weights = turns.map(turnWeights);
const { vocabularySize, maxLength } = local.info;
const remote = await createTinkerEngine({ baseUrl, model: "office", rank: 0, seed: 1, vocabularySize, maxLength });

const adam = { learningRate: 1e-6, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
const step = async (engine: Engine) => {
  await engine.forwardBackward(turns, weights, { temperature: 1 });
  await engine.step(adam);
};
/** 128 actions of 24 tokens, 32 at a time. */
const sample = async (engine: Engine) => {
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < 128; i = next++) {
      const { context } = turns[(i * 3) % turns.length];
      await engine.sample({ context: context.slice(), maxTokens: 24, stopTokens: [], seed: i, cacheKey: `${i}` });
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  for (let i = 0; i < 128; i++) engine.release(`${i}`);
};

/** Seconds of processor time of the server so far; NaN where /proc does not say. */
const serverSeconds = () => {
  const file = `/proc/${server.pid}/stat`;
  if (!existsSync(file)) return Number.NaN;
  const fields = readFileSync(file, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100; // user and system, in clock ticks
};
const measured = async (work: () => Promise<void>) => {
  const [start, cpu, theirs] = [performance.now(), process.cpuUsage(), serverSeconds()];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { wall: (performance.now() - start) / 1000, cpu: (user + system) / 1e6 + serverSeconds() - theirs };
};
type Cost = Awaited<ReturnType<typeof measured>>;
const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
for (const [name, work] of [
  ["training step", step],
  ["sampling, 32 in flight", sample],
] as const) {
  const pairs: { readonly here: Cost; readonly there: Cost }[] = [];
  for (let round = -1; round < rounds; round++) {
    const pair = { here: await measured(() => work(local)), there: await measured(() => work(remote)) };
    if (round >= 0) pairs.push(pair); // the first warms up
  }
  for (const kind of ["wall", "cpu"] as const) {
    const [here, there] = [pairs.map((pair) => pair.here[kind]), pairs.map((pair) => pair.there[kind])];
    const ratios = there.map((value, i) => value / here[i]);
    console.log(
      `${name}, ${kind}: in process ${median(here).toFixed(3)} s, through the server ${median(there).toFixed(3)} s; ` +
        `ratio ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}) over ${rounds} rounds`,
    );
  }
}
await remote.dispose();
await local.dispose();
server.kill();
