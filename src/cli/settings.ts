import { ConfigError } from "../core/errors.ts";
import { jsonOf } from "../core/json.ts";
import type { UserConfig } from "../training/config/user-config.ts";

export interface SettingFlag {
  readonly flag: string;
  /** The setting's path. */
  readonly path: string;
  readonly description: string;
}

/** The values that commander collects: settings by the flag's name in camel case, and assignments of `--set`. */
export interface SettingValues {
  readonly config?: string;
  readonly set?: readonly string[];
  readonly [flag: string]: unknown;
}

/** The flags of `eval`. */
export interface EvalFlags extends SettingValues {
  readonly resume?: boolean;
  readonly json?: boolean;
  /** Two models, or folders of evaluations. */
  readonly compare?: readonly string[];
  readonly agent?: string;
  /** Number of episodes to print. */
  readonly show?: string;
  readonly reward?: string;
}

/** The flags of the commands that train. */
export interface TrainFlags extends SettingValues {
  readonly resume?: boolean;
  readonly allowChanged?: boolean;
  /** False with --no-dashboard. */
  readonly dashboard?: boolean;
  readonly open?: boolean;
  readonly dryRun?: boolean;
  /** The agent that `train-agent` trains, as words, and its two files. */
  readonly agent?: readonly string[];
  readonly tasks?: string;
  readonly reward?: string;
  /** The teacher of `train-agent`; the other four say how its demonstrations are made and learned. */
  readonly teacher?: string;
  readonly demonstrations?: string;
  readonly keep?: string;
  readonly prices?: string;
  readonly sftSteps?: string;
  readonly sftLearningRate?: string;
}

const environment = { flag: "--env <name>", path: "environment.name", description: "the world" };
const model = {
  flag: "--model <name>",
  path: "model",
  description:
    "a folder in Hugging Face format, a run's folder, smollm2 or another published model (docs/models.md), a name on the Hub (owner/name), or the bundled one",
};
const temperature = {
  flag: "--temperature <t>",
  path: "evaluation.temperature",
  description: "of sampling; 0 always takes the most probable token",
};
const seed = { flag: "--seed <n>", path: "seed", description: "decides all that is random" };
const device = {
  flag: "--device <name>",
  path: "engine.device",
  description: "what computes: cpu, webgpu, cuda, or auto",
};
const threads = { flag: "--threads <n>", path: "engine.threads", description: "CPU threads" };

/** Settings with a flag of their own. `--set` reaches every other one. */
export const trainFlags: readonly SettingFlag[] = [
  environment,
  {
    flag: "--algorithm <kind>",
    path: "algorithm.kind",
    description: "what makes updates of rollouts: seeupo, grpo, ppo and others",
  },
  model,
  { flag: "--steps <n>", path: "steps", description: "training steps" },
  { flag: "--tasks-per-step <n>", path: "rollout.tasksPerStep", description: "tasks of a step" },
  { flag: "--group-size <n>", path: "rollout.groupSize", description: "rollouts of each task" },
  { flag: "--learning-rate <x>", path: "optimizer.learningRate", description: "AdamW's" },
  seed,
  device,
  threads,
  { flag: "--strict", path: "limits.strict", description: "end the run at the first warning that nothing is learned" },
  { flag: "--out <folder>", path: "out", description: "folder of the run; if left out, a new one under runs/" },
];

/** The flags of `retrograde-rl train-agent`, whose environment is the agent. */
export const agentFlags = trainFlags.filter((each) => each !== environment);

export const supervisedFlags: readonly SettingFlag[] = [
  { flag: "--data <file>", path: "algorithm.data", description: "conversations in JSONL; if left out, the environment's expert" },
  { flag: "--tokens-per-step <n>", path: "algorithm.tokensPerStep", description: "tokens of conversations in a step" },
  ...trainFlags.filter(({ path }) => !path.startsWith("algorithm.") && !path.startsWith("rollout.")),
];

export const evaluationFlags: readonly SettingFlag[] = [
  model,
  {
    flag: "--endpoint <url>",
    path: "evaluation.player.baseUrl",
    description: "a server of the chat-completions protocol, such as http://localhost:8000/v1, that has --model",
  },
  environment,
  {
    flag: "--data <folder>",
    path: "environment.settings.data",
    description: "a benchmark's tasks, if not where `data` puts them",
  },
  { flag: "--split <name>", path: "evaluation.split", description: "train, validation, test or challenge" },
  { flag: "--tasks <n>", path: "evaluation.tasks", description: "number of tasks" },
  { flag: "--k <n>", path: "evaluation.k", description: "attempts at each task" },
  temperature,
  seed,
  device,
  threads,
  { flag: "--out <folder>", path: "out", description: "folder of the evaluation; if left out, a new one under evaluations/" },
];

/** The flags of `retrograde-rl serve --env`. */
export const serveEnvironmentFlags: readonly SettingFlag[] = [environment, seed];

export const chatFlags: readonly SettingFlag[] = [
  model,
  environment,
  temperature,
  { flag: "--seed <n>", path: "seed", description: "chooses the world's contents" },
  device,
  threads,
];

export const environmentCheckFlags: readonly SettingFlag[] = [
  model,
  { flag: "--tasks <n>", path: "evaluation.tasks", description: "number of tasks" },
  seed,
  threads,
];

export const scanFlags: readonly SettingFlag[] = [seed, threads];

export const doctorFlags: readonly SettingFlag[] = [model, environment, device, threads];

/** Settings that are text even where the text looks like a number. */
const texts: readonly string[] = [
  "evaluation.player.baseUrl",
  "algorithm.data",
  "environment.name",
  "environment.settings.data",
  "model",
  "algorithm.kind",
  "evaluation.split",
  "out",
];

/**
 * Flags as a configuration.
 * @throws ConfigError where an assignment is not one
 */
export function settingsOf(flags: readonly SettingFlag[], values: SettingValues): UserConfig {
  const root = emptyRecord();
  for (const { flag, path } of flags) {
    const text = values[optionName(flag)];
    if (text === true) assign(root, path, true);
    if (typeof text === "string") assign(root, path, texts.includes(path) ? text : parsed(text));
  }
  for (const assignment of values.set ?? []) {
    const equals = assignment.indexOf("=");
    if (equals < 1)
      throw new ConfigError("--set", assignment, {
        expected: "path.to.setting=value",
        hint: "For example: --set evaluation.tasks=64 --set optimizer.schedule=cosine",
      });
    assign(root, assignment.slice(0, equals), parsed(assignment.slice(equals + 1)));
  }
  return root;
}

/** "--group-size <n>" as commander names it: "groupSize". */
export function optionName(flag: string): string {
  return flag
    .replace(/ .*/s, "")
    .slice(2)
    .replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** JSON where it is JSON, else the text itself: 3, true, [1, 2] and constant all mean what they look like. */
function parsed(text: string): unknown {
  const value = jsonOf(text);
  return value === undefined ? text : value;
}

function assign(root: Record<string, unknown>, path: string, value: unknown): void {
  const keys = path.split(".");
  let parent = root;
  const last = keys.pop() ?? "";
  for (const key of keys) {
    const inner = parent[key];
    parent[key] = typeof inner === "object" && inner !== null ? inner : emptyRecord();
    parent = parent[key] as Record<string, unknown>;
  }
  parent[last] = value;
}

/** Without a prototype, so that no path leads out of it. */
function emptyRecord(): Record<string, unknown> {
  return Object.create(null);
}
