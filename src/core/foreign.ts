/**
 * Other people's code: tools, schemas and environments. It is called under a name, so that what it does wrong outside of any `await` (a
 * promise that nobody waits for, an exception in a timer, an endless loop) can be reported with that name.
 */

/** Follows which foreign code runs. It is called for every tool call, so it must be quick. */
export interface ForeignObserver {
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
const observers = new Set<ForeignObserver>();

/** Calls foreign code under a name. @throws what it throws */
export function asForeign<T>(name: string, work: () => T): T {
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

/** The name of the foreign code to which the present callback belongs, also after its promise has settled. */
export function foreignName(): string | undefined {
  return names?.getStore();
}

/** @returns ends the observation */
export function observeForeign(observer: ForeignObserver): () => void {
  observers.add(observer);
  return () => observers.delete(observer);
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
