/** What a fork costs without the model: 999 leaves of one tree, each forked after the same tool call and ended by its next action: forks.ts MODEL */

import "../../install.ts";
import { officeEnvironment } from "../../../extensions/office/office.ts";
import type { Group } from "../../../src/core/trajectory.ts";
import type { Sampler } from "../../../src/engines/engine.ts";
import { branchingSchema } from "../../../src/rollouts/branching/settings.ts";
import { rolloutTrees } from "../../../src/rollouts/branching/trees.ts";
import { rolloutGroups } from "../../../src/rollouts/rollout.ts";
import { openModel } from "../../../src/sdk/model.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { answerRounds } from "./rounds.ts";

const [model] = process.argv.slice(2);
const { engine, chat } = await openModel(model, { kind: "local", device: "cpu", threads: 1 });
const office = officeEnvironment();
const tasks = [await office.task("train", 7)];
const leaves = 1000;
const { rollout } = resolveConfig({ rollout: { groupSize: leaves, concurrency: 200 } });
const branching = branchingSchema.parse({
  ...{ firstRollouts: 1, beam: leaves, entropy: "exact" },
  rule: { kind: "paper", alpha: 1, threshold: 0 },
});
const call = '<tool_call>\n{"name": "find_contact", "arguments": {"name": "Ana"}}\n</tool_call>';

/** A sampler that takes no time: the first action, where there is one, then the end. */
function instant(first: string | undefined): Sampler {
  return {
    info: { ...engine.info, name: "instant" },
    weightVersion: 0,
    sample: async ({ context }) => {
      const begins = first !== undefined && !chat.tokenizer.decode(context).includes("tool_response");
      const tokens = chat.tokenizer.encode(`${begins ? first : "Done."}<|im_end|>`);
      const each = tokens.map(() => 0);
      return { tokens, logprobs: each, modelLogprobs: each, entropies: each, finish: "stop", weightVersion: 0 };
    },
    release: () => {},
  };
}

async function milliseconds(play: () => Promise<readonly Group[]>): Promise<number> {
  const started = performance.now();
  await play();
  return (performance.now() - started) / leaves;
}

const options = { ...rollout, name: "f", seed: 1 };
const forked = () => rolloutTrees(instant(call), chat, office, tasks, { ...options, maxTurns: 2, branching });
const fresh = () => rolloutGroups(instant(undefined), chat, office, tasks, { ...options, maxTurns: 1 });
const count = (await forked())[0].trajectories.filter(({ branch }) => branch !== undefined).length;
if (count !== leaves - 1) throw new Error(`${count} forks instead of ${leaves - 1}`);
await fresh();
await answerRounds("retrograde", async () => ({ fork: await milliseconds(forked), rollout: await milliseconds(fresh) }));
await engine.dispose();
