/**
 * `npx jiti bench/seeupo-passes.ts`: token-passes of SeeUPO's update over those of GRPO's, by the number of turns: 1 a token forward, 3 forward and
 * backward. Made-up rollouts of 16 groups of 8: a prompt of 60 tokens, then turns of 10 tokens and answers of 20. Nothing is computed.
 *
 * The floor is what no exact form of SeeUPO can do without, if it makes one step for each turn at the policy that the step before left: a forward and a
 * backward pass over the contexts of the turn, and a forward pass over what the turn updated before has behind them, for its ratios.
 */
import type { AlgorithmConfig } from "../src/algorithms/settings/config.ts";
import { runUpdate } from "../src/algorithms/update.ts";
import type { Policy } from "../src/core/policy.ts";
import { randomStream } from "../src/core/random.ts";
import type { ActionInContext } from "../src/core/trajectory.ts";
import { packRows } from "../src/engines/local/training/packing.ts";
import { resolveConfig } from "../src/training/config.ts";
import { groupOf } from "../test/algorithms/table-policy.ts";

const grpo = resolveConfig({ algorithm: "grpo" }).algorithm;
const scaled = resolveConfig({ algorithm: "seeupo-scaled" }).algorithm;

async function passesOf(
  config: AlgorithmConfig,
  turnsOf: (trajectory: number) => number,
): Promise<{ readonly passes: number; readonly floor: number }> {
  let [passes, floor] = [0, 0];
  /** Turns whose ratios were read since the last step. */
  let read: readonly ActionInContext[] = [];
  const distinct = (samples: readonly ActionInContext[]) =>
    packRows(samples, Number.MAX_SAFE_INTEGER).reduce((sum, { tokens }) => sum + tokens.length, 0);
  const count = (samples: readonly ActionInContext[], cost: number) => {
    passes += cost * distinct(samples);
    return samples.map(({ action }) => action.map(() => -1));
  };
  const policy: Policy = {
    logprobs: async (samples) => {
      read = samples;
      return count(samples, 1);
    },
    referenceLogprobs: async (samples) => count(samples, 1),
    forwardBackward: async (samples, decide) => {
      if (typeof decide === "function") decide(count(samples, 1));
      floor += 2 * distinct(samples) + distinct([...samples, ...read]);
      read = [];
      return count(samples, 3);
    },
    step: async () => ({ gradientNorm: 1, learningRate: 1 }),
  };
  const random = randomStream(1, "tokens");
  const tokens = (length: number) => Array.from({ length }, () => random.integer(500));
  const groups = Array.from({ length: 16 }, (_, g) => {
    const prompt = tokens(60);
    const trajectories = Array.from({ length: 8 }, (_, i) => {
      let context = prompt;
      const turns = Array.from({ length: turnsOf(8 * g + i) }, () => {
        const turn = { context, action: tokens(10) };
        context = [...context, ...turn.action, ...tokens(20)];
        return turn;
      });
      return { reward: random.integer(2), turns };
    });
    return groupOf(`${g}`, trajectories);
  });
  await runUpdate(policy, groups, config, randomStream(1, "update"));
  return { passes, floor };
}

for (const [name, turnsOf] of [
  ["5 turns each", () => 5],
  ["20 turns each", () => 20],
  ["1 to 20 turns", (i: number) => 1 + ((7 * i) % 20)],
] as const) {
  const [ofGrpo, ofSeeupo] = [await passesOf(grpo, turnsOf), await passesOf(scaled, turnsOf)];
  const ratio = (of: number) => (of / ofGrpo.passes).toFixed(2);
  console.log(
    `${name}: GRPO ${ofGrpo.passes}, SeeUPO ${ofSeeupo.passes}, ratio ${ratio(ofSeeupo.passes)}; floor ${ofSeeupo.floor}, ratio ${ratio(ofSeeupo.floor)}`,
  );
}
