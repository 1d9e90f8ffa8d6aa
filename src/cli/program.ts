import { Command, CommanderError } from "commander";
import { ConfigError, RetrogradeError } from "../core/errors.ts";
import { packageVersion } from "../runs/write.ts";
import { commandPrefix } from "../terminal/invocation.ts";
import { printable, printableLine } from "../terminal/printable.ts";
import { createScreen, type TextStream } from "../terminal/screen.ts";
import { type AddCommands, type CommandTools, debuggable, withSettings } from "./command-tools.ts";
import { addRunCommands } from "./run-commands.ts";
import { agentFlags, chatFlags, doctorFlags, evaluationFlags, supervisedFlags, trainFlags } from "./settings.ts";

/** The commands of extensions, and how their parts are loaded. */
export interface CommandExtensions {
  readonly commands: readonly AddCommands[];
  /** Adds their environments and engines, before a command runs. */
  readonly prepare: () => void | Promise<void>;
}

/**
 * The command line.
 * @param args without the program's name
 * @returns the exit code: 0; 1 where something failed; 2 where the invocation or a setting is wrong; 130 after Ctrl-C
 */
export async function main(
  args: readonly string[],
  output: TextStream,
  errors: TextStream,
  extensions: CommandExtensions,
): Promise<number> {
  let exitCode = 0;
  const program = retrograde(output, errors, extensions, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander has printed its own message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    errors.write(errorText(error, args.includes("--debug")));
    return error instanceof ConfigError ? 2 : 1;
  }
}

/** One clear message; the stack for those who ask for it. */
export function errorText(error: unknown, debug: boolean): string {
  return printable(describeError(error, debug));
}

function describeError(error: unknown, debug: boolean): string {
  if (!(error instanceof Error)) return `error: ${String(error)}\n`;
  if (debug)
    return `${error.stack ?? error.message}\n${error.cause === undefined ? "" : `caused by ${describeError(error.cause, debug)}`}`;
  if (error instanceof RetrogradeError) return `error: ${error.message}\n`;
  const next = nextSteps["code" in error ? String(error.code) : ""];
  if (next !== undefined) return `error: ${error.message}. ${next}\n`;
  return `error: ${error.message || error.name}\nThis should not have happened; --debug shows where it did.\n`;
}

/** Errors of the file system that are no mistake of the program, with the user's next step. */
const nextSteps: Readonly<Record<string, string>> = {
  ENOSPC: "The disk is full: free some space, then start again.",
  EDQUOT: "The quota of the disk is used up: free some space, then start again.",
  EACCES: "Name a file or folder that this user may use.",
  EPERM: "Name a file or folder that this user may use.",
  EROFS: "Name a folder that can be written.",
  ENOENT: "Name a file that is there, or a folder that can be written.",
  ENOTDIR: "Name a folder: a part of this path is a file.",
  EISDIR: "Name a file: this is a folder.",
  EEXIST: "Name another file or folder: this one is there.",
  ENAMETOOLONG: "Choose a shorter name.",
  EMFILE: "Too many files are open: raise the limit (ulimit -n).",
};

