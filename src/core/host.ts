/**
 * The few things that arithmetic and rollouts ask of the program around them. Node has all of them; elsewhere the nearest thing is taken, so
 * that no module below the trainer imports Node's own modules (test/imports.test.ts).
 */
export interface Host {
  /** Operating system as Node names it. undefined outside of Node. */
  readonly platform: string | undefined;
  /** Lets everything run that is already waiting: promises, timers that are due, input. */
  nextTurn(): Promise<void>;
  /** Marks many listeners on a signal as intended: Node would warn of a leak. */
  expectListeners(signal: AbortSignal): void;
  /**
   * Runs work that returns no promise, and interrupts it after a time: also a pattern that backtracks without end. Costs about 0.1 ms. Outside
   * of Node it is not interrupted.
   * @throws TimeLimitError, and what the work throws
   */
  interruptAfter<T>(milliseconds: number, work: () => T): T;
  /** Resident memory of the process. NaN where that is not known. */
  residentBytes(): number;
  /** Says something on the error output, as Node does of what is deprecated. */
  warn(message: string): void;
}

const interruptible = Symbol.for("retrograde.interruptible");

const node = globalThis.process?.versions?.node === undefined ? undefined : globalThis.process;

/** Work was interrupted. */
export class TimeLimitError extends Error {
  constructor(milliseconds: number) {
    super(`no end within ${milliseconds} ms`);
    this.name = "TimeLimitError";
  }
}

export const host: Host = {
  platform: node?.platform,
  nextTurn: () =>
    new Promise((resolve) => {
      if (typeof setImmediate === "function") setImmediate(resolve);
      else setTimeout(resolve, 0);
    }),
  expectListeners: (signal) => {
    node?.getBuiltinModule?.("node:events").setMaxListeners(0, signal);
  },
  interruptAfter: (milliseconds, work) => {
    const vm = node?.getBuiltinModule?.("node:vm");
    if (vm === undefined) return work();
    // Only a script can be given a time. This one calls the work, which is a function of the program as before.
    const context = globalThis as { [interruptible]?: () => void };
    let result: { readonly value: ReturnType<typeof work> } | undefined;
    context[interruptible] = () => {
      result = { value: work() };
    };
    try {
      new vm.Script(`globalThis[Symbol.for("${interruptible.description}")]()`).runInThisContext({ timeout: milliseconds });
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT")
        throw new TimeLimitError(milliseconds);
      throw error;
    } finally {
      delete context[interruptible];
    }
    if (result === undefined) throw new TimeLimitError(milliseconds);
    return result.value;
  },
  residentBytes: () => node?.memoryUsage.rss() ?? Number.NaN,
  warn: (message) => (node === undefined ? console.warn(message) : node.emitWarning(message, "RetrogradeWarning")),
};
