import type { Trajectory } from "../core/trajectory.ts";
import type { EpisodeFacts, Rule } from "./rule.ts";

const fewestEpisodes = 4;

/**
 * Finds groups in which one agent made most of the requests and another none: a queue that episodes share makes their calls in the context of one.
 * Among episodes of one task nothing else shows it.
 */
export const unevenRequests: Rule<EpisodeFacts> = ({ trajectories }) => {
  // An agent that ended by an error has no scores.
  if (!trajectories.some(({ scores }) => scores["agent.requests"] !== undefined)) return undefined;
  const requestsOf = ({ scores, turns }: Trajectory) => scores["agent.requests"] ?? turns.length;
  for (const name of new Set(trajectories.map(({ group }) => group))) {
    const group = trajectories.filter((each) => each.group === name);
    const [first = 0, ...others] = group.map(requestsOf).sort((a, b) => b - a);
    const sum = others.reduce((total, count) => total + count, first);
    if (group.length < fewestEpisodes || sum < group.length || first < sum / 2 || others.at(-1) !== 0) continue;
    return {
      cause: `One of the ${group.length} agents of a task made ${first} of their ${sum} requests, and ${others.filter((count) => count === 0).length} made none.`,
      example: group.find((each) => requestsOf(each) === first)?.id,
      next:
        "A queue, pool or batcher that the agents share may make the calls of all in the context of one: its turns are then of several. Give the " +
        "client the apiKey of the agent's second argument, or set rollout.concurrency=1 and compare; docs/agents.md has the ways out.",
    };
  }
  return undefined;
};
