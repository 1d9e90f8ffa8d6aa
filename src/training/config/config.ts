import { defaultsOf, rolloutAlgorithms } from "../../algorithms/algorithms.ts";
import { ConfigError } from "../../core/errors.ts";
import { isRecord } from "../../core/record.ts";
import { findSecret } from "../../core/secrets.ts";
import { parseSettings, requireAll } from "../../core/settings.ts";
import { wholeContext } from "../../core/whole-context.ts";
import { defaultEngine, engineKind, findEngine } from "../../engines/registry.ts";
import type { Environment } from "../../environments/environment.ts";
import { refuseKeys } from "../../rewards/config.ts";
import type { Reward } from "../../rewards/reward.ts";
import { configurationChecks, requireParts } from "../checks.ts";
import { chosenByEnvironment, defaultEnvironment } from "./defaults.ts";
import { settingsSchema, type TrainingConfig } from "./settings.ts";
import type { UserConfig } from "./user-config.ts";

/** The algorithms that a run can train by. */
export { rolloutAlgorithms };

/**
 * Types `retrograde.config.ts`.
 * @example
 * export default defineConfig({ algorithm: "grpo", steps: 20 });
 */
export function defineConfig(config: UserConfig): UserConfig {
  return config;
}

/**
 * The configuration of a run: what the user wrote, flags on top, defaults below.
 * An environment that is given as an object is recorded by its name, and so are rewards from code.
 * @throws ConfigError naming the first setting that is wrong
 */
export function resolveConfig(user: UserConfig = {}, flags: UserConfig = {}): TrainingConfig {
  for (const config of [user, flags] as readonly unknown[])
    if (!isRecord(config)) throw new ConfigError("configuration", config, { expected: "an object with settings" });
  for (const { rewards } of [user, flags]) refuseKeys(rewards);
  for (const config of [user, flags]) refuseSecrets(config);
  const given = merge(merge(chosenByDefault(), spelledOut(user)), spelledOut(flags)) as Given;
  const config = parseSettings(
    settingsSchema,
    [chosenByAlgorithm, chosenByAhead, chosenByEngine, chosenByEnvironment]
      .map((choose) => choose(given))
      .concat(chosenForAgents(flags.environment ?? user.environment))
      .concat(given)
      .reduce(merge),
  );
  requireAll(configurationChecks, config);
  engineKind(config.engine).check?.(config.engine);
  requireParts(config);
  return config;
}

/** The configuration is written into `run.json`, which people share. An environment or a reward from code is not. */
function refuseSecrets({ environment, rewards: _, ...config }: UserConfig): void {
  const found = findSecret({ ...config, environment: isEnvironment(environment) ? environment.name : environment });
  if (found === undefined) return;
  throw new ConfigError(found.path, found.shown, {
    expected: "an address without a password or a key: a run records its configuration",
    hint: "Give keys by the environment variable that the setting's page names, or make the environment in code, which is not recorded.",
  });
}

/** Settings by their names, not checked yet. */
type Given = Readonly<Record<string, unknown>>;

/** Named here and not in the schema, so that a setting of theirs can be given without them. */
function chosenByDefault(): Record<string, unknown> {
  return { environment: defaultEnvironment(), algorithm: { kind: "seeupo" }, engine: { kind: defaultEngine() } };
}

/**
 * Returns what an algorithm's kind chooses: batches of fewer tasks than it has mini-batches are dealt into as many
 * as there are tasks.
 */
function chosenByAlgorithm({ algorithm, rollout }: Given): unknown {
  if (!isRecord(algorithm)) return undefined;
  const tasks = isRecord(rollout) && typeof rollout.tasksPerStep === "number" ? rollout.tasksPerStep : Number.NaN;
  const { rollout: sampled, optimizer, miniBatches } = defaultsOf(algorithm.kind);
  const dealt = tasks >= 1 && tasks < miniBatches ? { miniBatches: tasks } : {};
  return { algorithm: { kind: algorithm.kind, ...dealt }, rollout: sampled, optimizer };
}

/** Messages of an agent are as long as its author lets them be: an answer that is cut off is no JSON, and no call. */
function chosenForAgents(environment: UserConfig["environment"]): unknown {
  return isEnvironment(environment) && environment.play !== undefined ? { rollout: { maxTokens: wholeContext } } : undefined;
}

/** Stale rollouts are corrected unless that is switched off. */
function chosenByAhead({ rollout }: Given): unknown {
  return isRecord(rollout) && typeof rollout.ahead === "number" && rollout.ahead > 0 ? { correction: {} } : undefined;
}

function chosenByEngine({ engine }: Given): unknown {
  return isRecord(engine) && typeof engine.kind === "string" ? findEngine(engine.kind)?.implies?.(engine) : undefined;
}

/** True where a configuration brings its own environment rather than the name of one. */
export function isEnvironment(value: UserConfig["environment"]): value is Environment {
  return typeof value === "object" && value !== null && "start" in value && typeof value.start === "function";
}

export function rewardsFromCode({ rewards }: UserConfig): Reward[] {
  return Array.isArray(rewards) ? rewards.filter(isReward) : [];
}

function isReward(value: unknown): value is Reward {
  if (typeof value !== "object" || value === null) return false;
  return ("verify" in value && typeof value.verify === "function") || ("compare" in value && typeof value.compare === "function");
}

function recordedReward(reward: unknown): unknown {
  if (!isReward(reward)) return reward;
  const { name, weight } = reward;
  return { kind: "verify" in reward ? "verifiable" : "compare", name, ...(weight === undefined ? {} : { weight }) };
}

/** A configuration with settings on top of it. */
export function withSettings(user: UserConfig, above: UserConfig): UserConfig {
  return merge(spelledOut(user), spelledOut(above)) as UserConfig;
}

/** Shorthands written in full. */
function spelledOut(config: UserConfig): Record<string, unknown> {
  const { environment, algorithm, engine, rewards } = config;
  return {
    ...config,
    engine: typeof engine === "string" ? { kind: engine } : engine,
    environment:
      typeof environment === "string"
        ? { name: environment }
        : isEnvironment(environment)
          ? { name: environment.name }
          : environment,
    algorithm: typeof algorithm === "string" ? { kind: algorithm } : algorithm,
    rewards: Array.isArray(rewards) ? rewards.map(recordedReward) : rewards,
  };
}

/** Objects are merged, anything else is replaced; undefined leaves what is there. Another kind or name takes none of the old one's settings. */
function merge(below: unknown, above: unknown): unknown {
  if (above === undefined) return below;
  if (!isRecord(below) || !isRecord(above)) return above;
  const replaces = (key: string) => above[key] !== undefined && below[key] !== undefined && above[key] !== below[key];
  if (replaces("kind") || replaces("name")) return above;
  const keys = new Set([...Object.keys(below), ...Object.keys(above)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, merge(below[key], above[key])]).filter(([, value]) => value !== undefined),
  );
}
