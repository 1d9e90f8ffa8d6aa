import { runsFolder } from "../runs/layout.ts";
import { type AddCommands, debuggable } from "./command-tools.ts";

export const runCommands: AddCommands = (program, { screen, examples }) => {
  const runs = debuggable(program.command("runs"))
    .summary("list runs, show one")
    .description("Lists the runs of a folder, newest first.")
    .enablePositionalOptions()
    .option("--in <folder>", "where the runs are", runsFolder)
    .option("--json", "print them as JSON")
    .action(async (flags) => {
      const { runsCommand } = await import("./commands/runs.ts");
      runsCommand(flags, screen);
    });
  debuggable(runs.command("show"))
    .summary("show a run")
    .description("Shows a run's evaluations, steps and metrics.")
    .argument("<folder>", "the run's folder")
    .option("--json", "print settings, evaluations and metrics as JSON")
    .addHelpText("after", examples("runs show runs/first"))
    .action(async (folder, flags) => {
      const { showRunCommand } = await import("./commands/runs.ts");
      showRunCommand(folder, flags, screen);
    });
};
