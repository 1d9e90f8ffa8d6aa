/** Told by Ctrl-C (or SIGTERM): the first asks for a clean end, the second ends the process at once. */
export interface Interrupt {
  readonly signal: AbortSignal;
  /** Ctrl-C is Node's again. */
  release(): void;
}

/** By custom: 128 + the number of SIGINT. */
export const interruptedExitCode = 130;

/** npm passes on the signal that the terminal has sent already: two within this time are one. */
const echoMilliseconds = 500;

export function listenForInterrupt(onFirst: () => void): Interrupt {
  const controller = new AbortController();
  let first = 0;
  const handle = () => {
    const now = performance.now();
    if (!controller.signal.aborted) {
      first = now;
      controller.abort();
      onFirst();
    } else if (now - first > echoMilliseconds) process.exit(interruptedExitCode);
  };
  process.on("SIGINT", handle);
  process.on("SIGTERM", handle);
  return {
    signal: controller.signal,
    release: () => {
      process.off("SIGINT", handle);
      process.off("SIGTERM", handle);
    },
  };
}
