import { existsSync } from "node:fs";
import { ConfigError } from "../core/errors.ts";
import type { Environment } from "../environments/environment.ts";
import { createEnvironment } from "../environments/registry.ts";
import { layout } from "../runs/layout.ts";
import { readRun } from "../runs/read.ts";
import { isEnvironment, resolveConfig } from "../training/config.ts";
import type { TrainingConfig } from "../training/settings.ts";
import type { UserConfig } from "../training/user-config.ts";

/**
 * A model that is a run's folder brings the environment in which the run was trained.
 * @returns the configuration with the run's environment, if it names none itself
 * @throws ConfigError if the configuration or a flag names another one
 */
export function withRunEnvironment(user: UserConfig, flags: UserConfig = {}): UserConfig {
  const run = runOf(user, flags);
  if (run === undefined) return user;
  const { environment } = recordedConfig(run);
  for (const asked of [nameOf(flags), nameOf(user)])
    if (asked !== undefined && asked !== environment.name) throw otherEnvironment(run, environment.name, asked);
  return user.environment === undefined ? { ...user, environment } : user;
}

/**
 * The configuration under which a model is measured or talked to. A run's model is played as it was trained: in its environment, with its
 * rollout settings and its use of the chat template; what the configuration says goes above these, and flags above both.
 * @throws ConfigError if the configuration, or else a flag, names another environment than the run's
 */
export function resolvePlayed(user: UserConfig, flags: UserConfig): TrainingConfig {
  const run = runOf(user, flags);
  if (run === undefined) return resolveConfig(user, flags);
  const { environment, rollout, chat } = recordedConfig(run);
  const asked = nameOf(flags) ?? nameOf(user);
  if (asked !== undefined && asked !== environment.name) throw otherEnvironment(run, environment.name, asked);
  const own = typeof user.environment === "object" && nameOf(user) === environment.name;
  const played = {
    ...(chat === undefined ? {} : { chat }),
    ...user,
    environment: own ? user.environment : environment,
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
      hint: "It comes from a configuration file: call this command where retrograde.config.ts is, or add --config FILE.",
    });
  }
}

function runOf(user: UserConfig, flags: UserConfig): string | undefined {
  const model = flags.model ?? user.model;
  return model !== undefined && existsSync(layout.run(model)) ? model : undefined;
}

/** The configuration that a run recorded, with settings that were added or moved since filled in. */
export function recordedConfig(folder: string): TrainingConfig {
  return resolveConfig(readRun(folder).config as UserConfig);
}

function nameOf({ environment }: UserConfig): string | undefined {
  return typeof environment === "string" ? environment : environment?.name;
}

function otherEnvironment(run: string, trained: string, asked: string): ConfigError {
  return new ConfigError("environment.name", asked, {
    expected: `"${trained}", in which ${run} was trained`,
    hint: `Leave it out, name the run's with --env ${trained}, or use the weights elsewhere by their own folder: --model ${layout.model(run)}.`,
  });
}
