import { Command } from "commander";
import { expect, test } from "vitest";
import { createScreen } from "../../src/terminal/screen.ts";
import { completionCommands } from "./completion.ts";

function linesOf(shell: string): string[] {
  const lines: string[] = [];
  const screen = { ...createScreen({ write: () => {} }), line: (text: string) => void lines.push(text) };
  const program = new Command("retrograde-rl").exitOverride().configureOutput({ writeErr: () => {} });
  program.command("train").summary("trains").option("--steps <n>", "number of\nsteps").option("-q", "quiet");
  const runs = program.command("runs").summary("the runs' list");
  runs.command("show <folder>").summary("shows one").option("-j, --json", "as JSON");
  completionCommands(program, { screen, errorScreen: screen, subjects: [], exit: () => {}, examples: (text) => `${text}` });
  program.parse(["completion", shell], { from: "user" });
  return lines;
}

const bash = `_retrograde_rl() {
  local at="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ " train runs runs/show " == *" \${at:+$at/}$word "* ]] && at="\${at:+$at/}$word"
  done
  case "\${at//\\// }" in
    "") words="train runs --help" ;;
    "train") words="--steps --help" ;;
    "runs") words="show --help" ;;
    "runs show") words="--json --help" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o bashdefault -o default -F _retrograde_rl retrograde-rl`.split("\n");

test("bash has the words that may follow each command, and zsh takes them from it", () => {
  expect(linesOf("bash")).toEqual(bash);
  expect(linesOf("zsh")).toEqual(["autoload -U +X compinit bashcompinit && compinit && bashcompinit", ...bash]);
});

test("fish has a line for each command and long option, with the first line of its text", () => {
  const line = (when: string, rest: string, text: string) => `complete -c retrograde-rl -n '${when}' ${rest} -d '${text}'`;
  const [top, train, runs] = ["__fish_use_subcommand", "__fish_seen_subcommand_from train", "__fish_seen_subcommand_from runs"];
  const show = `${runs}; and __fish_seen_subcommand_from show`;
  expect(linesOf("fish")).toEqual([
    line(top, "-a train", "trains"),
    line(top, "-a runs", "the runs’ list"),
    line(top, "-l help", "display help for command"),
    line(train, "-l steps", "number of"),
    line(train, "-l help", "display help for command"),
    line(runs, "-a show", "shows one"),
    line(runs, "-l help", "display help for command"),
    line(show, "-l json", "as JSON"),
    line(show, "-l help", "display help for command"),
  ]);
});

test("another shell is refused with those that are known", () => {
  expect(() => linesOf("cmd")).toThrow(
    expect.objectContaining({ message: "error: cmd is no shell that is known: bash, zsh, fish", exitCode: 1 }),
  );
});
