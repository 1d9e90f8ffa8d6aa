import { type AddCommands, debuggable, repeated, trusting } from "../../../src/cli/command-tools.ts";

export const tinkerServerCommands: AddCommands = (program, { screen, exit, examples }) => {
  trusting(debuggable(program.command("serve-tinker")))
    .summary("serve the engine of this machine over the Tinker interface")
    .description("Serves the Tinker interface over the engine of this machine, for programs of its Python SDK.")
    .option(
      "--model <name=folder>",
      "a base model: a folder or a name on the Hub, with the name that clients use; may be repeated",
      repeated,
    )
    .option("--port <n>", "0 takes any free one (default: 8765)")
    .option("--store <folder>", "where checkpoints are written (default: tinker-store)")
    .option("--threads <n>", "threads of a computation (default: all cores)")
    .addHelpText("after", examples("serve-tinker --port 8765 --model small=./models/small --model Qwen/Qwen3-0.6B"))
    .action(async (flags) => {
      const { serveTinkerCommand } = await import("./serve.ts");
      exit(await serveTinkerCommand(flags, screen));
    });
};
