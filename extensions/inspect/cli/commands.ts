import { type AddCommands, commandNamed, debuggable, trusting, withSettings } from "../../../src/cli/command-tools.ts";
import { withModes } from "../../../src/cli/modes.ts";
import { chatFlags } from "../../../src/cli/settings.ts";

export const chatCommands: AddCommands = (program, { screen, exit, examples }) => {
  withSettings(program.command("chat"), chatFlags)
    .summary("talk to a model")
    .description("Talks to a model, which uses the environment's tools. Reads lines from a terminal or a pipe.")
    .addHelpText("after", examples("chat", "chat --model runs/office-seeupo-1 --temperature 0"))
    .action(async (flags) => {
      const { chatCommand } = await import("./chat.ts");
      exit(await chatCommand(flags, screen));
    });
};

/** Adds the commands that look at runs closely. */
export const inspectCommands: AddCommands = (program, tools) => {
  const runs = commandNamed(program, "runs");
  for (const add of [entropy, comparisons]) add(runs, tools);
  trajectories(program, tools);
  for (const add of [models, exports]) add(runs, tools);
};

const entropy: AddCommands = (runs, { screen, examples }) => {
  debuggable(runs.command("entropy"))
    .summary("token entropy around tool results")
    .description("Averages the entropy of action tokens around tool results over a run's training rollouts.")
    .argument("<folder>", "the run's folder")
    .option("--json", "print every point as JSON")
    .option("--svg <file>", "draw it there")
    .addHelpText("after", examples("runs entropy runs/office-arpo-1 --svg entropy.svg"))
    .action(async (folder, flags) => {
      const { entropyCommand } = await import("./entropy.ts");
      entropyCommand(folder, flags, screen);
    });
};

const comparisons: AddCommands = (runs, { screen, examples }) => {
  debuggable(runs.command("compare"))
    .summary("compare two runs task by task")
    .description("Compares the last evaluations of two runs, task by task, with the interval of the difference.")
    .argument("<a>", "a run's folder")
    .argument("<b>", "another's")
    .action(async (a, b) => {
      const { compareCommand } = await import("./run-tools.ts");
      compareCommand(a, b, screen);
    });

  debuggable(runs.command("seeds"))
    .summary("several seeds of one configuration as one result")
    .description(
      "Averages runs that differ only in their seeds, with intervals over seeds and tasks; --against compares another configuration.",
    )
    .argument("<folders...>", "the runs' folders")
    .option("--against <folders...>", "runs of another configuration, seed by seed")
    .option("--json", "print the numbers as JSON")
    .addHelpText("after", examples("runs seeds runs/a-1 runs/a-2 --against runs/b-1 runs/b-2"))
    .action(async (folders, flags) => {
      const { runsSeedsCommand } = await import("./runs-seeds.ts");
      runsSeedsCommand(folders, flags, screen);
    });
};

const trajectories: AddCommands = (program, { screen, exit, examples }) => {
  const trajectory = withModes(
    trusting(debuggable(program.command("trajectory"))),
    { with: ["html"], ignores: ["json", "replay", "config"] },
    { with: ["replay"], ignores: ["json"] },
    { with: [], ignores: ["config"] },
  );
  trajectory
    .summary("read one episode, and what the update did with it")
    .description("Shows an episode, with the weight, advantage, M and ratio of each turn.")
    .argument("<folder>", "the run's folder")
    .argument("<id>", "the episode's id")
    .option("--json", "print it as it is stored, with all ids and log-probs")
    .option("--html <file>", "write it as one page that needs nothing else, to send to somebody")
    .option("--replay", "play it once more in its environment, and compare every context with the record")
    .option("--config <file>", "where an environment of your own is (default: retrograde.config.ts, if it is there)")
    .addHelpText(
      "after",
      examples(
        "trajectory runs/office-seeupo-1 step-1/0/0",
        "trajectory runs/office-seeupo-1 step-1/0/0 --html episode.html",
        "trajectory runs/office-seeupo-1 step-9/0/0 --replay",
      ),
    )
    .action(async (folder, id, flags) => {
      const { trajectoryCommand } = await import("./trajectory.ts");
      exit(await trajectoryCommand(folder, id, flags, screen));
    });
};

const models: AddCommands = (runs, { screen, examples }) => {
  trusting(debuggable(runs.command("model")))
    .summary("write the model of a checkpoint")
    .description("Writes the model of a checkpoint into a folder, also of a run that was stopped.")
    .argument("<folder>", "the run's folder")
    .requiredOption("--out <folder>", "a new folder")
    .option("--step <n>", "one with a checkpoint (default: the newest)")
    .addHelpText("after", examples("runs model runs/office-grpo-1 --step 8 --out models/after-8"))
    .action(async (folder, flags) => {
      const { checkpointModelCommand } = await import("./run-tools.ts");
      await checkpointModelCommand(folder, flags, screen);
    });
};

const exports: AddCommands = (runs, { screen, examples }) => {
  debuggable(runs.command("export"))
    .summary("write a run in another format")
    .description("Writes a run's steps and trajectories as CSV or Parquet, or the run as one page.")
    .argument("<folder>", "the run's folder")
    .option("--format <name>", "csv, parquet, or html: one page to send to somebody", "csv")
    .option("--out <folder>", "where to write (default: the run's folder)")
    .addHelpText("after", examples("runs export runs/office-seeupo-1 --format parquet --out tables"))
    .action(async (folder, flags) => {
      const { exportCommand } = await import("./run-tools.ts");
      exportCommand(folder, flags, screen);
    });
};
