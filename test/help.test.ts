import "./office.ts";
import { Argument, Command } from "commander";
import { expect, test } from "vitest";
import { commands as shipped, subjects } from "../extensions/commands.ts";
import { benchmarkCommands } from "../research/benchmarks/cli/commands.ts";
import { labCommands } from "../research/lab/cli/commands.ts";
import { protocolCommands } from "../research/protocol/cli/commands.ts";
import { studyCommands } from "../research/study/cli/commands.ts";
import { tinkerServerCommands } from "../research/tinker-server/cli/commands.ts";
import type { CommandTools } from "../src/cli/command-tools.ts";
import { type Mode, modesOf } from "../src/cli/modes.ts";

const research = [benchmarkCommands, labCommands, protocolCommands, studyCommands, tinkerServerCommands];

/** Every command of the program and of this repository, by its words: "runs show". */
function everyCommand(): Map<string, Command> {
  const program = new Command("retrograde-rl");
  const examples = (...lines: readonly string[]) => `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`;
  const tools = { screen: {}, errorScreen: {}, exit: () => {}, examples, subjects } as unknown as CommandTools;
  for (const add of [...shipped, ...research]) add(program, tools);
  const below = (command: Command, words: string): [string, Command][] => {
    const name = `${words} ${command.name()}`.trim();
    return [[name, command], ...command.commands.flatMap((each) => below(each, name))];
  };
  return new Map(program.commands.flatMap((command) => below(command, "")));
}
const all = everyCommand();
const names = [...all.keys()];
const commandOf = (name: string) => all.get(name) as Command;

/** The help as it is printed, with the texts around it. */
function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 1000 }).outputHelp();
  return text;
}

test("there are commands of every part", () => {
  const first = [...new Set(names.map((name) => name.split(" ")[0]))];
  expect(first.toSorted()).toMatchInlineSnapshot(`
    [
      "advise",
      "chat",
      "check",
      "completion",
      "dashboard",
      "data",
      "demo",
      "doctor",
      "env",
      "eval",
      "export",
      "init",
      "install",
      "lab",
      "protocol",
      "record",
      "replay",
      "rescore",
      "runs",
      "scan",
      "score",
      "serve",
      "serve-tinker",
      "sft",
      "study",
      "train",
      "train-agent",
      "trajectory",
    ]
  `);
});

test("the help of every command, and the options that it honours beside each other", async () => {
  const modeText = ({ with: given, honours, ignores = [] }: Mode) =>
    `with ${given.join(", ") || "none of these"}: ${honours === undefined ? `ignores ${ignores.join(", ") || "none"}` : `honours ${honours.join(", ")}`}`;
  const texts = names.toSorted().map((name) => {
    const command = commandOf(name);
    const summary = command.summary() === "" ? [] : [`summary: ${command.summary()}`];
    return [`# ${name}`, ...summary, ...modesOf(command).map(modeText), helpOf(command)].join("\n");
  });
  // As many threads as this machine has cores.
  const text = texts.join("\n").replaceAll(/(CPU threads \(default: )\d+/g, "$1the cores");
  await expect(text).toMatchFileSnapshot("golden/commands.txt");
});

test.each(names)("%s says what it is for, in a sentence, and so does each of its options", (name) => {
  const command = commandOf(name);
  expect(command.description()).toMatch(/^[A-Z`].{10,}[.:?`)]$/s);
  // The list of commands has a shorter line.
  expect(command.summary()).toMatch(/^[a-z`].{5,}[^.]$/);
  expect(
    command.options.filter(({ description, hidden }) => !hidden && !/^\S.{3,}/.test(description)).map(({ flags }) => flags),
  ).toEqual([]);
  expect(command.registeredArguments.every((argument) => argument instanceof Argument && argument.name() !== "")).toBe(true);
});

test("every argument says what it is, but for those whose command does", () => {
  const silent = names.flatMap((name) =>
    commandOf(name)
      .registeredArguments.filter(({ description }) => !/^\S.{3,}/.test(description ?? ""))
      .map((argument) => `${name} ${argument.name()}`),
  );
  expect(silent).toEqual(["scan what", "check agent", "advise agent"]);
});

/** The words of a line of a shell, without its quotes. */
const wordsOf = (line: string) => [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? "");

const examples = names.flatMap((name) =>
  [...helpOf(commandOf(name)).matchAll(/^ {2}\$ (.*)$/gm)].map(([, line = ""]) => [name, line] as const),
);

test("most commands with options have examples", () => {
  expect(new Set(examples.map(([name]) => name)).size).toBeGreaterThan(15);
});

test.each(examples)("an example of %s is understood: %s", (name, line) => {
  const words = wordsOf(line);
  expect(words.slice(0, name.split(" ").length)).toEqual(name.split(" "));
  const command = commandOf(name);
  const { unknown } = command.parseOptions(words.slice(name.split(" ").length));
  expect(unknown).toEqual([]);
});
