import { appendFileSync, writeSync } from "node:fs";
import { userCodeName } from "../core/user-code.ts";
import { schemaVersion } from "../runs/schema.ts";
import type { WatchdogOptions } from "./watchdog.ts";

export interface ExitOptions extends Pick<WatchdogOptions, "advice" | "messages"> {
  /** Once it is aborted, an end is what the user asked for. */
  readonly signal?: AbortSignal;
}

/**
 * Reports an end of the process before the work has ended, as by `process.exit` in a tool. The exit code is then 1.
 * @returns ends the watch
 */
export function watchExit(
  { advice, messages, signal }: ExitOptions,
  say: (text: string) => void = (text) => writeSync(2, text),
): () => void {
  const onExit = (code: number) => {
    if (signal?.aborted) return;
    const who = userCodeName();
    const how =
      who === undefined
        ? `The process ended (exit code ${code}) before the work was done: by process.exit(), or because nothing was left to wait for.`
        : `${who} ended the process by process.exit(${code}).`;
    const message = `${how} ${advice}`;
    try {
      say(`\nerror: ${message}\n`);
      const at = new Date().toISOString();
      if (messages !== undefined)
        appendFileSync(messages, `${JSON.stringify({ schema: schemaVersion, level: "warning", step: 0, message, at })}\n`);
    } finally {
      process.exitCode = 1;
    }
  };
  process.on("exit", onExit);
  return () => process.off("exit", onExit);
}
