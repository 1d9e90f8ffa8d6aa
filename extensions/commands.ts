import type { AddCommands } from "../src/cli/command-tools.ts";
import { benchmarkCommands } from "./benchmarks/cli/commands.ts";
import { checkCommands } from "./check/cli/commands.ts";
import { dashboardCommands } from "./dashboard/cli/commands.ts";
import { demoCommands } from "./demo/cli/commands.ts";
import { evalsCommands } from "./evals/cli/commands.ts";
import { labCommands } from "./lab/cli/commands.ts";
import { localCommands } from "./local/cli/commands.ts";
import { protocolCommands } from "./protocol/cli/commands.ts";
import { serveCommands } from "./serve/cli/commands.ts";
import { studyCommands } from "./study/cli/commands.ts";

/** The commands of this package's extensions, in the order of the help. Their own modules are loaded when they are called. */
export const extensionCommands: readonly AddCommands[] = [
  localCommands,
  dashboardCommands,
  checkCommands,
  demoCommands,
  serveCommands,
  benchmarkCommands,
  evalsCommands,
  labCommands,
  studyCommands,
  protocolCommands,
];
