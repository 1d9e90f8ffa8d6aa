import { withinTime } from "../../core/deadline.ts";
import type { Policy } from "../../core/policy.ts";
import type { RestorePoint } from "../../engines/engine.ts";

/**
 * A policy whose calls end when a signal is aborted, instead of after a pass that may take minutes. After the first optimiser step they do
 * where a restore point leads back over it; otherwise the weights would be of no step, and finished steps could not be kept.
 * @param point the state before the first call
 */
export function interruptible(
  policy: Policy,
  signal: AbortSignal | undefined,
  point?: RestorePoint,
): { readonly policy: Policy; settled(): Promise<void> } {
  if (signal === undefined) return { policy, settled: async () => {} };
  let bound = false;
  const stepping = () => {
    if (!bound) signal.throwIfAborted();
    bound = !point?.overSteps;
  };
  let pending: Promise<unknown> = Promise.resolve();
  const run = async <T>(call: () => Promise<T>): Promise<T> => {
    if (bound) return call();
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
      step: () => {
        stepping();
        return policy.step();
      },
      passAndStep:
        together &&
        (async (samples, weights) => {
          stepping();
          return together(samples, weights);
        }),
      critic: critic && {
        values: (samples) => run(() => critic.values(samples)),
        forwardBackward: (samples, decide) => run(() => critic.forwardBackward(samples, decide)),
        step: (scale) => {
          stepping();
          return critic.step(scale);
        },
      },
    },
    /** Goes back, and waits for a pass that was left: an engine must not be closed under it. */
    settled: async () => {
      await point?.restore().catch(() => {}); // the weights are of no step then, which shows in their version
      await pending;
    },
  };
}
