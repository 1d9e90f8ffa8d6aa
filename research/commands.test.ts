import "../test/office.ts";
import { Command } from "commander";
import { expect, test } from "vitest";
import type { CommandTools } from "../src/cli/command-tools.ts";
import { benchmarkCommands } from "./benchmarks/cli/commands.ts";
import { labCommands } from "./lab/cli/commands.ts";
import { protocolCommands } from "./protocol/cli/commands.ts";
import { studyCommands } from "./study/cli/commands.ts";
import { tinkerServerCommands } from "./tinker-server/cli/commands.ts";

/** Options that commands of other parts have too, and test there. */
const others =
  /^ +--(?:debug|allow-unwalled-python|trust|config|set|env|split|tasks|k|temperature|seed|endpoint|device|model) .*\n/gm;

/** The help of a command as it is printed, with single spaces. */
function helpOf(...words: readonly string[]): string {
  const program = new Command("npm run research --");
  const examples = (...lines: readonly string[]) => `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`;
  const tools = { screen: {}, errorScreen: {}, exit: () => {}, examples, subjects: {} } as unknown as CommandTools;
  for (const add of [benchmarkCommands, labCommands, protocolCommands, studyCommands, tinkerServerCommands]) add(program, tools);
  let found: Command = program;
  for (const word of words) {
    const next = found.commands.find((each) => each.name() === word);
    if (next === undefined) throw new Error(`no command ${word}`);
    found = next;
  }
  let text = "";
  found.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 1000 }).outputHelp();
  return words[0] === "protocol" ? text.replaceAll(others, "").replaceAll(/ {2,}/g, "  ") : text;
}

test("the commands", () => {
  expect(helpOf()).toMatchInlineSnapshot(`
    "Usage: npm run research -- [options] [command]

    Options:
      -h, --help                      display help for command

    Commands:
      replay [options] <name> <file>  execute call sequences of a benchmark
      score [options] <name> <file>   score predictions of a benchmark
      data [options] <name>           download a benchmark's data
      lab [options]                   run the theory: which combinations converge
      protocol                        a measurement that any program can make
      study [options] <name>          repeat runs of the study of SeeUPO, or its tables
      serve-tinker [options]          serve the engine of this machine over the Tinker interface
      help [command]                  display help for command
    "
  `);
});

test("help of replay", () => {
  expect(helpOf("replay")).toMatchInlineSnapshot(`
    "Usage: npm run research -- replay [options] <name> <file>

    Executes the tool calls of a JSONL file and prints results and final states as lines of JSON.

    Arguments:
      name        the benchmark: bfcl
      file        a JSONL file, one call sequence a line; .gz is unpacked

    Options:
      --debug     show where an error comes from
      -h, --help  display help for command

    Examples:
      $ replay bfcl sequences.jsonl
    "
  `);
});

test("help of score", () => {
  expect(helpOf("score")).toMatchInlineSnapshot(`
    "Usage: npm run research -- score [options] <name> <file>

    Scores predictions in a JSONL file and prints the verdicts as lines of JSON.

    Arguments:
      name                        the benchmark: bfcl, aime24, aime25, math500, gsm8k, math, webwalker, hotpotqa, 2wiki, musique, bamboogle, gaia, hle, xbench, simpleqa, or arpo-reward
      file                        a JSONL file, one prediction a line; .gz is unpacked. Of questions also the folder of an evaluation

    Options:
      --debug                     show where an error comes from
      --judge-endpoint <url>      of questions: a server of the chat-completions protocol that decides which answers are right
      --judge-model <name>        the judge's model there
      --judge-key-env <variable>  the environment variable with its API key
      --judge-concurrency <n>     answers that it is asked about at a time (default: 8)
      --judge-request <json>      fields of its requests; null leaves one out: {"temperature": null}
      --data <folder>             the folder with the benchmark's data (default: the one that \`data\` downloads to)
      --any-version               of questions: read a file of another version than the known ones too
      -h, --help                  display help for command

    Examples:
      $ score bfcl predictions.jsonl --data bfcl-data
    "
  `);
});

test("help of data", () => {
  expect(helpOf("data")).toMatchInlineSnapshot(`
    "Usage: npm run research -- data [options] <name>

    Downloads tasks at a pinned revision and verifies them. GAIA and HLE need a token in HF_TOKEN of an account that has
    accepted their terms.

    Arguments:
      name              the benchmark: bfcl, aime24, aime25, math500, gsm8k, math, webwalker, hotpotqa, 2wiki, musique, bamboogle, gaia, hle, xbench, simpleqa

    Options:
      --debug           show where an error comes from
      --data <folder>   where to put it (default: the user's cache)
      --from <address>  another address with the same files
      -h, --help        display help for command

    Examples:
      $ data bfcl
      $ data hotpotqa
      $ data hle
    "
  `);
});

