import { type AddCommands, debuggable } from "../../../src/cli/command-tools.ts";
import { judged } from "./judge-flags.ts";

const questionBenchmarks =
  "aime24, aime25, math500, gsm8k, math, webwalker, hotpotqa, 2wiki, musique, bamboogle, gaia, hle, xbench, simpleqa";

/** Adds the commands for published benchmarks' data and scores. */
export const benchmarkCommands: AddCommands = (program, { screen, errorScreen, exit, examples }) => {
  debuggable(program.command("replay"))
    .summary("execute call sequences of a benchmark")
    .description("Executes the tool calls of a JSONL file and prints results and final states as lines of JSON.")
    .argument("<name>", "the benchmark: bfcl")
    .argument("<file>", "a JSONL file, one call sequence a line; .gz is unpacked")
    .addHelpText("after", examples("replay bfcl sequences.jsonl"))
    .action(async (name, file, flags) => {
      const { replayCommand } = await import("./benchmarks.ts");
      exit(await replayCommand(name, file, flags, screen, errorScreen));
    });

  judged(debuggable(program.command("score")))
    .summary("score predictions of a benchmark")
    .description("Scores predictions in a JSONL file and prints the verdicts as lines of JSON.")
    .argument("<name>", `the benchmark: bfcl, ${questionBenchmarks}, or arpo-reward`)
    .argument("<file>", "a JSONL file, one prediction a line; .gz is unpacked. Of questions also the folder of an evaluation")
    .option("--data <folder>", "the folder with the benchmark's data (default: the one that `data` downloads to)")
    .option("--any-version", "of questions: read a file of another version than the known ones too")
    .addHelpText("after", examples("score bfcl predictions.jsonl --data bfcl-data"))
    .action(async (name, file, flags) => {
      const { scoreCommand } = await import("./benchmarks.ts");
      exit(await scoreCommand(name, file, flags, screen, errorScreen));
    });

  debuggable(program.command("data"))
    .summary("download a benchmark's data")
    .description(
      "Downloads tasks at a pinned revision and verifies them. GAIA and HLE need a token in HF_TOKEN of an account that has\n" +
        "accepted their terms.",
    )
    .argument("<name>", `the benchmark: bfcl, ${questionBenchmarks}`)
    .option("--data <folder>", "where to put it (default: the user's cache)")
    .option("--from <address>", "another address with the same files")
    .addHelpText("after", examples("data bfcl", "data hotpotqa", "data hle"))
    .action(async (name, flags) => {
      const { dataCommand } = await import("./benchmarks.ts");
      exit(await dataCommand(name, flags, screen));
    });
};
