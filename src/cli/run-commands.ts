import { runsFolder } from "../runs/layout.ts";
import { type AddCommands, debuggable, trusting } from "./command-tools.ts";

/** Adds the commands that read runs, or steer one. */
export const runCommands: AddCommands = (program, { screen, exit, examples }) => {
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
    .summary("show a run, or one of its episodes")
    .description("Shows a run's evaluations, steps and metrics, or with --trajectory one of its episodes.")
    .argument("<folder>", "the run's folder")
    .option("--trajectory <id>", "an episode's id")
    .option("--json", "print it as JSON: settings, evaluations and metrics, or the episode as it is stored")
    .addHelpText("after", examples("runs show runs/office-seeupo-1"))
    .action(async (folder, flags) => {
      const { showRunCommand } = await import("./commands/runs.ts");
      showRunCommand(folder, flags, screen);
    });
  debuggable(runs.command("entropy"))
    .summary("token entropy around tool results")
    .description("Averages the entropy of action tokens around tool results over a run's training rollouts.")
    .argument("<folder>", "the run's folder")
    .option("--svg <file>", "draw it there")
    .option("--json", "print every point as JSON")
    .addHelpText("after", examples("runs entropy runs/office-arpo-1 --svg entropy.svg"))
    .action(async (folder, flags) => {
      const { entropyCommand } = await import("./commands/entropy.ts");
      entropyCommand(folder, flags, screen);
    });

  debuggable(runs.command("compare"))
    .summary("compare two runs task by task")
    .description("Compares the last evaluations of two runs, task by task, with the interval of the difference.")
    .argument("<a>", "a run's folder")
    .argument("<b>", "another's")
    .action(async (a, b) => {
      const { compareCommand } = await import("./commands/run-tools.ts");
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
      const { runsSeedsCommand } = await import("./commands/runs-seeds.ts");
      runsSeedsCommand(folders, flags, screen);
    });

  trusting(debuggable(program.command("trajectory")))
    .summary("read one episode, and what the update did with it")
    .description("Shows an episode, with the weight, advantage, M and ratio of each turn.")
    .argument("<folder>", "the run's folder")
    .argument("<id>", "the episode's id")
    .option("--json", "print it as it is stored, with all ids and log-probs")
    .option("--replay", "play it once more in its environment, and compare every context with the record")
    .option(
      "--since <step>",
      "how its log-probs have changed since the weights of a step; 0 is the model that the run started from",
    )
    .option("--config <file>", "where an environment of your own is (default: retrograde.config.ts, if it is there)")
    .addHelpText(
      "after",
      examples(
        "trajectory runs/office-seeupo-1 step-1/0/0",
        "trajectory runs/office-seeupo-1 step-9/0/0 --replay",
        "trajectory runs/office-seeupo-1 step-9/0/0 --since 0",
      ),
    )
    .action(async (folder, id, flags) => {
      const { trajectoryCommand } = await import("./commands/trajectory.ts");
      exit(await trajectoryCommand(folder, id, flags, screen));
    });

  debuggable(program.command("control"))
    .summary("pause, resume or stop a run, or change its learning rate")
    .description("Sends a request that the run's trainer obeys before its next step.")
    .argument("<folder>", "the run's folder")
    .argument("<action>", "pause, resume, stop or learning-rate")
    .argument("[value]", "the learning rate")
    .addHelpText("after", examples("control runs/office-seeupo-1 pause", "control runs/office-seeupo-1 learning-rate 1e-4"))
    .action(async (folder, action, value) => {
      const { controlCommand } = await import("./commands/run-tools.ts");
      controlCommand(folder, action, value, screen);
    });

  trusting(debuggable(runs.command("model")))
    .summary("write the model of a checkpoint")
    .description("Writes the model of a checkpoint into a folder, also of a run that was stopped.")
    .argument("<folder>", "the run's folder")
    .requiredOption("--out <folder>", "a new folder")
    .option("--step <n>", "one with a checkpoint (default: the newest)")
    .addHelpText("after", examples("runs model runs/office-grpo-1 --step 8 --out models/after-8"))
    .action(async (folder, flags) => {
      const { checkpointModelCommand } = await import("./commands/run-tools.ts");
      await checkpointModelCommand(folder, flags, screen);
    });

  debuggable(runs.command("export"))
    .summary("write a run in another format")
    .description("Writes a run's steps and trajectories as CSV, JSON lines or Parquet, or its metrics for TensorBoard or MLflow.")
    .argument("<folder>", "the run's folder")
    .option("--format <name>", "csv, jsonl, parquet, tensorboard, atif or training-trace", "csv")
    .option("--out <folder>", "where to write (default: the run's folder)")
    .option("--mlflow <url>", "send it to this MLflow server instead")
    .option("--experiment <name>", "the experiment's name there", "retrograde")
    .addHelpText(
      "after",
      examples(
        "runs export runs/office-seeupo-1 --format tensorboard --out logs/office",
        "runs export runs/office-seeupo-1 --mlflow http://localhost:5000",
      ),
    )
    .action(async (folder, flags) => {
      const { exportCommand } = await import("./commands/run-tools.ts");
      await exportCommand(folder, flags, screen);
    });

  debuggable(program.command("push"))
    .summary("put a model's folder on the Hugging Face Hub")
    .description("Uploads a folder that `export` wrote to the Hugging Face Hub, with the token in HF_TOKEN.")
    .argument("<folder>", "as `export` wrote it")
    .argument("<name>", "owner/name; it is made if it is not there")
    .option("--public", "a new repository is seen by everybody")
    .addHelpText("after", examples("push office-hf me/office"))
    .action(async (folder, name, flags) => {
      const { pushFolder } = await import("../hub/push.ts");
      screen.line(`Pushed to ${await pushFolder(folder, name, { visibility: flags.public === true ? "public" : "private" })}`);
    });
};
