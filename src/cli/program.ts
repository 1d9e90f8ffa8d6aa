import { Command, CommanderError, Option } from "commander";
import { ConfigError, RetrogradeError } from "../core/errors.ts";
import { packageVersion } from "../runs/write.ts";
import { resolveConfig, type UserConfig } from "../training/config.ts";
import { commandPrefix } from "./invocation.ts";
import { addPlanCommand } from "./plan-command.ts";
import { printable, printableLine } from "./printable.ts";
import { addRunCommands } from "./run-commands.ts";
import { createScreen, type TextStream } from "./screen.ts";
import {
  chatFlags,
  doctorFlags,
  environmentCheckFlags,
  evaluationFlags,
  type SettingFlag,
  supervisedFlags,
  trainFlags,
} from "./settings.ts";

const questionBenchmarks =
  "aime24, aime25, math500, gsm8k, math, webwalker, hotpotqa, 2wiki, musique, bamboogle, gaia, hle, xbench, simpleqa";

/**
 * The command line.
 * @param args without the program's name
 * @returns the exit code: 0; 1 where something failed; 2 where the invocation or a setting is wrong; 130 after Ctrl-C
 */
export async function main(args: readonly string[], output: TextStream, errors: TextStream): Promise<number> {
  let exitCode = 0;
  const program = retrograde(output, errors, (code) => {
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
  ENAMETOOLONG: "Choose a shorter name.",
  EMFILE: "Too many files are open: raise the limit (ulimit -n).",
};

/** Commands are loaded when they are called: help and mistakes need no engine. */
function retrograde(output: TextStream, errors: TextStream, exit: (code: number) => void): Command {
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

  addRunCommands(program, { screen, exit, debuggable, examples });
  addPlanCommand(program, { screen, exit, debuggable, examples });

  const repeated = (value: string, all: string[] = []) => [...all, value];
  debuggable(program.command("serve"))
    .summary("serve the engine of this machine, or an environment, to other programs")
    .description(
      "With --tinker: the Tinker interface, so that programs of its Python SDK train and sample here (docs/tinker.md).\n" +
        "With --inference: actions in token ids with their log-probs, as verifiers asks for them (POST /inference/v1/generate).\n" +
        "With --env NAME --as openenv or ors: an environment, so that other trainers use it (docs/environments/remote.md).",
    )
    .option("--inference", "serve POST /v1/chat/completions, POST /inference/v1/generate and GET /v1/models")
    .option("--env <name>", "the environment that is served")
    .option("--as <protocol>", "how it is served: openenv or ors")
    .option("--seed <n>", "decides what is random in its episodes (default: 0)")
    .option("--config <file>", "its settings (default: retrograde.config.ts, if it is there)")
    .option("--set <path=value>", "any setting of the environment and its rollouts, by its path; may be repeated", repeated)
    .option("--tinker", "serve the Tinker interface")
    .option(
      "--model <name=folder>",
      "a base model: a folder or a name on the Hub, with the name that clients use; may be repeated",
      repeated,
    )
    .option("--import <name=folder>", "weights that clients load as tinker://import/weights/NAME; may be repeated", repeated)
    .option("--port <n>", "0 takes any free one (default: 8765, an environment's 8766)")
    .option("--host <address>", "others than this machine reach it only with a key (default: 127.0.0.1)")
    .option("--key <key>", "a key that clients must send; may be repeated. RETROGRADE_SERVER_KEY is one too", repeated)
    .option("--store <folder>", "where checkpoints are written (default: tinker-store)")
    .option("--threads <n>", "threads of a computation (default: all cores)")
    .option("--max-models <n>", "models in memory at once (default: 8)")
    .option("--max-samplers <n>", "samplers in memory at once; others are read from the store when they are used (default: 8)")
    .option("--memory <GiB>", "memory of all models together (default: 0.8 of what is free)")
    .option("--max-queue <n>", "requests that may wait; beyond them clients are asked to come back (default: 1024)")
    .option("--max-body <MiB>", "size of one request (default: 64, an environment's 16)")
    .option("--max-sessions <n>", "sessions of an environment at a time (default: 256)")
    .option(
      "--session-timeout <s>",
      "a client that is silent for so long loses its models (default: 300), or its session of an environment (default: 900)",
    )
    .option("--verbose", "print a line for each request")
    .addHelpText(
      "after",
      examples(
        "serve --tinker",
        "serve --tinker --port 8765 --model small=./models/small --model Qwen/Qwen3-0.6B",
        "serve --env office --as openenv",
      ),
    )
    .action(async (flags) => {
      const { serveCommand } = await import("./commands/serve.ts");
      exit(await serveCommand(flags, screen));
    });

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

  debuggable(program.command("replay"))
    .summary("execute call sequences of a benchmark")
    .description(
      "Executes the tool calls of a JSONL file and prints results and final states as lines of JSON (docs/environments/bfcl.md).",
    )
    .argument("<name>", "the benchmark: bfcl")
    .argument("<file>", "a JSONL file, one call sequence a line; .gz is unpacked")
    .addHelpText("after", examples("replay bfcl sequences.jsonl"))
    .action(async (name, file, flags) => {
      const { replayCommand } = await import("./commands/benchmarks.ts");
      exit(await replayCommand(name, file, flags, screen, createScreen(errors)));
    });

  debuggable(program.command("score"))
    .summary("score predictions of a benchmark")
    .description("Scores predictions that were made anywhere and prints the verdicts as lines of JSON.")
    .argument("<name>", `the benchmark: bfcl, ${questionBenchmarks}, or arpo-reward`)
    .argument("<file>", "a JSONL file, one prediction a line; .gz is unpacked")
    .option("--data <folder>", "the folder with the benchmark's data (default: the one that `data` downloads to)")
    .option("--math <kind>", "of mathematics: rules, the published code's, or symbolic (default: rules)")
    .option("--any-version", "of questions: read a file of another version than the known ones too")
    .option("--judge-endpoint <url>", "of questions: a server of the chat-completions protocol that decides what is right")
    .option("--judge-model <name>", "the judge's model there")
    .option("--judge-key-env <variable>", "the environment variable with its API key")
    .option("--judge-concurrency <n>", "answers that it is asked about at a time (default: 8)")
    .addHelpText("after", examples("score bfcl predictions.jsonl --data bfcl-data"))
    .action(async (name, file, flags) => {
      const { scoreCommand } = await import("./commands/benchmarks.ts");
      exit(await scoreCommand(name, file, flags, screen, createScreen(errors)));
    });

  const data = program.command("data");
  debuggable(data)
    .summary("download a benchmark's data")
    .description(
      "Downloads tasks from their public source at a pinned revision, and verifies their checksums. GAIA and HLE need a token in HF_TOKEN\n" +
        "of an account that has accepted their terms.",
    )
    .argument("<name>", `the benchmark: bfcl, ${questionBenchmarks}`)
    .option("--data <folder>", "where to put it (default: the user's cache)")
    .option("--source <name>", "of questions: arpo, the files of ARPO's evaluation, or hub, the whole data set of its authors")
    .option("--from <address>", "another address with the same files")
    .addHelpText("after", examples("data bfcl", "data hotpotqa", "data hle"))
    .action(async (name, flags) => {
      const { dataCommand } = await import("./commands/benchmarks.ts");
      exit(await dataCommand(name, flags, screen));
    });
  debuggable(data.command("check"))
    .summary("look for a benchmark's questions in training data")
    .description(
      "Reports which questions of benchmarks are in training data: the same up to case and punctuation, or by sequences of words.",
    )
    .requiredOption("--train <files...>", "training data: .jsonl, .jsonl.gz or .parquet with questions")
    .option("--against <names...>", "benchmarks (default: all whose files are there)")
    .option("--data <folder>", "the folder with the benchmarks' files (default: the one that `data` downloads to)")
    .option("--ngram <n>", "words of a sequence (default: 8)")
    .option("--json", "print the report as JSON, with all places")
    .addHelpText("after", examples("data check --train train_10k.parquet --against hotpotqa simpleqa"))
    .action(async (_flags, command) => {
      const { dataCheckCommand } = await import("./commands/data-check.ts");
      // --data is a flag of `data` too, which reads it first.
      exit(await dataCheckCommand(command.optsWithGlobals(), screen));
    });

  const env = program.command("env").summary("look at an environment").description("Commands about environments.");
  withSettings(env.command("check"), environmentCheckFlags)
    .summary("what an environment asks for, and what it gives away")
    .description(
      "Measures success of the scripted expert, of policies that understand nothing and of the model before training; what each behaviour is worth;\n" +
        "how much of the other splits' texts training has; how many groups of a training step would have a signal; and copying by place.",
    )
    .argument("[name]", "the environment; that of the configuration file if left out")
    .option("--no-sampling", "measure no model")
    .option("--training-tasks <n>", "tasks of the training stream whose texts are compared (default: 2000)")
    .option("--json", "print the report as JSON")
    .addHelpText("after", examples("env check office", "env check knowledge --no-sampling", "env check --config my.config.ts"))
    .action(async (name, flags) => {
      const { environmentCheckCommand } = await import("./commands/env-check.ts");
      await environmentCheckCommand(name, flags, screen);
    });

  debuggable(program.command("lab"))
    .summary("run the theory: which combinations converge")
    .description(
      "Runs every combination of advantage, update, level, order and M on small problems with exact expectations, and tells for each whether\n" +
        "J ever falls, whether it reaches the optimum, and the smallest counter-example (docs/lab.md).",
    )
    .option("--json", "print every cell with its verdict as JSON, and nothing else")
    .option("--full", "one to three turns, more problems and updates, a longer search: a quarter of an hour or more")
    .option("--cell <id>", "one cell alone, with the verdict that it has in the whole grid")
    .addOption(new Option("--half <file>").hideHelp())
    .option("--svg <folder>", "write plots there: curves.svg, and of the whole grid grid.svg")
    .option("--seed <n>", "decides all that is random (default: 0)")
    .option("--turns <list>", "numbers of turns, such as 1,2,3 (default: 1,2)")
    .option("--contexts <list>", "numbers of contexts; their rewards are of scale 1, 1/10, 1/100 (default: 1,2)")
    .option("--actions <n>", "actions of a turn: vocabulary to the power of --tokens (default: 4)")
    .option("--tokens <n>", "tokens of an action (default: 2)")
    .option("--answers <n>", "different answers of the environment after a turn; 1: none (default: 2)")
    .option("--problems <n>", "random problems of each size (default: 8)")
    .option("--updates <n>", "updates of each problem (default: 60)")
    .option("--group-size <n>", "members of a sampled group (default: 4)")
    .option("--clip <x>", "the clip range is [1 − x, 1 + x] (default: 0.2)")
    .option("--carry-clip <x>", "the clipped M is held in [1 − x, 1 + x] (default: 0.2)")
    .option("--steps <n>", "gradient steps of a visit (default: 4)")
    .option("--step-size <x>", "of one gradient step (default: 0.5)")
    .option("--ratio <kind>", "of several tokens, for gradient steps: normalised or plain (default: normalised)")
    .option("--floor <x>", "the maximiser keeps probabilities of K choices above x/K (default: 0.001)")
    .addHelpText(
      "after",
      examples(
        "lab",
        "lab --json",
        "lab --cell grae.ppu.turn.reverse.m-exact.history.maximise.exact",
        "lab --turns 1,2,3 --svg plots",
      ),
    )
    .action(async (flags) => {
      const { labCommand } = await import("./commands/lab.ts");
      await labCommand(flags, screen, flags.json === true ? createScreen(errors) : screen);
    });

  debuggable(program.command("study"))
    .summary("run an experiment of several arms, rates and seeds")
    .description(
      "Does what is left of a study: tunes every arm on validation tasks, trains it with the reported seeds, and writes table, figures and page.\n" +
        "A study is a file in studies/. Finished runs are kept as small files; the same command continues what was interrupted.",
    )
    .argument("<name>", "its name in studies/, or its file")
    .option("--dry-run", "print arms, runs and the estimated hours; start nothing")
    .option("--report", "write table, figures and page from the runs that are there; start nothing")
    .option("--jobs <n>", "runs at a time, each a process of its own (default: 1)")
    .option("--worlds <list>", "these worlds of the plan alone")
    .option("--arms <list>", "these arms of the plan alone")
    .option("--rates <list>", "these learning rates of the plan alone")
    .option("--tuning-seeds <n>", "the first tuning seeds of the plan alone")
    .option("--seeds <n>", "the first reported seeds of the plan alone")
    .option("--out <folder>", "where results are kept (default: beside the study's file, in a folder of its name)")
    .option("--keep", "keep the folders of the runs, with trajectories and models")
    .addOption(new Option("--run <id>").hideHelp())
    .addHelpText("after", examples("study seeupo --dry-run", "study seeupo --jobs 2 --worlds w0", "study seeupo --report"))
    .action(async (name, flags) => {
      const { studyCommand } = await import("./commands/study.ts");
      exit(await studyCommand(name, flags, screen));
    });

  program.addHelpText("after", examples("train", "chat", "train --help"));
  return program;
}

/** Flags for settings, with their defaults in the help, and those that reach all others. */
function withSettings(command: Command, flags: readonly SettingFlag[], algorithm?: UserConfig["algorithm"]): Command {
  const defaults = resolveConfig({ algorithm });
  for (const { flag, path, description } of flags) {
    const value = path
      .split(".")
      .reduce<unknown>((parent, key) => (parent as Record<string, unknown> | undefined)?.[key], defaults);
    command.option(flag, value === undefined || value === false ? description : `${description} (default: ${String(value)})`);
  }
  return debuggable(command)
    .option("--config <file>", "settings (default: retrograde.config.ts, if it is there)")
    .option("--set <path=value>", "any other setting, by its path; may be repeated", (value, all: string[] = []) => [
      ...all,
      value,
    ]);
}

function debuggable(command: Command): Command {
  return command.option("--debug", "show where an error comes from");
}
