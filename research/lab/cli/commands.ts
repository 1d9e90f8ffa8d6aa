import { type AddCommands, debuggable } from "../../../src/cli/command-tools.ts";

export const labCommands: AddCommands = (program, { screen, examples }) => {
  debuggable(program.command("lab"))
    .summary("run the theory: which turn updates converge")
    .description(
      "Runs every combination of operator, order, M and what a turn sees on small exact problems: does J ever fall, does it reach\n" +
        "the optimum, and how fast?",
    )
    .option("--json", "print every combination with its verdict as JSON, and nothing else")
    .addHelpText("after", examples("lab", "lab --json"))
    .action(async (flags: { readonly json?: boolean }) => {
      const { labLines } = await import("./lab.ts");
      for (const line of labLines(flags)) screen.line(line);
    });
};
