import { type AddCommands, debuggable, withSettings } from "../../../src/cli/command-tools.ts";
import { measureFlags, playerFlags } from "./flags.ts";

/** Adds `protocol make`, `protocol run` and `protocol compare`. */
export const protocolCommands: AddCommands = (program, { screen, exit, examples }) => {
  const protocol = program
    .command("protocol")
    .summary("a measurement that any program can make")
    .description("Files that say everything of a measurement but the player, and results that other programs can fill.");
  withSettings(protocol.command("make"), measureFlags)
    .summary("write a protocol")
    .description(
      'Of a file of JSON lines, {"id", "prompt" or "messages", "answer"}, scored by comparing texts; or of an environment, which scores.',
    )
    .argument("[tasks]", "the file; an environment if left out")
    .requiredOption("--out <file>", "the protocol, as JSON")
    .option("--name <name>", "of the protocol (default: that of the file, or of the environment)")
    .option("--source <text>", "where the tasks are from, for people", "")
    .option("--ignore <list>", "of answers: case, spaces", "")
    .option("--differing <share>", "of tasks on which two players are assumed to differ, for the smallest difference", "0.2")
    .addHelpText(
      "after",
      examples(
        "protocol make tasks.jsonl --ignore case --out names.protocol.json",
        "protocol make --env office --out office.protocol.json",
      ),
    )
    .action(async (tasks, flags) => {
      const { makeCommand } = await import("./make.ts");
      await makeCommand(tasks, flags, screen);
    });
  withSettings(protocol.command("run"), playerFlags)
    .summary("play a protocol")
    .description("Plays it with a model of this machine or, with --endpoint, of a server, and writes a result file.")
    .argument("<protocol>", "the file")
    .requiredOption("--out <file>", "the results, as JSON lines; episodes go to the folder of that name")
    .option("--resume", "continue")
    .addHelpText("after", examples("protocol run names.protocol.json --model runs/names-1 --out after.jsonl"))
    .action(async (file, flags) => {
      const { runCommand } = await import("./run.ts");
      exit(await runCommand(file, flags, screen));
    });
  debuggable(protocol.command("compare"))
    .summary("compare results, task by task")
    .description(
      "Pairs the attempts of result files, second minus first. With several pairs, such as training seeds, over all of them.",
    )
    .argument("<protocol>", "the file")
    .argument("<results...>", "two result files, or more pairs: BEFORE AFTER BEFORE AFTER")
    .option("--json", "print the comparison as JSON")
    .addHelpText("after", examples("protocol compare names.protocol.json before.jsonl after.jsonl"))
    .action(async (file, results, flags) => {
      const { compareCommand } = await import("./compare.ts");
      exit(compareCommand(file, results, flags, screen));
    });
};
