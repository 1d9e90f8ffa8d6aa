import type { EpisodeFacts, Rule } from "./rule.ts";

/** Finds agents whose requests the model's endpoint refused, whatever they made of it. */
export const refusedRequests: Rule<EpisodeFacts> = ({ trajectories }) => {
  // An agent that ended by its refusal has no scores.
  const refused = trajectories.filter(
    ({ scores, error }) => (scores["agent.refused"] ?? 0) > 0 || error?.includes("the model's endpoint refused"),
  );
  if (refused.length === 0) return undefined;
  return {
    cause: `${refused.length} of ${trajectories.length} agents were refused: ${refused[0].error?.replace(/[.\s]+$/, "") ?? "no reason is known"}.`,
    example: refused[0].id,
    next: "The agent did not get what it asked for, so its reward may be of its error handling. Change the request; docs/rollouts.md lists what the endpoint has.",
  };
};
