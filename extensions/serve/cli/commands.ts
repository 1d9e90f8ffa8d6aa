import { type AddCommands, debuggable, repeated, runningPython, trusting } from "../../../src/cli/command-tools.ts";
import { withModes } from "../../../src/cli/modes.ts";

const ofServers = ["host", "port", "key", "maxBody", "maxConnections", "requestTimeout"];

/** Adds the command that serves engines and environments. */
export const serveCommands: AddCommands = (program, { screen, exit, examples }) => {
  const serve = withModes(
    trusting(runningPython(debuggable(program.command("serve")))),
    { with: ["inference"], honours: [...ofServers, "verbose", "model", "threads"] },
    { with: ["env"], honours: ["as", "seed", "config", "set", ...ofServers, "maxSessions", "sessionTimeout"] },
  );
  serve
    .summary("serve the engine of this machine, or an environment, to other programs")
    .description(
      "Serves other programs. --inference: chat completions, and token ids with log-probs for verifiers. --env NAME --as openenv or " +
        "ors: an environment.",
    )
    .option("--inference", "serve POST /v1/chat/completions, POST /inference/v1/generate and GET /v1/models")
    .option("--env <name>", "the environment that is served")
    .option("--as <protocol>", "how it is served: openenv or ors")
    .option("--seed <n>", "decides what is random in its episodes (default: 0)")
    .option("--config <file>", "its settings (default: retrograde.config.ts, if it is there)")
    .option("--set <path=value>", "any setting of the environment and its rollouts, by its path; may be repeated", repeated)
    .option(
      "--model <name=folder>",
      "a base model: a folder or a name on the Hub, with the name that clients use; may be repeated",
      repeated,
    )
    .option("--port <n>", "0 takes any free one (default: 8765, an environment's 8766)")
    .option("--host <address>", "others than this machine reach it only with a key (default: 127.0.0.1)")
    .option("--key <key>", "a key that clients must send; may be repeated. RETROGRADE_SERVER_KEY is one too", repeated)
    .option("--threads <n>", "threads of a computation (default: all cores)")
    .option("--max-body <MiB>", "size of one request (default: 64, an environment's 16)")
    .option("--max-connections <n>", "open connections; three quarters of them for one address (default: 1024)")
    .option("--request-timeout <s>", "time in which a request must have arrived whole (default: 300)")
    .option("--max-sessions <n>", "sessions of an environment at a time (default: 256)")
    .option("--session-timeout <s>", "a client that is silent for so long loses its session of an environment (default: 900)")
    .option("--verbose", "print a line for each request")
    .addHelpText("after", examples("serve --inference --model small=./models/small", "serve --env office --as openenv"))
    .action(async (flags) => {
      const { serveCommand } = await import("./serve.ts");
      exit(await serveCommand(flags, screen));
    });
};
