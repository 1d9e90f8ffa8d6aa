import { execFileSync } from "node:child_process";
import { Command } from "commander";
import { expect, test } from "vitest";
import { createScreen } from "../../src/terminal/screen.ts";
import { completionCommands } from "./completion.ts";

function script(shell: string): string {
  let text = "";
  const screen = createScreen({ write: (part: string) => (text += part) });
  const program = new Command("retrograde-rl").exitOverride().configureOutput({ writeErr: () => {} });
  program.command("train").summary("trains").option("--steps <n>", "number of steps");
  const runs = program.command("runs").summary("the runs' list");
  runs.command("show <folder>").summary("shows one").option("--json", "as JSON");
  completionCommands(program, { screen, errorScreen: screen, subjects: [], exit: () => {}, examples: () => "" });
  program.parse(["completion", shell], { from: "user" });
  return text;
}

test.each([
  ["retrograde-rl ", ["train", "runs", "--help"]],
  ["retrograde-rl tr", ["train"]],
  ["retrograde-rl train --s", ["--steps"]],
  ["retrograde-rl runs sh", ["show"]],
  ["retrograde-rl runs show some/folder --j", ["--json"]],
])("bash completes %j", (line, expected) => {
  const words = line.split(" ");
  const ask = `COMP_WORDS=(${words.map((word) => `"${word}"`).join(" ")}); COMP_CWORD=${words.length - 1}; _retrograde_rl; echo "\${COMPREPLY[*]}"`;
  const reply = execFileSync("bash", ["-c", `${script("bash")}\n${ask}`], { encoding: "utf8" });
  expect(reply.trim().split(" ")).toEqual(expected);
});

test("fish has a line for each command and option; another shell is refused", () => {
  expect(script("fish")).toContain(`complete -c retrograde-rl -n '__fish_use_subcommand' -a runs -d 'the runs’ list'`);
  expect(script("fish")).toContain("-n '__fish_seen_subcommand_from runs; and __fish_seen_subcommand_from show' -l json");
  expect(script("zsh")).toMatch(/^autoload .*bashcompinit/);
  expect(() => script("cmd")).toThrow("bash, zsh, fish");
});
