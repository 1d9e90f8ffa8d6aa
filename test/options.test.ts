import { Command } from "commander";
import { expect, test } from "vitest";
import { commands as added, subjects } from "../extensions/commands.ts";
import "../extensions/engines.ts";
import "./office.ts";
import { honoured, modesOf, pathOf, written } from "../src/cli/modes.ts";
import { createScreen } from "../src/terminal/screen.ts";
import { invoke } from "./command-line.ts";

/** Every command of the program by the words that call it. */
const commands = (() => {
  const screen = createScreen({ write: () => true });
  const program = new Command("retrograde");
  const tools = { screen, errorScreen: screen, exit: () => {}, examples: () => "", subjects };
  for (const add of added) add(program, tools);
  const all = (of: Command): Command[] => [of, ...of.commands.flatMap(all)];
  return new Map(program.commands.flatMap(all).map((command) => [pathOf(command), command]));
})();

/** Arguments that a command needs, options of no meaning included. */
function call(command: Command, options: readonly string[]): string[] {
  const positional = command.registeredArguments.filter(({ required }) => required).map(() => "x");
  const needed = command.options.filter(({ mandatory }) => mandatory).map((option) => option.attributeName());
  const given = [...new Set([...needed, ...options])].flatMap((name) => {
    const option = command.options.find((each) => each.attributeName() === name);
    return [written(command, name), ...(option?.required ? ["1"] : [])];
  });
  return [...pathOf(command).split(" "), ...positional, ...given];
}

const cases = [...commands].flatMap(([path, command]) =>
  modesOf(command)
    .filter(({ ignores }) => ignores?.length !== 0)
    .map((mode) => [path, mode.with.join(" "), mode] as const),
);

test("modes name commands and options that there are", () => {
  for (const [path, , { with: starts, honours = [], ignores = [] }] of cases) {
    const names = commands.get(path)?.options.map((option) => option.attributeName()) ?? [];
    expect(names, path).toEqual(expect.arrayContaining([...starts, ...honours, ...ignores]));
  }
});

test.each(cases)("%s with “%s” refuses every option that it would ignore, before anything starts", async (path, _, mode) => {
  const command = commands.get(path) as Command;
  const earlier = modesOf(command).slice(0, modesOf(command).indexOf(mode));
  const ignored = command.options.map((option) => option.attributeName()).filter((name) => !honoured(mode, name));
  expect(ignored).not.toEqual([]);
  for (const name of ignored) {
    if (earlier.some((other) => other.with.every((start) => [...mode.with, name].includes(start)))) continue;
    const { exitCode, error } = await invoke(...call(command, [...mode.with, name]));
    expect(error, name).toMatch(new RegExp(`${written(command, name)} is .*It would be ignored, so nothing was started`, "s"));
    expect(exitCode).toBe(2);
  }
});
