import { main as run } from "../entries/program.ts";
import type { TextStream } from "../src/terminal/screen.ts";
import { benchmarkCommands } from "./benchmarks/cli/commands.ts";
import { labCommands } from "./lab/cli/commands.ts";
import { protocolCommands } from "./protocol/cli/commands.ts";
import { studyCommands } from "./study/cli/commands.ts";
import { tinkerServerCommands } from "./tinker-server/cli/commands.ts";

/** The command line with what is of this repository alone. @returns the exit code */
export function main(args: readonly string[], output: TextStream, errors: TextStream): Promise<number> {
  return run(args, output, errors, {
    commands: [benchmarkCommands, labCommands, protocolCommands, studyCommands, tinkerServerCommands],
    prepare: () => import("./install.ts"),
  });
}
