import "../extensions/engines.ts";

import { commands, subjects } from "../extensions/commands.ts";
import { startDashboardBeside } from "../extensions/dashboard/beside.ts";
import { defaults } from "../extensions/defaults.ts";
import { main as run } from "../src/cli/program.ts";
import type { TextStream } from "../src/terminal/screen.ts";

/**
 * The command line of the core and of this package's extensions.
 * @param args without the program's name
 * @returns the exit code: 0; 1 if something failed; 2 if the invocation or a setting is wrong; 130 after Ctrl-C
 */
export function main(args: readonly string[], output: TextStream, errors: TextStream): Promise<number> {
  return run(args, output, errors, {
    commands,
    subjects,
    beside: startDashboardBeside,
    defaults,
    prepare: async () => {
      await import("../extensions/install.ts");
    },
  });
}
