import "../extensions/engines.ts";

import { commands, subjects } from "../extensions/commands.ts";
import { startDashboardBeside } from "../extensions/dashboard/beside.ts";
import { defaults } from "../extensions/defaults.ts";
import type { AddCommands } from "../src/cli/command-tools.ts";
import { main as run } from "../src/cli/program.ts";
import type { TextStream } from "../src/terminal/screen.ts";

/** Commands and environments that a program of the repository adds. Its environments are added before a command runs. */
export interface Additions {
  readonly commands: readonly AddCommands[];
  readonly prepare: () => Promise<unknown>;
}

/**
 * The command line of the core and of this package's extensions.
 * @param args without the program's name
 * @returns the exit code: 0; 1 if something failed; 2 if the invocation or a setting is wrong; 130 after Ctrl-C
 */
export function main(args: readonly string[], output: TextStream, errors: TextStream, additions?: Additions): Promise<number> {
  return run(args, output, errors, {
    commands: [...commands, ...(additions?.commands ?? [])],
    subjects,
    beside: startDashboardBeside,
    defaults,
    prepare: async () => {
      await import("../extensions/install.ts");
      await additions?.prepare();
    },
  });
}
