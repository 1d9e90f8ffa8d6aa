import { type AddCommands, debuggable, withRunSettings } from "./command-tools.ts";
import { withModes } from "./modes.ts";
import { supervisedFlags, trainFlags } from "./settings.ts";

const dryRun = ["--dry-run", "print every setting, where it is from, and what the engine lacks for it; start nothing"] as const;

/** Adds the commands that start a task, and train a model in an environment. */
export const trainingCommands: AddCommands = (program, { screen, exit, examples }) => {
  debuggable(program.command("init"))
    .summary("start a task of your own")
    .description("Writes a folder that runs: an environment with tools and a reward, a configuration, and a test.")
    .argument("[folder]", "a new folder", "my-task")
    .addHelpText("after", examples("init my-task"))
    .action(async (folder) => {
      const { initCommand } = await import("./commands/init.ts");
      initCommand(folder, screen);
    });

  const train = withModes(
    withRunSettings(program.command("train"), trainFlags),
    { with: ["dryRun"], ignores: ["open", "dashboard", "allowChanged"] },
    { with: ["resume", "open"], ignores: ["dashboard"] },
    { with: ["resume"], ignores: [] },
    { with: ["open"], ignores: ["dashboard", "allowChanged"] },
    { with: [], ignores: ["allowChanged"] },
  );
  train
    .summary("train a model in an environment")
    .description(
      "Trains a model by reinforcement learning on an environment's tasks. Without options: the default model in the default world.",
    )
    .option(...dryRun)
    .option("--open", "open the dashboard in the browser")
    .addHelpText(
      "after",
      examples(
        "train",
        "train --algorithm grpo --steps 20 --out runs/short",
        "train --set evaluation.tasks=64 --set rollout.temperature=0.9",
        "train --resume --out runs/short",
      ),
    )
    .action(async (flags) => {
      const { trainCommand } = await import("./commands/train.ts");
      exit(await trainCommand(flags, screen));
    });
};

/** Adds the command that teaches by demonstrations. */
export const supervisedCommands: AddCommands = (program, { screen, exit, examples }) => {
  const sft = withRunSettings(program.command("sft"), supervisedFlags, { kind: "sft" });
  const dry = { with: ["dryRun"], ignores: ["dashboard", "allowChanged"] };
  withModes(sft, dry, { with: ["resume"], ignores: [] }, { with: [], ignores: ["allowChanged"] })
    .summary("teach a model by demonstrations")
    .description("Supervised fine-tuning on conversations from a JSONL file, or by the environment's expert.")
    .option(...dryRun)
    .addHelpText(
      "after",
      examples("sft --data conversations.jsonl --model Qwen/Qwen3-0.6B", "sft --config retrograde.config.ts --steps 100"),
    )
    .action(async (flags) => {
      const { sftCommand } = await import("./commands/sft.ts");
      exit(await sftCommand(flags, screen));
    });
};
