import type { Logprobs } from "../../core/policy.ts";
import type { ActionInContext } from "../../core/trajectory.ts";
import { checkedLogprobs } from "../step/minimise.ts";
import {
  carriedAdvantages,
  carry,
  carryBase,
  reasonsOf,
  recordFactors,
  step,
  steps,
  turnUpdateLoss,
  type Update,
  type UpdateStart,
  weightsAtRatioOne,
} from "./turn-update.ts";
import type { TurnUpdate } from "./turn-updates.ts";

/** Turns of the previous turn update whose r a later one reads, with the log-probs that r is relative to. */
interface Looked {
  readonly samples: readonly ActionInContext[];
  readonly oldLogprobs: Logprobs;
}

/**
 * The numbers of the textbook form from fewer passes. A turn update's first step runs under π_old, where the ratio is 1 and the surrogate's weights
 * are M·Â whatever the log-probs are: the backward pass gives log π_old, and a forward pass is needed only for log π_new of the turn update before,
 * over the turns whose M is read again. With KL, or where the loss's ratio is taken to the policy of the iteration's start, the weights need the
 * turn update's own log-probs: then one forward half reads both.
 */
export async function fused(update: Update): Promise<void> {
  const { config, turnUpdates, advantages, refLogprobs } = update;
  const startsAtRatioOne = config.ratioTo === "turn" && refLogprobs === undefined;
  const lastUpdateOf = new Map(turnUpdates.flatMap(({ samples }, v) => samples.map(({ trajectory }) => [trajectory, v])));
  let previous: Looked = { samples: [], oldLogprobs: [] };

  for (const [v, turnUpdate] of turnUpdates.entries()) {
    const start = await (startsAtRatioOne ? stepAtRatioOne : stepLookingBack)(update, turnUpdate, previous);
    await steps(update, turnUpdate, start, config.epochs - 1);
    const { samples } = turnUpdate;
    const readLater = ({ trajectory }: ActionInContext) =>
      config.advantageFactor && advantages.matters(trajectory) && lastUpdateOf.get(trajectory) !== v;
    previous = {
      samples: samples.filter(readLater),
      oldLogprobs: carryBase(update, samples, start.oldLogprobs).filter((_, i) => readLater(samples[i])),
    };
  }
}

/** At ratio 1 and without KL: a look at the turn update before, then a step whose weights are known. */
async function stepAtRatioOne(update: Update, turnUpdate: TurnUpdate, previous: Looked): Promise<UpdateStart> {
  const { samples } = turnUpdate;
  const before = previous.samples;
  if (before.length > 0)
    carry(update, before, previous.oldLogprobs, checkedLogprobs(before, await update.policy.logprobs(before)));
  recordFactors(update, samples);
  const advantages = carriedAdvantages(update, update.carried, samples);
  const { logprobs } = await step(
    update,
    turnUpdate,
    samples,
    (own) => turnUpdateLoss(update, turnUpdate, own, { oldLogprobs: own, advantages }),
    {
      knownWeights: weightsAtRatioOne(update, turnUpdate, advantages),
      reasons: () => reasonsOf(update, update.carried, samples),
    },
  );
  return { oldLogprobs: logprobs, advantages };
}

/** Else: one pass reads the turn update's own log-probs and looks at the turn update before. M as it is then is a pure function of them. */
async function stepLookingBack(update: Update, turnUpdate: TurnUpdate, previous: Looked): Promise<UpdateStart> {
  const { samples } = turnUpdate;
  const own = (all: Logprobs) => all.slice(0, samples.length);
  const carriedAt = (all: Logprobs) => update.carried.after(previous.samples, previous.oldLogprobs, all.slice(samples.length));
  const startAt = (all: Logprobs): UpdateStart => ({
    oldLogprobs: own(all),
    advantages: carriedAdvantages(update, carriedAt(all), samples),
  });
  const { logprobs } = await step(
    update,
    turnUpdate,
    [...samples, ...previous.samples],
    (all) => turnUpdateLoss(update, turnUpdate, own(all), startAt(all)),
    { reasons: (all) => reasonsOf(update, carriedAt(all), samples) },
  );
  const start = startAt(logprobs);
  carry(update, previous.samples, previous.oldLogprobs, logprobs.slice(samples.length));
  recordFactors(update, samples);
  return start;
}
