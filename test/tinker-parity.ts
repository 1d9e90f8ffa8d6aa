import { join } from "node:path";
import { readAdapterSettings } from "../extensions/local/model/adapter-folder.ts";
import { readModelConfig } from "../extensions/local/model/model-folder.ts";
import type { TinkerEngine } from "../extensions/tinker/engine/engine.ts";
import type { ServedModel, Trained } from "../research/tinker-server/local-model.ts";
import { resolveAlgorithm, runUpdate } from "../src/algorithms/algorithms.ts";
import type { Policy } from "../src/core/policy.ts";
import { randomStream } from "../src/core/random.ts";
import type { Group } from "../src/core/trajectory.ts";
import type { Engine, StepOptions } from "../src/engines/engine.ts";
import { enginePolicy } from "../src/training/update/engine-policy.ts";
import { groupOf } from "./algorithms/table-policy.ts";
import { distance } from "./engine-fixtures.ts";

/** ε is large enough that gradients of nothing but rounding do not become full steps. */
const step: StepOptions = { learningRate: 1e-2, beta1: 0.9, beta2: 0.95, epsilon: 1e-2, weightDecay: 0, clipNorm: Infinity };

export interface Parity {
  /** Largest |log π| that the update moved, in nats, of the action tokens. */
  readonly moved: number;
  /** Largest difference between the two engines before the update, and after it. */
  readonly before: number;
  readonly after: number;
}

/** The adapter that a folder in PEFT format holds. */
export async function adapterIn(folder: string, base: ServedModel): Promise<Trained> {
  return { ...(await readAdapterSettings(folder, await readModelConfig(join(base.folder, "config.json")))), seed: 0 };
}

/**
 * One update of an algorithm on a server and in this process, from the same adapter and on the same batch.
 * @param remote a new model: its adapter is downloaded, and the local engine begins with it
 * @param base the same base model in this process
 */
export async function parityOf(algorithm: object, remote: TinkerEngine, base: ServedModel, folder: string): Promise<Parity> {
  await remote.saveModel(folder);
  const adapter = join(folder, "adapter");
  const { engine: local } = await base.open(await adapterIn(adapter, base), adapter);
  const groups = await sampledBy(local);
  const turns = groups.flatMap(({ trajectories }) => trajectories.flatMap((trajectory) => trajectory.turns));
  const scores = (engine: Engine) => engine.logprobs(turns, { temperature: 1 });
  const update = async (engine: Engine) => {
    const before = await scores(engine);
    const policy: Policy = enginePolicy(engine, 1, step);
    await runUpdate(policy, groups, resolveAlgorithm(algorithm), randomStream(1));
    return { before, after: await scores(engine) };
  };
  const [here, there] = [await update(local), await update(remote)];
  await local.dispose();
  return {
    moved: distance(here.after, here.before),
    before: distance(there.before, here.before),
    after: distance(there.after, here.after),
  };
}

/** Two groups of four trajectories of two turns, as the engine samples them, with returns that differ within a group. */
async function sampledBy(engine: Engine): Promise<Group[]> {
  const draw = async (context: readonly number[], seed: number) => {
    const { tokens } = await engine.sample({ context, maxTokens: 3, stopTokens: [], seed });
    return { context, action: [...tokens] };
  };
  const groups: Group[] = [];
  for (const g of [0, 1]) {
    const prompt = [1, 5 + g, 3, 7];
    const members = [0, 1, 2, 3].map(async (i) => {
      const first = await draw(prompt, 10 * g + i);
      const second = await draw([...prompt, ...first.action, 4], 100 + 10 * g + i);
      return { reward: (i + g) % 3, turns: [first, second] };
    });
    groups.push(groupOf(`g${g}`, await Promise.all(members)));
  }
  return groups;
}

/** ARPO in one mini-batch: not every server adds up gradients. */
export const parityAlgorithms: readonly (readonly [string, object])[] = [
  ["grpo", { kind: "grpo" }],
  ["seeupo", { kind: "seeupo" }],
  ["seeupo-code", { kind: "seeupo-code", klCoef: 0 }],
  ["arpo", { kind: "arpo", miniBatches: 1 }],
  ["sft", { kind: "sft" }],
];
