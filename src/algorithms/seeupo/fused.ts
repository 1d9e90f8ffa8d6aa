import type { Logprobs } from "../../core/policy.ts";
import type { ActionInContext } from "../../core/trajectory.ts";
import { checkedLogprobs } from "../step/minimise.ts";
import {
  carriedAdvantages,
  carry,
  reasonsOf,
  recordFactors,
  step,
  steps,
  type Update,
  type VisitStart,
  visitLoss,
  weightsAtRatioOne,
} from "./visit.ts";
import type { Visit } from "./visits.ts";

/** Turns of the visit before whose r a later visit reads, with log π_old. */
interface Looked {
  readonly samples: readonly ActionInContext[];
  readonly oldLogprobs: Logprobs;
}

/**
 * The numbers of the textbook form from fewer passes. A visit's first step runs under π_old, where the ratio is 1 and the surrogate's weights
 * are M·Â whatever the log-probs are: the backward pass gives log π_old, and a forward pass is needed only for log π_new of the visit before,
 * over the turns whose M is read again. With KL the weights need the visit's own log-probs: then one forward half reads both.
 */
export async function fused(update: Update): Promise<void> {
  const { config, visits, advantages, refLogprobs } = update;
  const lastVisitOf = new Map(visits.flatMap(({ samples }, v) => samples.map(({ trajectory }) => [trajectory, v])));
  let previous: Looked = { samples: [], oldLogprobs: [] };

  for (const [v, visit] of visits.entries()) {
    const start = await (refLogprobs === undefined ? stepAtRatioOne : stepLookingBack)(update, visit, previous);
    await steps(update, visit, start, config.epochs - 1);
    const { samples } = visit;
    const readLater = ({ trajectory }: ActionInContext) =>
      config.advantageFactor && advantages.matters(trajectory) && lastVisitOf.get(trajectory) !== v;
    previous = {
      samples: samples.filter(readLater),
      oldLogprobs: start.oldLogprobs.filter((_, i) => readLater(samples[i])),
    };
  }
}

/** Without KL: a look at the visit before, then a step whose weights are known. */
async function stepAtRatioOne(update: Update, visit: Visit, previous: Looked): Promise<VisitStart> {
  const { samples } = visit;
  const before = previous.samples;
  if (before.length > 0)
    carry(update, before, previous.oldLogprobs, checkedLogprobs(before, await update.policy.logprobs(before)));
  recordFactors(update, samples);
  const advantages = carriedAdvantages(update, update.carried, samples);
  const { logprobs } = await step(
    update,
    visit,
    samples,
    (own) => visitLoss(update, visit, own, { oldLogprobs: own, advantages }),
    {
      knownWeights: weightsAtRatioOne(update, visit, advantages),
      reasons: () => reasonsOf(update, update.carried, samples),
    },
  );
  return { oldLogprobs: logprobs, advantages };
}

/** With KL: one pass reads the visit's own log-probs and looks at the visit before. M as it is then is a pure function of them. */
async function stepLookingBack(update: Update, visit: Visit, previous: Looked): Promise<VisitStart> {
  const { samples } = visit;
  const own = (all: Logprobs) => all.slice(0, samples.length);
  const carriedAt = (all: Logprobs) => update.carried.after(previous.samples, previous.oldLogprobs, all.slice(samples.length));
  const startAt = (all: Logprobs): VisitStart => ({
    oldLogprobs: own(all),
    advantages: carriedAdvantages(update, carriedAt(all), samples),
  });
  const { logprobs } = await step(
    update,
    visit,
    [...samples, ...previous.samples],
    (all) => visitLoss(update, visit, own(all), startAt(all)),
    { reasons: (all) => reasonsOf(update, carriedAt(all), samples) },
  );
  const start = startAt(logprobs);
  carry(update, previous.samples, previous.oldLogprobs, logprobs.slice(samples.length));
  recordFactors(update, samples);
  return start;
}
