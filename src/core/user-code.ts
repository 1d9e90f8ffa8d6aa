import { isPromiseLike, withinTime } from "./deadline.ts";

/**
 * Other people's code: tools, schemas and environments. It is called under a name, so that what it does wrong outside of any `await` (a
 * promise that nobody waits for, an exception in a timer, an endless loop) can be reported with that name.
 */

/** Follows which users' code runs. It is called for every tool call, so it must be quick. */
export interface UserCodeObserver {
  /** The code runs, and nothing else can. */
  entered(name: string): void;
  /** It has returned. */
  left(name: string): void;
  /** It has returned a promise and will go on. */
  waits(name: string): void;
  /** That promise has settled. */
  settled(name: string): void;
}

const hooks = globalThis.process?.getBuiltinModule?.("node:async_hooks");
const names = hooks === undefined ? undefined : new hooks.AsyncLocalStorage<string>();
const observers = new Set<UserCodeObserver>();

/** How long users' code is waited for. */
export interface UserCodeLimits {
  /** In milliseconds. */
  readonly timeoutMs: number;
  /** Ends the wait too. */
  readonly signal?: AbortSignal;
}

/**
 * Calls users' code under a name, and waits for its answer no longer than the limits say. An answer that comes later is dropped.
 * @param work is given a signal that is aborted when its answer is no longer awaited
 * @throws DeadlineError when the time is over, the signal's reason when it is aborted, and what the code throws
 */
export function callUserCode<T>(
  name: string,
  work: (signal: AbortSignal) => T | PromiseLike<T>,
  { timeoutMs, signal }: UserCodeLimits,
): Promise<T> {
  return withinTime((given) => asUserCode(name, () => work(given)), timeoutMs, signal);
}

/** Calls users' code under a name, without a limit of time. @throws what it throws */
export function asUserCode<T>(name: string, work: () => T): T {
  if (observers.size === 0) return work();
  for (const observer of observers) observer.entered(name);
  try {
    const result = names === undefined ? work() : names.run(name, work);
    if (isPromiseLike(result)) {
      for (const observer of observers) observer.waits(name);
      const settled = () => {
        for (const observer of observers) observer.settled(name);
      };
      result.then(settled, settled);
    }
    return result;
  } finally {
    for (const observer of observers) observer.left(name);
  }
}

/** The name of the users' code to which the present callback belongs, also after its promise has settled. */
export function userCodeName(): string | undefined {
  return names?.getStore();
}

/** @returns ends the observation */
export function observeUserCode(observer: UserCodeObserver): () => void {
  observers.add(observer);
  return () => observers.delete(observer);
}
