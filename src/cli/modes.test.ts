import { Command } from "commander";
import { expect, test } from "vitest";
import { honoured, type Mode, modesOf, pathOf, requireHonoured, withModes, written } from "./modes.ts";

/** Has a command parsed as the program does. */
function given(modes: readonly Mode[], ...words: string[]): Command {
  const command = new Command("eval").option("--endpoint <url>").option("--k <count>").option("--max-tokens <count>");
  withModes(command.option("--debug").option("--set <path>", "", "a default"), ...modes).parse(words, { from: "user" });
  return command;
}

const endpoint: Mode = { with: ["endpoint"], honours: ["k"] };
const model: Mode = { with: [], ignores: ["maxTokens"] };

test("an option that the mode does not honour is refused, naming what it stands beside", () => {
  expect(() => requireHonoured(given([endpoint], "--endpoint", "u", "--max-tokens", "3"))).toThrow(
    '--max-tokens is "3"; expected not to be given with --endpoint',
  );
  expect(() => requireHonoured(given([endpoint, model], "--max-tokens", "3"))).toThrow("expected another option that needs it");
  const both: Mode = { with: ["endpoint", "k"], honours: [] };
  expect(() => requireHonoured(given([both], "--endpoint", "u", "--k", "2", "--max-tokens", "3"))).toThrow(
    "not to be given with --endpoint and --k",
  );
});

test("what is honoured, what always holds, and a default are no mistakes; the first mode that fits holds", () => {
  for (const words of [["--endpoint", "u", "--k", "2"], ["--endpoint", "u", "--debug"], ["--k", "2", "--set", "a=1"], []])
    expect(() => requireHonoured(given([endpoint, model], ...words))).not.toThrow();
  expect(() => requireHonoured(given([], "--max-tokens", "3"))).not.toThrow();
  const anything: Mode = { with: [] };
  expect(() => requireHonoured(given([anything, endpoint], "--endpoint", "u", "--max-tokens", "3"))).not.toThrow();
  expect(modesOf(given([endpoint, model]))).toEqual([endpoint, model]);
});

test("a mode honours its own options, those it lists, and all that it does not ignore", () => {
  const names = ["endpoint", "k", "maxTokens", "allowUnwalledPython"];
  expect(names.map((name) => honoured(endpoint, name))).toEqual([true, true, false, true]);
  expect(names.map((name) => honoured(model, name))).toEqual([true, true, false, true]);
});

test("an option is written with its dashes, and a command by the words that call it", () => {
  const program = new Command("retrograde-rl");
  const show = program.command("runs").command("show");
  expect([pathOf(show), pathOf(program.command("eval"))]).toEqual(["runs show", "eval"]);
  expect(["maxTokens", "unknown"].map((name) => written(given([]), name))).toEqual(["--max-tokens", "--unknown"]);
});
