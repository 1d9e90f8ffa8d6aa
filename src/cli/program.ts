import { Command, CommanderError } from "commander";
import { ConfigError } from "../core/errors.ts";
import { packageVersion } from "../runs/write.ts";
import { trustRun, UntrustedError } from "../sdk/trust.ts";
import { commandPrefix } from "../terminal/invocation.ts";
import { printableLine } from "../terminal/printable.ts";
import { createScreen, type TextStream } from "../terminal/screen.ts";
import { addDefaults, type Defaults } from "../training/config/defaults.ts";
import { type StartBeside, setBeside } from "./beside.ts";
import type { AddCommands, CommandTools, EvalSubject } from "./command-tools.ts";
import { errorText } from "./error-text.ts";
import { requireHonoured } from "./modes.ts";
import { permission } from "./permission.ts";

/** The commands of the program, and how the parts of extensions are loaded. */
export interface CommandExtensions {
  /** In the order of the help. */
  readonly commands: readonly AddCommands[];
  readonly subjects: readonly EvalSubject[];
  readonly beside: StartBeside;
  /** Their defaults, which the help shows. */
  readonly defaults: Defaults;
  /** Adds their environments and engines, before a command runs. */
  readonly prepare: () => void | Promise<void>;
}

/**
 * The command line.
 * @param args without the program's name
 * @returns the exit code: 0; 1 where something failed; 2 where the invocation or a setting is wrong; 130 after Ctrl-C
 */
export async function main(
  args: readonly string[],
  output: TextStream,
  errors: TextStream,
  extensions: CommandExtensions,
): Promise<number> {
  addDefaults(extensions.defaults);
  setBeside(extensions.beside);
  let exitCode = 0;
  const program = retrograde(output, errors, extensions, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander has printed its own message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof UntrustedError) {
      const isAllowed = await allowed(error, errors);
      if (isAllowed === undefined) return 130;
      if (isAllowed) {
        trustRun(error.folder);
        return main(args, output, errors, extensions);
      }
    }
    errors.write(errorText(error, args.includes("--debug")));
    return error instanceof ConfigError ? 2 : 1;
  }
}

/** Asks whether a record from elsewhere may act. Nobody is asked where there is no terminal: then it may not. @returns undefined after Ctrl-C */
async function allowed({ folder, doing }: UntrustedError, errors: TextStream): Promise<boolean | undefined> {
  if (errors.isTTY !== true || process.stdin.isTTY !== true) return false;
  return permission(`${folder} was not made on this machine by you. It ${doing}.`, process.stdin, process.stderr);
}

/** Commands are loaded when they are called: help and mistakes need no engine. */
function retrograde(
  output: TextStream,
  errors: TextStream,
  extensions: CommandExtensions,
  exit: (code: number) => void,
): Command {
  const screen = createScreen(output);
  const program = new Command("retrograde-rl")
    .description("Trains tool-using language-model agents by reinforcement learning, on this machine.")
    .version(packageVersion())
    .enablePositionalOptions() // a flag belongs to the command that it follows: `runs --json`, `runs show FOLDER --json`
    .exitOverride()
    .configureOutput({
      writeOut: (text) => output.write(printableLine(text)),
      writeErr: (text) => errors.write(printableLine(text)),
      getOutHelpWidth: () => screen.width,
    })
    .showHelpAfterError("(--help shows what there is)")
    .helpCommand(false);
  const examples = (...lines: readonly string[]) =>
    ["", "Examples:", ...lines.map((line) => `  $ ${commandPrefix()} ${line}`)].join("\n");

  const tools: CommandTools = { screen, errorScreen: createScreen(errors), exit, examples, subjects: extensions.subjects };
  for (const add of extensions.commands) add(program, tools);
  program.hook("preAction", (_, command) => {
    requireHonoured(command);
    return extensions.prepare();
  });
  program.addHelpText("after", examples("train", "chat", "train --help"));
  return program;
}
