import { z } from "zod";
import { Context } from "../../core/context.ts";
import type { ActionInContext, Trajectory } from "../../core/trajectory.ts";
import { crossEntropy } from "../objectives/reinforce.ts";
import type { Episode } from "../step/episodes.ts";
import { defineTerm } from "./term.ts";

/**
 * ECHO, as `EchoAlgorithm` of PrimeIntellect-ai/prime-rl: beside its own actions, the policy learns to predict what the environment says.
 *
 *   L = L_update + α · 1/N Σ_t −log π_θ(o_t | all before it)         o: the N tokens between two turns of the mini-batch
 *
 * The terms are normalised apart, each by its own tokens. What follows a trajectory's last turn is in no context and is left out, as are
 * contexts that a template rewrote. prime-rl leaves out the template's own tokens where its renderer marks them; here, as there without
 * marks, all that stands between two turns counts.
 * @returns one row for each reply; turns that branches share are followed by their reply once
 */
export function repliesOf(episodes: readonly Episode[]): ActionInContext[] {
  return episodes.flatMap(({ trajectory }) => repliesIn(trajectory));
}

function repliesIn({ id, turns, branch }: Trajectory): ActionInContext[] {
  return turns.slice(0, -1).flatMap((turn, i) => {
    const next = turns[i + 1];
    if (next === undefined || next.rewritten || i + 1 <= (branch?.turn ?? 0)) return [];
    const start = turn.context.length + turn.action.length;
    const reply = next.context.slice(start);
    if (reply.length === 0) return [];
    const before = next.context instanceof Context ? next.context.prefix(start) : undefined;
    // A name that no trajectory has: what is recorded of a turn by its name is not of its reply.
    return [{ trajectory: `${id}/reply`, turn: i, context: before ?? next.context.slice(0, start), action: reply }];
  });
}

export const echoKind = defineTerm({
  kind: "echo",
  formula: "α · mean of −log π over the tokens of the environment's replies",
  source: "PrimeIntellect-ai/prime-rl",
  metrics: {
    echoLoss: { fold: "mean", meaning: "Echo: mean −log π of the environment's tokens before each step, in nats, without α." },
  },
  settings: {
    /** α. 0.1: prime-rl's. */
    alpha: z.number().positive().default(0.1),
  },
  rows: repliesOf,
  loss: (logprobs, { alpha }) => {
    const tokens = logprobs.reduce((sum, row) => sum + row.length, 0);
    const { loss, weights } = crossEntropy(
      logprobs,
      logprobs.map(() => alpha / tokens),
    );
    return { loss, weights, metrics: { ...(tokens > 0 && { echoLoss: loss / alpha }) } };
  },
});
