import { RunError, reasonOf, ToolError } from "../core/errors.ts";
import { observeUserCode, userCodeName } from "../core/user-code.ts";

export interface StrayWatch {
  /** Aborted, with an error that names the code, by what cannot be survived. */
  readonly signal: AbortSignal;
  release(): void;
}

/**
 * Catches errors of user code that nothing awaits, which would end the process with all steps since the last checkpoint. A rejected
 * promise of a tool or an environment is a warning, once for each of them. An exception, as in a timer, ends the run after a checkpoint.
 * @param subject the name of the work in an error: the run's folder, or a command
 * @param hint the user's next step after an exception
 * @param warn is given a sentence with the name
 */
export function watchUnhandled(subject: string, hint: string, warn: (message: string) => void): StrayWatch {
  const controller = new AbortController();
  const warned = new Set<string>();
  // Names are kept only while there is an observer.
  const unobserve = observeUserCode({ entered: () => {}, left: () => {}, waits: () => {}, settled: () => {} });

  const onRejection = (reason: unknown) => {
    const name = userCodeName();
    if (name === undefined) return onException(reason);
    if (warned.has(name)) return;
    warned.add(name);
    warn(
      `A promise of ${name} was rejected and nobody waited for it: ${reasonOf(reason)}. The run continues. Await that promise.`,
    );
  };
  const onException = (cause: unknown) => {
    const name = userCodeName();
    controller.abort(
      name === undefined
        ? new RunError(subject, `ended by an error outside of any step (${reasonOf(cause)})`, { hint, cause })
        : new ToolError(name, `ended by an exception that nobody could catch (${reasonOf(cause)})`, {
            expected: "errors that are thrown before it returns, or by the promise that it returns",
            hint,
            cause,
          }),
    );
  };
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onException);
  return {
    signal: controller.signal,
    release: () => {
      unobserve();
      process.off("unhandledRejection", onRejection);
      process.off("uncaughtException", onException);
    },
  };
}
