import { type AddCommands, debuggable } from "../../../src/cli/command-tools.ts";
import { withModes } from "../../../src/cli/modes.ts";

export const studyCommands: AddCommands = (program, { screen, exit, examples }) => {
  const study = withModes(debuggable(program.command("study")), { with: ["report"], ignores: ["dryRun", "arms", "seeds"] });
  study
    .summary("repeat runs of the study of SeeUPO, or its tables")
    .description(
      "Makes the runs of a study that are missing, and prints its differences with intervals. Finished runs are kept, so the\n" +
        "same command continues.",
    )
    .argument("<name>", "the study: seeupo")
    .option("--dry-run", "print the runs and the estimated hours; start nothing")
    .option("--report", "print the differences of the runs that are there; start nothing")
    .option("--question <name>", "the runs and differences of this question alone")
    .option("--arms <list>", "these arms of the plan alone")
    .option("--seeds <n>", "the first seeds of the plan alone")
    .option("--out <folder>", "where results are kept (default: those that are published)")
    .addHelpText(
      "after",
      examples(
        "study seeupo --report",
        "study seeupo --question office-rate --arms seeupo,grpo --seeds 2 --out mine",
        "study seeupo --dry-run --out mine",
      ),
    )
    .action(async (name, flags) => {
      const { studyCommand } = await import("./study.ts");
      exit(await studyCommand(name, flags, screen));
    });
};
