import type { Command } from "commander";
import { runsFolder } from "../runs/layout.ts";
import type { Screen } from "./screen.ts";

interface Surroundings {
  readonly screen: Screen;
  /** Adds the options that every command has. */
  readonly debuggable: (command: Command) => Command;
  readonly examples: (...lines: readonly string[]) => string;
}

/** Adds the commands that read runs, or steer one. */
export function addRunCommands(program: Command, { screen, debuggable, examples }: Surroundings): void {
  const runs = debuggable(program.command("runs"))
    .summary("list runs, show one")
    .description("Lists the runs of a folder, newest first.")
    .option("--in <folder>", "where the runs are", runsFolder)
    .action(async (flags) => {
      const { runsCommand } = await import("./commands/runs.ts");
      runsCommand(flags, screen);
    });
  debuggable(runs.command("show"))
    .summary("show a run, or one of its episodes")
    .description("Shows a run's evaluations, steps and metrics; with --trajectory one of its episodes, to read.")
    .argument("<folder>", "the run's folder")
    .option("--trajectory <id>", "an episode's id")
    .addHelpText("after", examples("runs show runs/office-seeupo-1"))
    .action(async (folder, flags) => {
      const { showRunCommand } = await import("./commands/runs.ts");
      showRunCommand(folder, flags, screen);
    });
  debuggable(runs.command("entropy"))
    .summary("token entropy around tool results")
    .description(
      "Averages the entropy of action tokens around tool results over a run's training rollouts: where the model is unsure.",
    )
    .argument("<folder>", "the run's folder")
    .option("--svg <file>", "draw it there")
    .option("--json", "print every point as JSON")
    .addHelpText("after", examples("runs entropy runs/office-arpo-1 --svg entropy.svg"))
    .action(async (folder, flags) => {
      const { entropyCommand } = await import("./commands/entropy.ts");
      entropyCommand(folder, flags, screen);
    });

  debuggable(program.command("dashboard"))
    .summary("look at runs in a browser")
    .description(
      "Serves the dashboard until Ctrl-C: curves while a run is trained, its episodes, and why each of their tokens moved.\n" +
        "Only this machine reaches it, unless --host names another address: then a token is required.",
    )
    .argument("[folder]", `a folder of runs, or of one run (default: ${runsFolder})`)
    .option("--port <n>", "default: 4747; 0 for any that is free")
    .option("--host <address>", "where to listen (default: 127.0.0.1)")
    .option("--open", "open it in the browser")
    .addHelpText("after", examples("dashboard", "dashboard runs --open", "dashboard runs/office-seeupo-1 --port 0"))
    .action(async (folder, flags) => {
      const { dashboardCommand } = await import("./commands/dashboard.ts");
      await dashboardCommand(folder, flags, screen);
    });
}
