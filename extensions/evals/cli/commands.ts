import { type AddCommands, debuggable } from "../../../src/cli/command-tools.ts";

/** Adds the command that turns an evaluation of another package into a training. */
export const evalsCommands: AddCommands = (program, { screen, examples }) => {
  debuggable(program.command("import"))
    .summary("a training of another package's evaluation, or of an RFT job")
    .description(
      "Checks a job of OpenAI's reinforcement fine-tuning or a promptfoo configuration, and writes a file that trains on it.\n" +
        "Settings without a counterpart are listed.",
    )
    .argument("<kind>", "openai-rft or promptfoo")
    .argument("<files...>", "job.json train.jsonl, or promptfooconfig.yaml")
    .option("--model <name>", "the model to train", "Qwen/Qwen3-0.6B")
    .option("--out <file>", "the file to write", "train.ts")
    .addHelpText(
      "after",
      examples("import openai-rft job.json train.jsonl", "import promptfoo promptfooconfig.yaml --out train-support.ts"),
    )
    .action(async (kind, files, flags) => {
      const { importCommand } = await import("./import.ts");
      await importCommand(kind, files, flags, screen);
    });
};