/** Commands are loaded when they are called: help and mistakes need no engine. */
function retrograde(
  output: TextStream,
  errors: TextStream,
  extensions: CommandExtensions,
  exit: (code: number) => void,
): Command {
  const screen = createScreen(output);
  const program = new Command("retrograde")
    .description("Trains tool-using language-model agents by reinforcement learning, on this machine.")
    .version(packageVersion())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => output.write(printableLine(text)),
      writeErr: (text) => errors.write(printableLine(text)),
      getOutHelpWidth: () => screen.width,
    })
    .showHelpAfterError("(--help tells what there is)")
    .helpCommand(false);
  const examples = (...lines: readonly string[]) =>
    ["", "Examples:", ...lines.map((line) => `  $ ${commandPrefix()} ${line}`)].join("\n");

  debuggable(program.command("init"))
    .summary("start a task of your own")
    .description("Writes a folder that runs: an environment with tools and a reward, a configuration, and a test.")
    .argument("[folder]", "a new folder", "my-task")
    .addHelpText("after", examples("init my-task"))
    .action(async (folder) => {
      const { initCommand } = await import("./commands/init.ts");
      initCommand(folder, screen);
    });

  withSettings(program.command("train"), trainFlags)
    .summary("train a model in an environment")
    .description(
      "Trains a model by reinforcement learning: it attempts tasks with real tool calls, and what led to success is made likelier.\n" +
        "Without options: the default model in the office world, by SeeUPO. Settings come from retrograde.config.ts, then from flags.",
    )
    .option("--resume", "continue the run in --out, or else the newest one that has not finished")
    .option(
      "--replay <folder>",
      "a new run under that run's configuration, with the changes that were made to it while it went on",
    )
    .option("--dry-run", "print every setting, where it is from, and what the engine lacks for it; start nothing")
    .option("--no-dashboard", "do not start the dashboard beside it")
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

  withSettings(program.command("train-agent"), agentFlags)
    .summary("train the model of an agent that exists")
    .description(
      "Trains the model that an agent calls: a module whose default export is (prompt) => answer, in any framework, or a program in\n" +
        "any language behind --, which reads its task as JSON and writes its answer. A fifth of the tasks is kept for measuring.",
    )
    .argument("<agent...>", "a module, or a program and its arguments")
    .option("--tasks <file>", "JSON lines, each an object with a prompt and what the reward needs")
    .option("--reward <file>", "a module whose default export is ({ task, answer }) => number")
    .option("--resume", "continue the run in --out, or else the newest one that has not finished")
    .option("--no-dashboard", "do not start the dashboard beside it")
    .option("--open", "open the dashboard in the browser")
    .addHelpText(
      "after",
      examples(
        "train-agent ./agent.ts --tasks tasks.jsonl --reward ./reward.ts --model Qwen/Qwen3-0.6B",
        "train-agent --tasks tasks.jsonl --reward ./reward.ts -- python agent.py",
      ),
    )
    .action(async (agent, flags) => {
      const { trainAgentCommand } = await import("./commands/train-agent.ts");
      exit(await trainAgentCommand(agent, flags, screen));
    });

  withSettings(program.command("sft"), supervisedFlags, { kind: "sft" })
    .summary("teach a model by demonstrations")
    .description(
      "Supervised fine-tuning: the model learns to say what the assistant says in conversations, tool calls included.\n" +
        "Conversations come from a JSONL file in the OpenAI chat format, or from the environment's expert.",
    )
    .option("--resume", "continue the run in --out, or else the newest one that has not finished")
    .option("--no-dashboard", "show no dashboard beside the run")
    .addHelpText(
      "after",
      examples("sft --data conversations.jsonl --model Qwen/Qwen3-0.6B", "sft --config retrograde.config.ts --steps 100"),
    )
    .action(async (flags) => {
      const { sftCommand } = await import("./commands/sft.ts");
      exit(await sftCommand(flags, screen));
    });

  withSettings(program.command("eval"), evaluationFlags)
    .summary("measure a model, compare two")
    .description(
      "Attempts tasks of a split, greedily and sampled, and reports success with 95 % intervals. Every episode is written as it ends; the folder\n" +
        "has a report as Markdown and as JSON. With --compare two models, or two evaluations, on the same tasks.",
    )
    .option("--compare <models...>", "two models, runs, or folders of evaluations: the paired difference, second minus first")
    .option(
      "--agent <file>",
      "measure an agent, as train-agent trains it, on --tasks FILE with --reward FILE; see docs/agents.md",
    )
    .option("--reward <file>", "of --agent: a module whose default export is ({ task, answer }) => number")
    .option("--resume", "continue the evaluation in --out, or else the newest one that has not finished")
    .option(
      "--judge-endpoint <url>",
      "of questions: a server of the chat-completions protocol that decides which answers are right",
    )
    .option("--judge-model <name>", "the judge's model there")
    .option("--judge-key-env <variable>", "the environment variable with its API key")
    .option("--judge-concurrency <n>", "answers that it is asked about at a time (default: 8)")
    .option("--judge-prices <list>", 'input,output prices of a million of its tokens, such as "0.4,1.6": the report has its cost')
    .option("--json", "print the report as JSON, and nothing else")
    .addHelpText(
      "after",
      examples(
        "eval",
        "eval --model runs/office-seeupo-1 --split challenge",
        "eval --tasks 64 --k 1 --temperature 0",
        "eval --compare runs/office-seeupo-1 runs/office-grpo-1",
      ),
    )
    .action(async (flags) => {
      const { evalCommand } = await import("./commands/eval.ts");
      exit(await evalCommand(flags, screen, createScreen(errors)));
    });

  withSettings(program.command("chat"), chatFlags)
    .summary("talk to a model")
    .description("You are the user: the model answers with the tools of the environment. Reads lines from a terminal or a pipe.")
    .addHelpText("after", examples("chat", "chat --model runs/office-seeupo-1 --temperature 0"))
    .action(async (flags) => {
      const { chatCommand } = await import("./commands/chat.ts");
      exit(await chatCommand(flags, screen));
    });

  const tools: CommandTools = { screen, errorScreen: createScreen(errors), exit, examples };
  addRunCommands(program, tools);

  withSettings(program.command("doctor"), doctorFlags)
    .summary("check this machine and a model")
    .description(
      "Checks Node, processor, memory, ONNX Runtime, a model (its folder, chat template, memory and sampling), and says what to do about " +
        "what is wrong.",
    )
    .option("--json", "print what was found as JSON")
    .action(async (flags) => {
      const { doctorCommand } = await import("./commands/doctor.ts");
      exit(await doctorCommand(flags, screen));
    });

  for (const add of extensions.commands) add(program, tools);
  program.hook("preAction", () => extensions.prepare());
  program.addHelpText("after", examples("train", "chat", "train --help"));
  return program;
}
