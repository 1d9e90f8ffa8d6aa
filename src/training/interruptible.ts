import { withinTime } from "../core/deadline.ts";
import type { Policy } from "../core/policy.ts";

/**
 * A policy whose calls end when a signal is aborted, instead of after a pass that may take minutes. After the first optimiser step they no
 * longer do: the weights would be of no step, and finished steps could not be kept.
 */
export function interruptible(
  policy: Policy,
  signal: AbortSignal | undefined,
): { readonly policy: Policy; settled(): Promise<void> } {
  if (signal === undefined) return { policy, settled: async () => {} };
  let moved = false;
  let pending: Promise<unknown> = Promise.resolve();
  const run = async <T>(call: () => Promise<T>): Promise<T> => {
    if (moved) return call();
    signal.throwIfAborted();
    const answer = call();
    pending = answer.catch(() => {});
    return withinTime(() => answer, Number.POSITIVE_INFINITY, signal);
  };
  const { critic, passAndStep: together } = policy;
  return {
    policy: {
      logprobs: (samples) => run(() => policy.logprobs(samples)),
      referenceLogprobs: (samples) => run(() => policy.referenceLogprobs(samples)),
      forwardBackward: (samples, decide, entropyWeights) => run(() => policy.forwardBackward(samples, decide, entropyWeights)),
      step: (scale) => {
        if (!moved) signal.throwIfAborted();
        moved = true;
        return policy.step(scale);
      },
      passAndStep:
        together &&
        (async (samples, weights, scale) => {
          if (!moved) signal.throwIfAborted();
          moved = true;
          return together(samples, weights, scale);
        }),
      critic: critic && {
        values: (samples) => run(() => critic.values(samples)),
        forwardBackward: (samples, decide) => run(() => critic.forwardBackward(samples, decide)),
        step: (scale) => {
          moved = true;
          return critic.step(scale);
        },
      },
    },
    /** Waits for a pass that was left: an engine must not be closed under it. */
    settled: async () => {
      await pending;
    },
  };
}
