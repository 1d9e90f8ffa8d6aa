import type { Command } from "commander";
import { ConfigError } from "../core/errors.ts";

/**
 * A way in which a command works, and the options that it does not honour there. An option that is ignored would change what its numbers mean, so
 * it is refused before anything starts.
 */
export interface Mode {
  /** The options that start it, in camel case; the mode of none of the others if empty. */
  readonly with: readonly string[];
  /** The only options that it honours besides. */
  readonly honours?: readonly string[];
  /** The options that it does not honour; all others it does. */
  readonly ignores?: readonly string[];
}

const modes = new WeakMap<Command, readonly Mode[]>();

/** Says in which modes a command works: the first that fits holds. A command without any honours all of its options. */
export function withModes(command: Command, ...its: readonly Mode[]): Command {
  modes.set(command, its);
  return command;
}

export function modesOf(command: Command): readonly Mode[] {
  return modes.get(command) ?? [];
}

/** Options that hold for every mode: what is shown of errors, and permissions. */
const always: readonly string[] = ["debug", "allowUnwalledPython", "trust"];

export function written(command: Command, name: string): string {
  return command.options.find((option) => option.attributeName() === name)?.long ?? `--${name}`;
}

/** The words that call a command, without the program's name. */
export function pathOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`;
}

/** True if a mode honours an option. */
export function honoured(mode: Mode, name: string): boolean {
  if (always.includes(name) || mode.with.includes(name)) return true;
  return mode.honours === undefined ? mode.ignores?.includes(name) !== true : mode.honours.includes(name);
}

/** @throws ConfigError naming the first option on the command line that the command does not honour beside the others */
export function requireHonoured(command: Command): void {
  const given = command.options
    .map((option) => option.attributeName())
    .filter((name) => command.getOptionValueSource(name) === "cli");
  const mode = modesOf(command).find((each) => each.with.every((name) => given.includes(name)));
  const ignored = given.find((name) => mode !== undefined && !honoured(mode, name));
  if (mode === undefined || ignored === undefined) return;
  const beside = mode.with.map((name) => written(command, name));
  throw new ConfigError(written(command, ignored), command.getOptionValue(ignored), {
    expected: beside.length === 0 ? "another option that needs it" : `not to be given with ${beside.join(" and ")}`,
    hint: "It would be ignored, so nothing was started. Leave it out.",
  });
}
