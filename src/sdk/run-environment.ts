import { existsSync } from "node:fs";
import { type Act, actsOf } from "../core/acts.ts";
import { ConfigError } from "../core/errors.ts";
import type { Environment } from "../environments/environment.ts";
import { createEnvironment, environmentActs } from "../environments/registry.ts";
import { isOwnRecord } from "../runs/files.ts";
import { layout } from "../runs/layout.ts";
import { readRun } from "../runs/read.ts";
import { isEnvironment, resolveConfig } from "../training/config/config.ts";
import { recordedEnvironment } from "../training/config/known-models.ts";
import { settingsSchema, type TrainingConfig } from "../training/config/settings.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import { isEvaluation, isOwnEvaluation, readAsked } from "../training/evaluation/folder.ts";
import { requireTrusted } from "./trust.ts";

/** Recorded as the environment of a run that learned from conversations alone. Its model may be used in any. */
export const conversationsAlone = "conversations";

/**
 * A model that is a run's folder brings the environment in which the run was trained.
 * @returns the configuration with the run's environment, if it names none itself
 * @throws ConfigError if the configuration or a flag names another one
 */
export function withRunEnvironment(user: UserConfig, flags: UserConfig = {}): UserConfig {
  const run = runOf(user, flags);
  if (run === undefined) return user;
  const trained = recordedEnvironment(run).name;
  for (const named of [nameOf(flags), nameOf(user)])
    if (named !== undefined && named !== trained && trained !== conversationsAlone) throw otherEnvironment(run, trained, named);
  return user.environment === undefined ? { ...user, environment: recordedConfig(run, ["environment"]).environment } : user;
}

/**
 * The configuration under which a model is measured or talked to. A run's model is played as it was trained: in its environment, with its
 * rollout settings and its use of the chat template; what the configuration says goes above these, and flags above both.
 * @throws ConfigError if the configuration, or else a flag, names another environment than the run's
 */
export function resolvePlayed(user: UserConfig, flags: UserConfig): TrainingConfig {
  const run = runOf(user, flags);
  if (run === undefined) return resolveConfig(user, flags);
  const trained = recordedEnvironment(run).name;
  const named = nameOf(flags) ?? nameOf(user);
  const { rollout, chat } = recordedConfig(run, ["rollout", "chat"]);
  if (named !== undefined && named !== trained) {
    if (trained !== conversationsAlone) throw otherEnvironment(run, trained, named);
    return resolveConfig({ ...(chat === undefined ? {} : { chat }), ...user }, flags);
  }
  const own = typeof user.environment === "object" && nameOf(user) === trained;
  const played = {
    ...(chat === undefined ? {} : { chat }),
    ...user,
    environment: own ? user.environment : recordedConfig(run, ["environment"]).environment,
    rollout: { ...rollout, ...user.rollout },
  };
  return resolveConfig(played, flags);
}

/** The user's own environment, unless another one is named. @throws ConfigError if there is none of that name */
export function environmentOf(
  { environment: { name, settings }, model }: Pick<TrainingConfig, "environment" | "model">,
  { environment }: UserConfig,
): Environment {
  if (isEnvironment(environment) && environment.name === name) return environment;
  try {
    return createEnvironment(name, settings);
  } catch (error) {
    const unknown = error instanceof ConfigError && error.subject === "environment.name";
    if (!unknown || !existsSync(layout.run(model))) throw error;
    throw new ConfigError("environment.name", name, {
      expected: `the environment in which ${model} was trained`,
      hint: `It comes from a configuration file (call this command where retrograde.config.ts is, or add --config FILE) or is an agent (train-agent, eval --agent). Its weights alone: --model ${layout.model(model)}.`,
    });
  }
}

function runOf(user: UserConfig, flags: UserConfig): string | undefined {
  const model = flags.model ?? user.model;
  return model !== undefined && existsSync(layout.run(model)) ? model : undefined;
}

type Part = keyof TrainingConfig;

/**
 * The configuration that a run recorded, with settings that were added or moved since filled in. The run may be someone else's: what its
 * settings would do on this machine is asked about.
 * @param parts those that are used. The folder of the run is where it is, whatever was recorded
 * @throws UntrustedError if the run is from elsewhere and one of these parts acts
 */
export function recordedConfig<Used extends Part>(folder: string, parts: readonly Used[]): Pick<TrainingConfig, Used> {
  const config = resolveConfig({ ...(readRun(folder).config as UserConfig), out: undefined });
  requireTrustedRun(folder, config, parts);
  return config;
}

/** All parts of it, as a run that is continued takes them. */
export function wholeConfig(folder: string): TrainingConfig {
  return recordedConfig(folder, Object.keys(settingsSchema.shape) as Part[]);
}

/** @throws UntrustedError as `recordedConfig` */
function requireTrustedRun(folder: string, config: TrainingConfig, parts: readonly Part[]): void {
  const acts = parts.map((part) => partActs(config, part));
  requireTrusted(folder, () => isOwnRecord(layout.run(folder)), acts);
}

/**
 * The environment of a run or an evaluation, for another model to play in.
 * @throws UntrustedError if the record is from elsewhere and its environment acts
 */
export function requireTrustedWorld(folder: string): void {
  const { environment, isOwn } = isEvaluation(folder)
    ? { environment: readAsked(folder).environment, isOwn: () => isOwnEvaluation(folder) }
    : { environment: recordedEnvironment(folder), isOwn: () => isOwnRecord(layout.run(folder)) };
  requireTrusted(folder, isOwn, [environmentActs(environment.name, environment.settings)]);
}

function partActs(config: TrainingConfig, part: Part): Act[] {
  const { name, settings } = config.environment;
  return part === "environment" ? environmentActs(name, settings) : actsOf(settingsSchema.shape[part], config[part]);
}

function nameOf({ environment }: UserConfig): string | undefined {
  return typeof environment === "string" ? environment : environment?.name;
}

function otherEnvironment(run: string, trained: string, named: string): ConfigError {
  return new ConfigError("environment.name", named, {
    expected: `"${trained}", in which ${run} was trained`,
    hint: `Leave it out, name the run's with --env ${trained}, or use the weights elsewhere by their own folder: --model ${layout.model(run)}.`,
  });
}
