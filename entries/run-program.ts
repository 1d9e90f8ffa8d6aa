import type { TextStream } from "../src/terminal/screen.ts";
import { endDespiteLeftovers } from "./leftovers.ts";

/** Runs a command line as this process: with its arguments and its streams, to its exit code. */
export async function runProgram(
  main: (args: readonly string[], output: TextStream, errors: TextStream) => Promise<number>,
): Promise<void> {
  // Whoever reads may stop (`| head`); a run continues without.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });

  // Node would open its inspector, to which any program of this user could then connect.
  process.on("SIGUSR1", () => {});

  process.exitCode = await main(process.argv.slice(2), process.stdout, process.stderr);
  endDespiteLeftovers((message) => process.stderr.write(message));
}
