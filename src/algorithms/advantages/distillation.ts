import { z } from "zod";
import { acts } from "../../core/acts.ts";
import { EngineError } from "../../core/errors.ts";
import { present } from "../../core/present.ts";
import { type TokenRows, total } from "../objectives/objective.ts";
import { turnsOf } from "../step/episodes.ts";
import { checkedLogprobs } from "../step/minimise.ts";
import { defineAdvantage, type Estimate, type Evidence, episodesOf } from "./advantage.ts";

/**
 * On-policy distillation (Thinking Machines Lab, "On-Policy Distillation", 2025; `ref_kl_loss_fn` of PrimeIntellect-ai/prime-rl): the policy
 * samples, and a teacher scores every token that it wrote. No reward is read.
 *
 *   A_t = log π_teacher(a_t | s_t) − log π_old(a_t | s_t)
 *
 * Under `reinforce`, or `ppu` with one step a batch, this is the gradient of each token's reverse KL, without what the token changes for
 * later ones (a discount of 0). prime-rl takes the difference at every step of a batch; here it is that at the batch's start.
 * @param logprobs of the policy before the update, and of the teacher, in nats, rows alike
 */
export function distillationAdvantages(logprobs: TokenRows, teacherLogprobs: TokenRows): number[][] {
  return logprobs.map((row, b) => row.map((logprob, t) => teacherLogprobs[b][t] - logprob));
}

/**
 * Credits every turn of the groups by a teacher's log-probs.
 * @param metric names the mean over tokens of log π − log π_teacher
 * @param expected the kind of policy that has such a teacher, for the error
 * @throws EngineError for a policy without one
 */
export async function creditByTeacher({ policy, groups }: Evidence, metric: string, expected: string): Promise<Estimate> {
  if (policy.teacherLogprobs === undefined) throw new EngineError("policy.teacherLogprobs", undefined, { expected });
  const episodes = episodesOf(groups);
  const turns = turnsOf(episodes);
  const advantages = distillationAdvantages(
    checkedLogprobs(turns, await policy.logprobs(turns)),
    checkedLogprobs(turns, await policy.teacherLogprobs(turns)),
  );
  const tokens = advantages.reduce((sum, row) => sum + row.length, 0);
  return { episodes, advantages, metrics: { ...(tokens > 0 && { [metric]: -total(advantages) / tokens }) } };
}

export const distillationKind = defineAdvantage({
  kind: "distillation",
  formula: "of each token, log π_teacher − log π: the reverse KL to a teacher, on text of the policy; no reward is used",
  source: "Thinking Machines Lab 2025",
  comparedWithin: "batch",
  model: ({ teacher }) => ({ name: teacher, setting: "teacher" }),
  teacher: ({ modelScores }) => present(modelScores, "the teacher's scores"),
  metrics: {
    teacherKl: {
      fold: "mean",
      meaning: "Distillation: mean over tokens of log π − log π_teacher, in nats: an estimate of the reverse KL to the teacher.",
    },
  },
  settings: {
    /** The model that scores, named as `model` is, with the same tokens. It runs on the same engine. */
    teacher: acts.by(z.string().min(1), (what) => [{ kind: "model", what }]),
  },
  estimate: (evidence) => creditByTeacher(evidence, "teacherKl", "a policy with a teacher that scores its tokens"),
});
