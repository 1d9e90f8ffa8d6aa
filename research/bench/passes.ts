import type { Policy } from "../../src/core/policy.ts";
import type { Group } from "../../src/core/trajectory.ts";
import type { Engine } from "../../src/engines/engine.ts";

/** What a token costs: 1 through a forward pass, 2 through a backward pass. */
const forward = 1;
const backward = 2;
/** The local engine's backward session computes the forward half again (research/notes/engine.md). */
const recomputed = forward + backward;

/**
 * SeeUPO as its reference computes it (arXiv:2602.06554): for every turn three forward passes (log π_old, the loss, log π_new) and one
 * backward pass, over each trajectory's own full context: nothing that turns or trajectories share is computed once.
 */
export function referencePasses(groups: readonly Group[]): number {
  const turns = groups.flatMap(({ trajectories }) => trajectories.flatMap((trajectory) => trajectory.turns));
  const tokens = turns.reduce((sum, { context, action }) => sum + context.length + action.length, 0);
  return (3 * forward + backward) * tokens;
}

/** Counts the token-passes of what is asked of a policy, padding included: shared tokens as often as the engine computes them. */
export class PassCounter {
  readonly policy: Policy;
  passes = 0;

  constructor(engine: Engine, inner: Policy) {
    const count = (cost: number) => {
      this.passes += cost * engine.takeStats().training.computedTokens;
    };
    const counted =
      <Args extends readonly unknown[], Answer>(pass: (...args: Args) => Promise<Answer>) =>
      async (...args: Args) => {
        const answer = await pass(...args);
        count(forward);
        return answer;
      };
    this.policy = {
      ...inner,
      logprobs: counted(inner.logprobs),
      referenceLogprobs: counted(inner.referenceLogprobs),
      forwardBackward: async (samples, decide, entropyWeights) => {
        const deciding: typeof decide =
          typeof decide !== "function"
            ? decide
            : (logprobs) => {
                count(forward);
                return decide(logprobs);
              };
        const answer = await inner.forwardBackward(samples, deciding, entropyWeights);
        count(recomputed);
        return answer;
      },
    };
  }
}
