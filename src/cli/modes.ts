import type { Command } from "commander";
import { ConfigError } from "../core/errors.ts";

/**
 * A way in which a command works, and the options that it does not honour there. An option that is ignored would change what its numbers mean, so
 * it is refused before anything starts.
 */
export interface Mode {
  /** The options that start it; the mode of none of the others if empty. */
  readonly with: readonly string[];
  /** The only options that it honours besides. */
  readonly honours?: readonly string[];
  /** The options that it does not honour; all others it does. */
  readonly ignores?: readonly string[];
}

const ofModels = ["config", "set", "env", "data", "endpoint", "device", "threads"];
const ofServers = ["inference", "host", "port", "key", "maxBody", "maxConnections", "requestTimeout", "verbose"];

const ofTeachers = ["demonstrations", "keep", "sftSteps", "sftLearningRate", "prices"];

const resumed: readonly Mode[] = [{ with: ["resume"], ignores: [] }];
const withoutResume: readonly Mode[] = [
  { with: ["open"], ignores: ["dashboard", "allowChanged"] },
  { with: [], ignores: ["allowChanged"] },
];

/** Options in camel case; of each command the first mode that fits holds. A command that is not here honours all of its options. */
export const modes: Record<string, readonly Mode[]> = {
  train: [
    { with: ["dryRun"], ignores: ["open", "dashboard", "allowChanged"] },
    { with: ["resume", "open"], ignores: ["replay", "dashboard"] },
    { with: ["resume"], ignores: ["replay"] },
    ...withoutResume,
  ],
  "train-agent": [
    { with: ["teacher", "open"], ignores: ["resume", "allowChanged", "dashboard"] },
    { with: ["teacher"], ignores: ["resume", "allowChanged"] },
    { with: ["resume", "open"], ignores: ["dashboard", ...ofTeachers] },
    { with: ["resume"], ignores: ofTeachers },
    { with: ["open"], ignores: ["dashboard", "allowChanged", ...ofTeachers] },
    { with: [], ignores: ["allowChanged", ...ofTeachers] },
  ],
  sft: [...resumed, { with: [], ignores: ["allowChanged"] }],
  eval: [
    { with: ["agent", "compare"], honours: ["reward", "tasks", "split", "k", "out", "json", "show"] },
    { with: ["agent"], honours: ["reward", "tasks", "split", "k", "out", "json", "show", "model", "endpoint"] },
    { with: ["compare"], honours: [...ofModels, "split", "tasks", "k", "temperature", "seed", "out", "json"] },
    { with: [], ignores: ["reward"] },
  ],
  trajectory: [
    { with: ["html"], ignores: ["json", "replay", "since", "config"] },
    { with: ["replay"], ignores: ["json", "since"] },
    { with: ["since"], ignores: ["json", "config"] },
    { with: [], ignores: ["config"] },
  ],
  "runs export": [
    { with: ["mlflow"], ignores: ["format", "out"] },
    { with: [], ignores: ["experiment"] },
  ],
  serve: [
    { with: ["inference"], honours: [...ofServers, "model", "threads"] },
    {
      with: ["env"],
      honours: [
        "as",
        "seed",
        "config",
        "set",
        ...ofServers.filter((name) => !["inference", "verbose"].includes(name)),
        "maxSessions",
        "sessionTimeout",
      ],
    },
  ],
  "env check": [{ with: ["sampling"], ignores: ["model"] }],
};

/** Options that hold for every mode. */
const always: readonly string[] = ["debug", "allowUnwalledPython"];

/** The name of an option as it is written. */
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
  const mode = modes[pathOf(command)]?.find((each) => each.with.every((name) => given.includes(name)));
  const ignored = given.find((name) => mode !== undefined && !honoured(mode, name));
  if (mode === undefined || ignored === undefined) return;
  const beside = mode.with.map((name) => written(command, name));
  throw new ConfigError(written(command, ignored), command.getOptionValue(ignored), {
    expected: beside.length === 0 ? "another option that needs it" : `not to be given with ${beside.join(" and ")}`,
    hint: "It would be ignored, so nothing was started. Leave it out.",
  });
}
