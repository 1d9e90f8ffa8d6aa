/** Aborted by Ctrl-C, SIGTERM, or SIGHUP (a terminal that was closed): the first asks for a clean end, the second ends the process at once. */
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
    } else if (now - first > echoMilliseconds) endAtOnce();
  };
  for (const name of signals) process.on(name, handle);
  return {
    signal: controller.signal,
    release: () => {
      for (const name of signals) process.off(name, handle);
    },
  };
}

/** Node gives SIGHUP its default back where `nohup` ignores it, so a closed terminal would end the process without this. */
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** `process.exit` waits for what computes on other threads. The system's own way for a signal that nobody handles does not. */
function endAtOnce(): void {
  process.removeAllListeners("SIGINT");
  process.kill(process.pid, "SIGINT");
  setTimeout(() => process.exit(interruptedExitCode), echoMilliseconds);
}
