/** Aborted by Ctrl-C, SIGTERM, or SIGHUP (a terminal that was closed): the first asks for a clean end, the second ends the process at once. */
export interface Interrupt {
  readonly signal: AbortSignal;
  /** Ctrl-C is Node's again. */
  release(): void;
}

/** By custom: 128 + the number of SIGINT. */
export const interruptedExitCode = 130;

/** npm passes on the signal that the terminal has sent already, and a shell that ends repeats SIGHUP: two within this time are one. */
const echoMilliseconds = 500;

/** With its echo. More of them at once came while a native computation kept this thread. */
const signalsOfOne = 2;

/** Node gives SIGHUP its default back where `nohup` ignores it, so a closed terminal would end the process without this. */
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** @param env shows whether npm, pnpm or yarn started the program: each sets the name of its script or command */
export function listenForInterrupt(
  onFirst: () => void,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Interrupt {
  const controller = new AbortController();
  const hasEcho = (name: NodeJS.Signals) =>
    name !== "SIGINT" || env.npm_lifecycle_event !== undefined || env.npm_command !== undefined;
  let [first, count] = [0, 0];
  const handle = (name: NodeJS.Signals) => {
    const now = performance.now();
    count++;
    if (!controller.signal.aborted) {
      first = now;
      controller.abort();
      onFirst();
      // The system ends the process at the next Ctrl-C by itself, also while a native computation keeps this thread. Signals that came
      // during one are all delivered before this.
      if (!hasEcho("SIGINT")) setImmediate(() => process.off("SIGINT", handle));
    } else if (!hasEcho(name) || count > signalsOfOne || now - first > echoMilliseconds) endAtOnce();
  };
  for (const name of signals) process.on(name, handle);
  return {
    signal: controller.signal,
    release: () => {
      for (const name of signals) process.off(name, handle);
    },
  };
}

/** `process.exit` waits for what computes on other threads. The system's own way for a signal that nobody handles does not. */
function endAtOnce(): void {
  process.removeAllListeners("SIGINT");
  process.kill(process.pid, "SIGINT");
  setTimeout(() => process.exit(interruptedExitCode), echoMilliseconds);
}
