import { type AddCommands, withSettings } from "../../../src/cli/command-tools.ts";
import { withModes } from "../../../src/cli/modes.ts";
import { doctorFlags, environmentCheckFlags, scanFlags } from "../../../src/cli/settings.ts";

export const doctorCommands: AddCommands = (program, { screen, exit }) => {
  withSettings(program.command("doctor"), doctorFlags)
    .summary("check this machine and a model")
    .description("Checks this machine and a model (folder, chat template, memory, sampling), and suggests fixes.")
    .option("--play", "also play a few episodes, and say what a step, an evaluation and the run will cost")
    .option("--json", "print what was found as JSON")
    .action(async (flags) => {
      const { doctorCommand } = await import("./doctor.ts");
      exit(await doctorCommand(flags, screen));
    });
};

/** Adds the commands that say what can be learned: from an environment, and by which model. */
export const checkCommands: AddCommands = (program, { screen, exit, examples }) => {
  const env = program.command("env").summary("look at an environment").description("Commands about environments.");
  withModes(withSettings(env.command("check"), environmentCheckFlags), { with: ["sampling"], ignores: ["model"] })
    .summary("what an environment asks for, and what it gives away")
    .description(
      "Checks an environment before training: success of its expert, of thoughtless policies, of constant answers and of the " +
        "model; overlap of splits; groups with a signal.",
    )
    .argument("[name]", "the environment; that of the configuration file if left out")
    .option("--no-sampling", "measure no model")
    .option("--training-tasks <n>", "tasks of the training stream whose texts are compared (default: 2000)")
    .option("--json", "print the report as JSON")
    .addHelpText("after", examples("env check office", "env check calculator --no-sampling", "env check --config my.config.ts"))
    .action(async (name, flags) => {
      const { environmentCheckCommand } = await import("./env-check.ts");
      exit(await environmentCheckCommand(name, flags, screen));
    });

  withModes(withSettings(program.command("scan <what...>"), scanFlags), { with: ["sampling"], ignores: [] })
    .summary("which of my tasks can a small model learn?")
    .description(
      "Looks at tasks before training, a line for each file of {prompt, answer} or environment: lengths, whether the answer is in the prompt, what a " +
        "player wins who reads no meaning, what the model can do, and whether its rewards differ.",
    )
    .option("--model <name>", "as in train (default: smollm2)")
    .option("--tasks <n>", "of each, the first of the training split (default: 64)")
    .option("--no-sampling", "measure no model: its tokenizer alone is used")
    .option("--json", "print what was found as JSON")
    .addHelpText("after", examples("scan tasks.jsonl", "scan easy.jsonl hard.jsonl calculation --no-sampling"))
    .action(async (what, flags) => {
      const { scanCommand } = await import("./scan.ts");
      await scanCommand(what, flags, screen);
    });

  program
    .command("check <agent...>")
    .summary("is my reward any good? lazy policies against an agent")
    .description(
      "Plays an agent, as train-agent takes it, with scripted policies in place of its model: silence, an echo, each tool, random tools, constant " +
        "answers. Says which are paid, which answers are in prompts, which tasks look alike. Its tools are really called.",
    )
    .option("--tasks <file>", "JSON lines, each with a prompt")
    .option("--reward <file>", "a module whose default export is ({ task, answer }) => number")
    .option("--json", "print the report as JSON")
    .addHelpText("after", examples("check agent.ts --tasks tasks.jsonl --reward reward.ts"))
    .action(async (agent, flags) => {
      const { agentCheckCommand } = await import("./agent-check.ts");
      exit(await agentCheckCommand(agent, flags, screen));
    });

  withSettings(program.command("advise [agent...]"), doctorFlags)
    .summary("which model, and what next")
    .description(
      "Plays a few episodes before training. Reports whether the model calls tools and finds differing rewards, which published " +
        "models fit the memory and time, and the next step. Accepts an agent as train-agent does.",
    )
    .option("--tasks <file>", "of an agent: JSON lines, each with a prompt")
    .option("--reward <file>", "of an agent: a module whose default export is ({ task, answer }) => number")
    .option("--memory <GiB>", "that training may take (default: what is available)")
    .option("--hours <n>", "that the run may take (default: 8)")
    .option("--json", "print what was found as JSON")
    .addHelpText(
      "after",
      examples("advise --env office", "advise agent.ts --tasks tasks.jsonl --reward reward.ts --model Qwen/Qwen3-0.6B"),
    )
    .action(async (agent, flags) => {
      const { adviseCommand } = await import("./advise.ts");
      await adviseCommand(agent, flags, screen);
    });
};