test("help of lab", () => {
  expect(helpOf("lab")).toMatchInlineSnapshot(`
    "Usage: npm run research -- lab [options]

    Runs every combination of advantage, update, level, order and M on small exact problems: does J ever fall, does it reach
    the optimum, and what is the smallest counter-example?

    Options:
      --debug            show where an error comes from
      --json             print every cell with its verdict as JSON, and nothing else
      --full             one to three turns, more problems and updates: a quarter of an hour or more
      --cell <id>        one cell alone, with the verdict that it has in the whole grid
      --seed <n>         decides all that is random (default: 0)
      --turns <list>     numbers of turns, such as 1,2,3 (default: 1,2)
      --contexts <list>  numbers of contexts; their rewards are of scale 1, 1/10, 1/100 (default: 1,2)
      --actions <n>      actions of a turn: vocabulary to the power of --tokens (default: 4)
      --tokens <n>       tokens of an action (default: 2)
      --answers <n>      different answers of the environment after a turn; 1: none (default: 2)
      --problems <n>     random problems of each size (default: 8)
      --updates <n>      updates of each problem (default: 60)
      --group-size <n>   members of a sampled group (default: 4)
      --clip <x>         the clip range is [1 − x, 1 + x] (default: 0.2)
      --eta <x>          weight of E[M·A] against the KL drift (default: 1)
      --delta <x>        the trust region: most nats of KL (default: 0.02)
      --carry-clip <x>   the clipped M is held in [1 − x, 1 + x] (default: 0.2)
      --steps <n>        gradient steps of a turn update (default: 4)
      --step-size <x>    of one gradient step (default: 0.5)
      --ratio <kind>     of several tokens, for gradient steps: normalised or plain (default: normalised)
      --floor <x>        the maximiser keeps probabilities of K choices above x/K (default: 0.001)
      -h, --help         display help for command

    Examples:
      $ lab
      $ lab --json
      $ lab --cell grae.ppu.turn.reverse.m-exact.history.maximise.exact
      $ lab --turns 1,2,3
    "
  `);
});

test("help of protocol make", () => {
  expect(helpOf("protocol", "make")).toMatchInlineSnapshot(`
    "Usage: npm run research -- protocol make [options] [tasks]

    Of a file of JSON lines, {"id", "prompt" or "messages", "answer"}, scored by comparing texts; or of an environment, which scores.

    Arguments:
      tasks  the file; an environment if left out

    Options:
      --out <file>  the protocol, as JSON
      --name <name>  of the protocol (default: that of the file, or of the environment)
      --source <text>  where the tasks are from, for people (default: "")
      --ignore <list>  of answers: case, spaces (default: "")
      --differing <share>  of tasks on which two players are assumed to differ, for the smallest difference (default: "0.2")
      -h, --help  display help for command

    Examples:
      $ protocol make tasks.jsonl --ignore case --out names.protocol.json
      $ protocol make --env office --out office.protocol.json
    "
  `);
});

test("help of protocol run", () => {
  expect(helpOf("protocol", "run")).toMatchInlineSnapshot(`
    "Usage: npm run research -- protocol run [options] <protocol>

    Plays it with a model of this machine or, with --endpoint, of a server, and writes a result file.

    Arguments:
      protocol  the file

    Options:
      --threads <n>  CPU threads (default: 2)
      --out <file>  the results, as JSON lines; episodes go to the folder of that name
      --resume  continue
      -h, --help  display help for command

    Examples:
      $ protocol run names.protocol.json --model runs/names-1 --out after.jsonl
    "
  `);
});

test("help of protocol compare", () => {
  expect(helpOf("protocol", "compare")).toMatchInlineSnapshot(`
    "Usage: npm run research -- protocol compare [options] <protocol> <results...>

    Pairs the attempts of result files, second minus first. With several pairs, such as training seeds, over all of them.

    Arguments:
      protocol  the file
      results  two result files, or more pairs: BEFORE AFTER BEFORE AFTER

    Options:
      --json  print the comparison as JSON
      -h, --help  display help for command

    Examples:
      $ protocol compare names.protocol.json before.jsonl after.jsonl
    "
  `);
});

test("help of study", () => {
  expect(helpOf("study")).toMatchInlineSnapshot(`
    "Usage: npm run research -- study [options] <name>

    Makes the runs of a study that are missing, and prints its differences with intervals. Finished runs are kept, so the
    same command continues.

    Arguments:
      name               the study: seeupo

    Options:
      --debug            show where an error comes from
      --dry-run          print the runs and the estimated hours; start nothing
      --report           print the differences of the runs that are there; start nothing
      --question <name>  the runs and differences of this question alone
      --arms <list>      these arms of the plan alone
      --seeds <n>        the first seeds of the plan alone
      --out <folder>     where results are kept (default: those that are published)
      -h, --help         display help for command

    Examples:
      $ study seeupo --report
      $ study seeupo --question office-rate --arms seeupo,grpo --seeds 2 --out mine
      $ study seeupo --dry-run --out mine
    "
  `);
});

test("help of serve-tinker", () => {
  expect(helpOf("serve-tinker")).toMatchInlineSnapshot(`
    "Usage: npm run research -- serve-tinker [options]

    Serves the Tinker interface over the engine of this machine, for programs of its Python SDK.

    Options:
      --debug                show where an error comes from
      --trust                let a run, evaluation or model from elsewhere start programs, connect and send keys as its settings say
      --model <name=folder>  a base model: a folder or a name on the Hub, with the name that clients use; may be repeated
      --port <n>             0 takes any free one (default: 8765)
      --store <folder>       where checkpoints are written (default: tinker-store)
      --threads <n>          threads of a computation (default: all cores)
      -h, --help             display help for command

    Examples:
      $ serve-tinker --port 8765 --model small=./models/small --model Qwen/Qwen3-0.6B
    "
  `);
});
