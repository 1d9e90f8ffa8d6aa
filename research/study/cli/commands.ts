import { Option } from "commander";
import { type AddCommands, debuggable } from "../../../src/cli/command-tools.ts";
import { withModes } from "../../../src/cli/modes.ts";

export const studyCommands: AddCommands = (program, { screen, exit, examples }) => {
  const study = withModes(
    debuggable(program.command("study")),
    { with: ["report"], ignores: ["dryRun", "jobs", "question", "worlds", "arms", "rates", "seeds", "tuningSeeds", "keep"] },
    { with: ["dryRun"], ignores: ["keep"] },
  );
  study
    .summary("run an experiment of several arms, rates and seeds")
    .description(
      "Runs the remaining parts of a study: tunes every arm on validation tasks, trains it with the reported seeds, and writes\n" +
        "tables, figures and page. Finished runs are kept, so the same command continues.",
    )
    .argument("<name>", "its name in studies/, or its file")
    .option("--dry-run", "print arms, runs and the estimated hours; start nothing")
    .option("--report", "write table, figures and page from the runs that are there; start nothing")
    .option("--jobs <n>", "runs at a time, each a process of its own (default: 1)")
    .option("--question <name>", "the runs of this question alone, at the rates that it names")
    .option("--worlds <list>", "these worlds of the plan alone")
    .option("--arms <list>", "these arms of the plan alone")
    .option("--rates <list>", "these learning rates of the plan alone")
    .option("--tuning-seeds <n>", "the first tuning seeds of the plan alone")
    .option("--seeds <n>", "the first reported seeds of the plan alone")
    .option("--out <folder>", "where results are kept (default: beside the study's file, in a folder of its name)")
    .option("--keep", "keep the folders of the runs, with trajectories and models")
    .addOption(new Option("--run <id>").hideHelp())
    .addHelpText("after", examples("study seeupo --dry-run", "study seeupo --question gain --seeds 2", "study seeupo --report"))
    .action(async (name, flags) => {
      const { studyCommand } = await import("./study.ts");
      exit(await studyCommand(name, flags, screen));
    });
};
