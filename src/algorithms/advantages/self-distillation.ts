import type { Context } from "../../core/context.ts";
import type { ActionInContext } from "../../core/trajectory.ts";
import { defineAdvantage, type Scores, type StepParts } from "./advantage.ts";
import { creditByTeacher } from "./distillation.ts";

/**
 * Self-distillation, SDFT (Shenfeld et al., arXiv:2601.19897) and OPSD (arXiv:2601.18734): the policy samples without help
 * and is taught by itself, having read a demonstration c of the task. No reward is read.
 *
 *   A_t = log π_old(a_t | c, s_t) − log π_old(a_t | s_t)
 *
 * This is the gradient of each token's reverse KL to the policy that has seen c, as in `distillation`, estimated at the token that was
 * sampled; SDFT sums over the vocabulary. Its teacher's weights are a moving average of the policy's, OPSD's those of the start; here they
 * are the policy's own, before the update. Both papers put c into the prompt by a template of words. Here it stands before the conversation
 * as one that is over, so that every id of the context stays what was sampled in.
 */
export const selfDistillationKind = defineAdvantage({
  kind: "self-distillation",
  formula:
    "of each token, log π after a demonstration of the task − log π: the reverse KL to the policy that has seen it; no reward is used",
  source: "arXiv:2601.19897",
  comparedWithin: "batch",
  readsDemonstrations: true,
  metrics: {
    demonstrationKl: {
      fold: "mean",
      meaning:
        "Self-distillation: mean over tokens of log π − log π after a demonstration, in nats: what the policy has yet to learn from it.",
    },
  },
  settings: {},
  teacher: shownDemonstrations,
  estimate: (evidence) => creditByTeacher(evidence, "demonstrationKl", "a policy that is scored after a demonstration"),
});

/**
 * The policy itself, as a teacher that has read how each task is solved. A context that leaves no room for the demonstration is scored as it
 * is, and teaches nothing; a warning counts these.
 */
async function shownDemonstrations({ groups, maxLength, scores, demonstration, warn }: StepParts): Promise<Scores> {
  const shown = new Map<string, Context>();
  for (const { trajectories } of groups) for (const { id, task } of trajectories) shown.set(id, await demonstration(task));
  return (samples) => {
    let unshown = 0;
    const contexts = samples.map((sample): ActionInContext => {
      const before = shown.get(sample.trajectory);
      const length = (before?.length ?? 0) + sample.context.length + sample.action.length;
      if (before !== undefined && length <= maxLength) return { ...sample, context: before.extend(sample.context.slice()) };
      unshown++;
      return sample;
    });
    if (unshown > 0)
      warn(
        `${unshown} of ${samples.length} contexts leave no room for a demonstration (${maxLength} tokens), and teach nothing.`,
      );
    return scores(contexts);
  };
}
