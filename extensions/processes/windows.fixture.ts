import childProcess, { type SpawnOptions } from "node:child_process";
import { createRequire } from "node:module";

/** Writes how a program would be started on Windows. Its platform is read when cross-spawn is loaded, and when a program is started. */
const [, , program = "", ...args] = process.argv;
const { platform: own } = process;
const setPlatform = (value: string) => Object.defineProperty(process, "platform", { value });
setPlatform("win32");
createRequire(import.meta.url)("cross-spawn");
setPlatform(own);
childProcess.spawn = ((command: string, given: string[], options: SpawnOptions) => {
  const { windowsVerbatimArguments: verbatim, detached, windowsHide: hidden } = options;
  process.stdout.write(`${JSON.stringify({ command, args: given, verbatim, detached, hidden })}\n`);
  return { pid: undefined, on() {}, once() {}, emit() {} };
}) as never;
const { startGroup } = await import("./group.ts");
setPlatform("win32");
try {
  startGroup(program, args);
} catch (error) {
  process.stdout.write(`${JSON.stringify({ error: String(error) })}\n`);
}
