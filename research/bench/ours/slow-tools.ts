/**
 * How much of the time the sampler works while 400 episodes are played, 200 in flight: slow-tools.ts MODEL THREADS
 * A request is the number of milliseconds that every tool takes.
 */
import "../../install.ts";
import { setTimeout } from "node:timers/promises";
import { createEnvironment } from "../../../entries/index.ts";
import type { Environment, Episode } from "../../../src/environments/environment.ts";
import { rolloutGroups } from "../../../src/rollouts/rollout.ts";
import { openModel } from "../../../src/sdk/model.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { trainingTasks } from "../../../src/training/config/tasks.ts";
import { answerRounds } from "./rounds.ts";

const [model, threads] = process.argv.slice(2);
const { engine, chat } = await openModel(model, { kind: "local", device: "cpu", threads: Number(threads) });
const { environment: named, rollout } = resolveConfig({ rollout: { tasksPerStep: 25, groupSize: 16, concurrency: 200 } });
const office = createEnvironment(named.name, named.settings);
const tasks = await trainingTasks(office, 0, rollout.tasksPerStep, 1);

async function busyShare(milliseconds: number, seed: number): Promise<number> {
  engine.takeStats();
  const started = performance.now();
  await rolloutGroups(engine, chat, withSlowTools(office, milliseconds), tasks, { ...rollout, name: "b", seed });
  return engine.takeStats().sampler.seconds / ((performance.now() - started) / 1000);
}

let seed = 0;
await busyShare(0, seed);
await answerRounds("retrograde", async (request) => ({ share: await busyShare(Number(request), ++seed) }));

/** The same environment, with tools that take so many milliseconds longer. */
function withSlowTools(environment: Environment, milliseconds: number): Environment {
  const slow = (episode: Episode): Episode => ({
    ...episode,
    tools: episode.tools.map((tool) => ({
      ...tool,
      execute: async (args, context) => {
        if (milliseconds > 0) await setTimeout(milliseconds);
        return tool.execute(args, context);
      },
    })),
  });
  return { ...environment, start: async (task, seed) => slow(await environment.start(task, seed)) };
}
