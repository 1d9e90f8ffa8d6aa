import type { EpisodeFacts, Rule } from "./rule.ts";

/** Finds agents whose requests the model's endpoint refused, whatever they made of it. */
export const refusedRequests: Rule<EpisodeFacts> = ({ trajectories }) => {
  // An agent that ended by its refusal has no scores.
  const refused = trajectories.filter(
    ({ scores, error }) => (scores["agent.refused"] ?? 0) > 0 || error?.includes("the model's endpoint refused"),
  );
  const [first] = refused;
  if (first === undefined) return undefined;
  return {
    cause: `${refused.length} of ${trajectories.length} agents were refused: ${first.error?.replace(/[.\s]+$/, "") ?? "no reason is known"}.`,
    example: first.id,
    next: "The agent did not get what it asked for, so its reward may be of its error handling. Change the request; docs/rollouts.md lists what the endpoint has.",
  };
};
