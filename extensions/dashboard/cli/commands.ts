import { type AddCommands, debuggable } from "../../../src/cli/command-tools.ts";
import { runsFolder } from "../../../src/runs/layout.ts";

export const dashboardCommands: AddCommands = (program, { screen, examples }) => {
  debuggable(program.command("dashboard"))
    .summary("look at runs in a browser")
    .description("Serves the dashboard until Ctrl-C. Other machines need --host and then a token.")
    .argument("[folder]", `a folder of runs, or of one run (default: ${runsFolder})`)
    .option("--port <n>", "default: 4747; 0 for any that is free")
    .option("--host <address>", "where to listen (default: 127.0.0.1)")
    .option("--open", "open it in the browser")
    .addHelpText("after", examples("dashboard", "dashboard runs --open", "dashboard runs/office-seeupo-1 --port 0"))
    .action(async (folder, flags) => {
      const { dashboardCommand } = await import("./dashboard.ts");
      await dashboardCommand(folder, flags, screen);
    });
};
