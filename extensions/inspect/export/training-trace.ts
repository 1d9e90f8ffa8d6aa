import type { Trajectory } from "../../../src/core/trajectory.ts";

/**
 * An episode as OpenEnv hands it to trainers (`TrainingTrace`, openenv 0.10): each call of the model in its own ids, with the log-probs under which it
 * was sampled and a mask of what is trained. Turns without ids of their own, from behind an endpoint, are left out.
 */
export function trainingTraceOf({ id, task, turns, reward }: Trajectory): object {
  const sampled = turns.filter(({ action }) => action.length > 0);
  return {
    schema_version: 1,
    turns: sampled.map(({ turn, context, action, samplerLogprobs, masked = [] }) => ({
      node_id: `${id}/${turn}`,
      prompt_token_ids: [...context],
      completion_token_ids: action,
      per_token_logps: samplerLogprobs,
      loss_mask: [...context].map(() => 0).concat(action.map((_, i) => (masked.includes(i) ? 0 : 1))),
      metadata: { task, reward },
    })),
  };
}
