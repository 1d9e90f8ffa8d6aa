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
    .option("--import <name=folder>", "weights that clients load as tinker://import/weights/NAME; may be repeated", repeated)
    .option("--port <n>", "0 takes any free one (default: 8765)")
    .option("--host <address>", "others than this machine reach it only with a key (default: 127.0.0.1)")
    .option("--key <key>", "a key that clients must send; may be repeated. RETROGRADE_SERVER_KEY is one too", repeated)
    .option("--store <folder>", "where checkpoints are written (default: tinker-store)")
    .option("--threads <n>", "threads of a computation (default: all cores)")
    .option("--max-models <n>", "models in memory at once (default: 8)")
    .option("--max-samplers <n>", "samplers in memory at once; others are read from the store when they are used (default: 8)")
    .option("--memory <GiB>", "memory of all models together (default: 0.8 of what is free)")
    .option("--max-queue <n>", "requests that may wait; beyond them clients are asked to come back (default: 1024)")
    .option("--max-results <MiB>", "results that wait to be fetched; beyond it the oldest go (default: 512)")
    .option("--max-body <MiB>", "size of one request (default: 64)")
    .option("--max-connections <n>", "open connections; three quarters of them for one address (default: 1024)")
    .option("--request-timeout <s>", "time in which a request must have arrived whole (default: 300)")
    .option("--max-sessions <n>", "sessions at a time (default: 1024)")
    .option("--session-timeout <s>", "a client that is silent for so long loses its models (default: 300)")
    .option("--verbose", "print a line for each request")
    .addHelpText("after", examples("serve-tinker --port 8765 --model small=./models/small --model Qwen/Qwen3-0.6B"))
    .action(async (flags) => {
      const { serveTinkerCommand } = await import("./serve.ts");
      exit(await serveTinkerCommand(flags, screen));
    });
};
