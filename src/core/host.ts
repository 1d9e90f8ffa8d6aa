/**
 * The few things that arithmetic and rollouts ask of the program around them. Node has all of them; elsewhere the nearest thing is taken, so
 * that no module below the trainer imports Node's own modules (test/imports.test.ts).
 */
export interface Host {
  /** Operating system as Node names it. undefined outside of Node. */
  readonly platform: string | undefined;
  /** Lets everything run that is already waiting: promises, timers that are due, input. */
  nextTurn(): Promise<void>;
  /** Says that many listeners on a signal are meant: Node warns of them as of a leak. */
  expectListeners(signal: AbortSignal): void;
  /** Resident memory of the process. NaN where that is not known. */
  residentBytes(): number;
}

const node = globalThis.process?.versions?.node === undefined ? undefined : globalThis.process;

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
  residentBytes: () => node?.memoryUsage.rss() ?? Number.NaN,
};
