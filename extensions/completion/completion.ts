import type { Command, Option } from "commander";
import { type AddCommands, debuggable } from "../../src/cli/command-tools.ts";

/** A command by its words, and what may follow it. */
interface Place {
  readonly words: string;
  readonly subcommands: readonly Command[];
  readonly options: readonly Option[];
}

const shells = ["bash", "zsh", "fish"] as const;

/** Adds the command that completes the others: a script of the shell, made of the program's own tree. */
export const completionCommands: AddCommands = (program, { screen, examples }) => {
  debuggable(program.command("completion"))
    .summary("completion of commands and options by the shell")
    .description("Prints a script that completes commands and options with Tab. Files are completed by the shell.")
    .argument("<shell>", shells.join(", "))
    .addHelpText("after", examples("completion bash > ~/.local/share/bash-completion/completions/retrograde-rl"))
    .action((shell: string) => {
      const script = scripts[shell as (typeof shells)[number]];
      if (script === undefined) return program.error(`error: ${shell} is no shell that is known: ${shells.join(", ")}`);
      for (const line of script(placesOf(program))) screen.line(line);
    });
};

function placesOf(command: Command, words = ""): Place[] {
  const subcommands = command.commands.filter((each) => each.name() !== "completion");
  const here = { words, subcommands, options: command.createHelp().visibleOptions(command) };
  return [here, ...subcommands.flatMap((each) => placesOf(each, `${words} ${each.name()}`.trim()))];
}

const optionWords = ({ options }: Place) => options.flatMap(({ long }) => long ?? []);

function bash(places: readonly Place[]): string[] {
  const cases = places.map((place) => {
    const next = [...place.subcommands.map((each) => each.name()), ...optionWords(place)];
    return `    "${place.words}") words="${next.join(" ")}" ;;`;
  });
  const commands = places.flatMap(({ words }) => (words === "" ? [] : [words.replaceAll(" ", "/")]));
  return `_retrograde_rl() {
  local at="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ " ${commands.join(" ")} " == *" \${at:+$at/}$word "* ]] && at="\${at:+$at/}$word"
  done
  case "\${at//\\// }" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o bashdefault -o default -F _retrograde_rl retrograde-rl`.split("\n");
}

const scripts: Readonly<Record<(typeof shells)[number], (places: readonly Place[]) => string[]>> = {
  bash,
  zsh: (places) => ["autoload -U +X compinit bashcompinit && compinit && bashcompinit", ...bash(places)],
  fish: (places) =>
    places.flatMap(({ words, subcommands, options }) => {
      const seen = words.split(" ").filter(Boolean);
      const when =
        seen.length === 0 ? "__fish_use_subcommand" : seen.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
      const line = (rest: string, text: string) =>
        `complete -c retrograde-rl -n '${when}' ${rest} -d '${text.split("\n")[0]?.replaceAll("'", "’")}'`;
      return [
        ...subcommands.map((each) => line(`-a ${each.name()}`, each.summary())),
        ...options.flatMap(({ long, description }) => (long === undefined ? [] : [line(`-l ${long.slice(2)}`, description)])),
      ];
    }),
};
