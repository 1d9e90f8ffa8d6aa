import { type AddCommands, withSettings } from "../../../src/cli/command-tools.ts";
import { environmentCheckFlags } from "../../../src/cli/settings.ts";

/** Adds the commands about environments. */
export const checkCommands: AddCommands = (program, { screen, exit, examples }) => {
  const env = program.command("env").summary("look at an environment").description("Commands about environments.");
  withSettings(env.command("check"), environmentCheckFlags)
    .summary("what an environment asks for, and what it gives away")
    .description(
      "Measures success of the scripted expert, of policies that understand nothing and of the model before training; what constant answers are worth;\n" +
        "how much of the other splits' texts training has; how many groups of a training step would have a signal; and copying by place.",
    )
    .argument("[name]", "the environment; that of the configuration file if left out")
    .option("--no-sampling", "measure no model")
    .option("--training-tasks <n>", "tasks of the training stream whose texts are compared (default: 2000)")
    .option("--json", "print the report as JSON")
    .addHelpText("after", examples("env check office", "env check knowledge --no-sampling", "env check --config my.config.ts"))
    .action(async (name, flags) => {
      const { environmentCheckCommand } = await import("./env-check.ts");
      exit(await environmentCheckCommand(name, flags, screen));
    });
};
