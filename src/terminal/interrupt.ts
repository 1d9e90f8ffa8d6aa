/**
 * Aborted by Ctrl-C, SIGTERM, or SIGHUP (a terminal that was closed): the first asks for a clean end, the second ends the process at once. A
 * second and a half after the first the process is ended, whatever has not answered by then: on a busy machine that takes another second.
 */
export interface Interrupt {
  readonly signal: AbortSignal;
  /** Ctrl-C is Node's again. */
  release(): void;
}

export interface InterruptOptions {
  /** True while work is finished and written that would be lost otherwise: the process is not ended then. */
  readonly isSaving?: () => boolean;
  /** Called before the process is ended. */
  readonly onLeave?: () => void;
  /** Shows whether npm, pnpm or yarn started the program: each sets the name of its script or command. Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The time that a clean end may take, in milliseconds. */
const patienceMs = 1_500;
/** The interval of checks whether work is still being saved. */
const savingMs = 100;

/** By custom: 128 + the number of SIGINT. */
export const interruptedExitCode = 130;

/** npm passes on the signal that the terminal has sent already, and a shell that ends repeats SIGHUP: two within this time are one. */
const echoMilliseconds = 500;

/** With its echo. More of them at once came while a native computation kept this thread. */
const signalsOfOne = 2;

/** Node gives SIGHUP its default back where `nohup` ignores it, so a closed terminal would end the process without this. */
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export function listenForInterrupt(
  onFirst: () => void,
  { isSaving = () => false, onLeave = () => {}, env = process.env }: InterruptOptions = {},
): Interrupt {
  const controller = new AbortController();
  const hasEcho = (name: NodeJS.Signals) =>
    name !== "SIGINT" || env.npm_lifecycle_event !== undefined || env.npm_command !== undefined;
  let [first, count] = [0, 0];
  let patience: NodeJS.Timeout | undefined;
  const leave = () => {
    if (isSaving()) patience = setTimeout(leave, savingMs);
    else {
      onLeave();
      process.emit("exit", interruptedExitCode); // locks are released, and servers that were started here end
      endAtOnce();
    }
  };
  const handle = (name: NodeJS.Signals) => {
    const now = performance.now();
    count++;
    if (!controller.signal.aborted) {
      first = now;
      patience = setTimeout(leave, patienceMs).unref();
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
      clearTimeout(patience);
      for (const name of signals) process.off(name, handle);
    },
  };
}

/** Does work that ends with its signal. @returns undefined where Ctrl-C ended it, after `say` */
export async function interruptible<T>(say: () => void, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  const interrupt = listenForInterrupt(() => {});
  try {
    return await work(interrupt.signal);
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    say();
    return undefined;
  } finally {
    interrupt.release();
  }
}

/** `process.exit` waits for what computes on other threads. The system's own way for a signal that nobody handles does not. */
function endAtOnce(): void {
  process.removeAllListeners("SIGINT");
  process.kill(process.pid, "SIGINT");
  setTimeout(() => process.exit(interruptedExitCode), echoMilliseconds);
}
