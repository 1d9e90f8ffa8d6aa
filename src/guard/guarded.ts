import { watchExit } from "./exit.ts";
import { watchUnhandled } from "./unhandled.ts";
import { startWatchdog } from "./watchdog.ts";

export interface GuardOptions {
  /** The time that other people's code may keep the event loop to itself, in milliseconds: `rollout.episodeTimeoutMs`. */
  readonly limitMs: number;
  /** The name of the work in errors: a run's folder, or a command. */
  readonly subject: string;
  /** The next step after the process was ended, in words for the user. */
  readonly advice: string;
  /** The run's file of messages, if it has one. */
  readonly messages?: string;
  readonly warn: (message: string) => void;
  /** Ends the work cleanly; the signal that the work is given includes it. */
  readonly signal?: AbortSignal;
}

/**
 * Does work that calls other people's code: tools, environments, rewards. A rejected promise that nobody awaits is a warning. An exception that nobody
 * can catch aborts the work's signal and is thrown. An endless loop ends the process. One that ends the process by `process.exit` is reported,
 * and the exit code is 1. Each names the code.
 * @throws what the work throws; ToolError or RunError for an exception outside of it
 */
export async function guarded<T>(
  { limitMs, subject, advice, messages, warn, signal }: GuardOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const unhandled = watchUnhandled(subject, advice, warn);
  const endWatchdog = startWatchdog({ limitMs, advice, messages });
  const endExit = watchExit({ advice, messages, signal });
  try {
    const result = await work(signal === undefined ? unhandled.signal : AbortSignal.any([signal, unhandled.signal]));
    unhandled.signal.throwIfAborted();
    return result;
  } finally {
    endExit();
    endWatchdog();
    unhandled.release();
  }
}
