import type { AddCommands, EvalSubject } from "../src/cli/command-tools.ts";
import { modelCommands } from "../src/cli/model-commands.ts";
import { runCommands } from "../src/cli/run-commands.ts";
import { supervisedCommands, trainingCommands } from "../src/cli/training-commands.ts";
import { agentCommands, agentSubject } from "./agents/cli/commands.ts";
import { checkCommands, doctorCommands } from "./check/cli/commands.ts";
import { completionCommands } from "./completion/completion.ts";
import { dashboardCommands } from "./dashboard/cli/commands.ts";
import { demoCommands } from "./demo/cli/commands.ts";
import { chatCommands, inspectCommands } from "./inspect/cli/commands.ts";
import { localCommands } from "./local/cli/commands.ts";
import { serveCommands } from "./serve/cli/commands.ts";

/** The commands of the core and of this package's extensions, in the order of the help. Their own modules are loaded when they are called. */
export const commands: readonly AddCommands[] = [
  trainingCommands,
  agentCommands,
  supervisedCommands,
  modelCommands,
  chatCommands,
  runCommands,
  inspectCommands,
  localCommands,
  doctorCommands,
  dashboardCommands,
  checkCommands,
  demoCommands,
  serveCommands,
  completionCommands,
];

/** The subjects of `eval` besides models. */
export const subjects: readonly EvalSubject[] = [agentSubject];
