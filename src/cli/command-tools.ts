import type { Command } from "commander";
import { present } from "../core/present.ts";
import { trustRun } from "../sdk/trust.ts";
import type { Screen } from "../terminal/screen.ts";
import { resolveConfig } from "../training/config/config.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import type { EvalFlags, SettingFlag } from "./settings.ts";

export type { Command };

/** The parts that every command is given. */
export interface CommandTools {
  readonly screen: Screen;
  /** Where progress goes when the screen carries data. */
  readonly errorScreen: Screen;
  /** Sets the exit code. */
  readonly exit: (code: number) => void;
  /** Subjects of `eval` that extensions bring. */
  readonly subjects: readonly EvalSubject[];
  readonly examples: (...lines: readonly string[]) => string;
}

/** Something other than a model that `eval` measures, chosen by a flag. */
export interface EvalSubject {
  /** The flag that chooses it, then its own: each with its description. */
  readonly flags: readonly (readonly [flag: string, description: string])[];
  /** @returns the exit code */
  readonly measure: (flags: EvalFlags, output: Screen, notes: Screen) => Promise<number>;
}

/** Adds commands to the program. They are loaded when they are called: help and mistakes need no engine. */
export type AddCommands = (program: Command, tools: CommandTools) => void;

/** Flags for settings, with their defaults in the help, and those that reach all others. */
export function withSettings(command: Command, flags: readonly SettingFlag[], algorithm?: UserConfig["algorithm"]): Command {
  const defaults = resolveConfig({ algorithm });
  for (const { flag, path, description } of flags) {
    const value = path
      .split(".")
      .reduce<unknown>((parent, key) => (parent as Record<string, unknown> | undefined)?.[key], defaults);
    command.option(flag, value === undefined || value === false ? description : `${description} (default: ${String(value)})`);
  }
  return trusting(runningPython(debuggable(command)))
    .option("--config <file>", "settings (default: retrograde.config.ts, if it is there)")
    .option("--set <path=value>", "any other setting, by its path; may be repeated", repeated);
}

/** The same of commands whose runs can be continued, and have a dashboard beside them. */
export function withRunSettings(...given: Parameters<typeof withSettings>): Command {
  return withSettings(...given)
    .option("--resume", "continue the run in --out, or else the newest one that has not finished")
    .option("--allow-changed", "with --resume: continue over tasks, data or code that have changed since the run began")
    .option("--no-dashboard", "do not start the dashboard beside it");
}

/** Returns a command that was added before, for commands below it. */
export function commandNamed(program: Command, name: string): Command {
  return present(
    program.commands.find((command) => command.name() === name),
    `the command ${name}`,
  );
}

/** Adds the option that every command has. */
export function debuggable(command: Command): Command {
  return command.option("--debug", "show where an error comes from");
}

/** Adds the option of commands that obey the settings of a record. */
export function trusting(command: Command): Command {
  return command
    .option("--trust", "let a run, evaluation or model from elsewhere start programs, connect and send keys as its settings say")
    .hook("preAction", (_, action) => {
      if (action.opts().trust === true) trustRun();
    });
}

/** Adds the option of commands that may run Python code of a model. The tool reads it from the environment. */
export function runningPython(command: Command): Command {
  return command
    .option("--allow-unwalled-python", "let the Python tool run where this system has no wall of its own around it")
    .hook("preAction", (_, action) => {
      if (action.opts().allowUnwalledPython === true) process.env.RETROGRADE_ALLOW_UNWALLED_PYTHON = "1";
    });
}

/** Collects an option that may be repeated. */
export function repeated(value: string, all: string[] = []): string[] {
  return [...all, value];
}
