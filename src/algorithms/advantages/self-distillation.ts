import { defineAdvantage } from "./advantage.ts";
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
  formula: "of each token, log π after a demonstration of the task − log π: the reverse KL to oneself, shown; no reward is read",
  source: "arXiv:2601.19897",
  comparedWithin: "batch",
  showsDemonstrations: true,
  metrics: {
    demonstrationKl: {
      fold: "mean",
      meaning:
        "Self-distillation: mean over tokens of log π − log π after a demonstration, in nats: what the policy has yet to learn from it.",
    },
  },
  unmet: (_, { ahead }) =>
    ahead
      ? {
          setting: "kind",
          value: "self-distillation",
          expected: "another where rollout.ahead is above 0: their tasks are not kept",
        }
      : undefined,
  settings: {},
  estimate: (evidence) => creditByTeacher(evidence, "demonstrationKl", "a policy that is scored after a demonstration"),
});
