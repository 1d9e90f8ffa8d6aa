import { showDownload } from "../../../src/cli/download.ts";
import { wholeNumber } from "../../../src/cli/numbers.ts";
import { environmentCheckFlags, type SettingValues, settingsOf } from "../../../src/cli/settings.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { modelFolder, openModel, samplingUse } from "../../../src/sdk/model.ts";
import { environmentOf } from "../../../src/sdk/run-environment.ts";
import { count, interval, plural } from "../../../src/terminal/format.ts";
import { commandPrefix } from "../../../src/terminal/invocation.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { loadConfigFile } from "../../../src/training/config/config-file.ts";
import type { UserConfig } from "../../../src/training/config/user-config.ts";
import { checkEnvironment } from "../check.ts";
import { chancePolicy } from "../policies.ts";
import type { EnvironmentReport } from "../report.ts";
import { guardsOf, whileGuarded } from "./guarded-environment.ts";

export interface EnvironmentCheckFlags extends SettingValues {
  readonly json?: boolean;
  /** False for `--no-sampling`. */
  readonly sampling?: boolean;
  readonly trainingTasks?: string;
}

/**
 * Prints what can be known about an environment before training in it.
 * @param name of the environment; that of the configuration file if left out
 * @returns the exit code: 1 if tasks or episodes are not the same the second time
 */
export async function environmentCheckCommand(
  name: string | undefined,
  { json, sampling = true, trainingTasks = "2000", ...flags }: EnvironmentCheckFlags,
  screen: Screen,
): Promise<number> {
  if (name !== undefined) refuseAgent(name);
  const user = await loadConfigFile(flags.config);
  const config = resolveConfig(user, named(settingsOf(environmentCheckFlags, flags), name));
  const world = environmentOf(config, user);
  const options = {
    seed: config.seed,
    tasks: config.evaluation.tasks,
    trainingTasks: wholeNumber("--training-tasks", trainingTasks),
    rollout: config.rollout,
    onProgress: (what: string) => screen.status(`Measuring ${what}`),
  };
  const guards = guardsOf("env check", config, (message) => screen.line(`warning: ${message}`));
  const report = await whileGuarded(guards, world, (environment) =>
    sampling
      ? withModel(config, screen, (model) => checkEnvironment(environment, { ...options, model }))
      : checkEnvironment(environment, options),
  );
  screen.clear();
  if (json) screen.line(JSON.stringify(report, null, 1));
  else for (const line of checkLines(report)) screen.line(line);
  return report.unrepeatable.length > 0 ? 1 : 0;
}

/** @throws ConfigError for a module, which is an agent's */
export function refuseAgent(name: string): void {
  if (!/\.[cm]?[jt]sx?$/.test(name)) return;
  throw new ConfigError("the environment", name, {
    expected: "the name of one, such as office",
    hint: `An agent is checked by \`${commandPrefix()} check ${name} --tasks tasks.jsonl --reward reward.ts\`.`,
  });
}

/** Flags with the environment that is named, and its settings if they are given. */
function named(user: UserConfig, name: string | undefined): UserConfig {
  if (name === undefined) return user;
  const { environment } = user;
  const settings = typeof environment === "object" && "settings" in environment ? { settings: environment.settings } : {};
  return { ...user, environment: { name, ...settings } };
}

async function withModel<T>(
  config: ReturnType<typeof resolveConfig>,
  screen: Screen,
  use: (model: Awaited<ReturnType<typeof openModel>>) => Promise<T>,
): Promise<T> {
  const folder = await showDownload(config.model, screen, (onDownload) => modelFolder(config, onDownload, samplingUse(config)));
  const model = await openModel(folder, config.engine, { use: samplingUse(config), seed: config.seed });
  try {
    return await use(model);
  } finally {
    await model.engine.dispose();
  }
}

/** The report as it is printed. */
export function checkLines({
  environment,
  split,
  tasks,
  expert,
  policies,
  chance,
  overlap,
  model,
  unrepeatable,
  unchecked,
}: EnvironmentReport): string[] {
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
  return [
    `The environment "${environment}", on ${plural(tasks, `${split} task`)}; success with 95 % intervals`,
    ...section("Scripted policies", [
      ...(expert === undefined ? [] : [`${interval(expert)}  the expert`]),
      ...policies.map(({ name, success }) => `${interval(success)}  ${name}`),
      ...(chance === undefined ? [] : [`${interval(chance)}  ${chancePolicy.name}`]),
    ]),
    ...section(
      "Texts of users that training has too",
      overlap.map(({ split, texts, shared }) => `${count(shared)} of ${count(texts)}  ${split}`),
    ),
    ...(model === undefined
      ? []
      : section("The model before training", [
          `${model.prompt.mean.toFixed(0)} tokens of a prompt on average, at most ${model.prompt.longest}`,
          `${interval(model.greedy)}  at temperature 0`,
          `${interval(model.sampled)}  at temperature 1, ${plural(model.attempts, "attempt")} each`,
          `${interval(model.signal)}  of groups of ${model.groupSize} have different rewards`,
        ])),
    ...section("Not the same the second time", unrepeatable),
    ...section("Not checked", unchecked),
  ];
}
