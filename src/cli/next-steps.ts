import { splitsOf } from "../environments/environment.ts";
import type { StepRecord, Summary } from "../runs/records.ts";
import { conversationsAlone } from "../sdk/run-environment.ts";
import type { RunPlan } from "../sdk/train.ts";
import { commandPrefix, quoted, shownPath } from "../terminal/invocation.ts";
import type { Report } from "./report.ts";
import { optionName, type SettingValues, type TrainFlags, trainFlags } from "./settings.ts";

/** The state of a run that decides its next steps. */
export interface RunState {
  readonly plan: Pick<RunPlan, "environment" | "folder" | "config">;
  readonly summary: Pick<Summary, "after" | "warnings">;
  readonly metrics: readonly Pick<StepRecord, "metrics">[];
  /** As they were given. */
  readonly flags: TrainFlags;
}

type Next = Report["next"];

/** A strong model that many have the key of. */
const strongModel = "gpt-5-mini@https://api.openai.com/v1";
const noDifference = "in no step did attempts at a task differ: more of them, or tasks that the model solves sometimes";
/** The files of an agent that a command does not know: it was trained on conversations alone. */
const anAgent = "./agent.ts --tasks tasks.jsonl --reward ./reward.ts";

/** Commands that work when they are copied: a run's folder brings its environment, a configuration file has to be named again. */
export async function nextSteps({ plan, summary, metrics, flags }: RunState): Promise<Next> {
  const { environment, folder, config } = plan;
  const command = commandPrefix();
  const run = quoted(shownPath(folder));
  const look: Next = [
    [`${command} dashboard --open`, "look at it: curves, episodes, and why each token moved"],
    [`${command} runs show ${run}`, "every step and metric"],
  ];
  if (config.environment.name === conversationsAlone) return [...look, ...afterConversations(run)];
  const challenged = splitsOf(environment).includes("challenge") && (await environment.size("challenge")) > 0;
  const harder = `${command} eval --model ${run} --split challenge${configFlag(flags)}`;
  return [
    ...look,
    ...useOfModel(run, config.model, flags),
    ...(challenged ? [[harder, "requests in combinations that it was not trained on"] as const] : []),
    ...(config.algorithm.kind === "sft"
      ? reinforcement(run, flags)
      : neverRewarded(summary, metrics)
        ? withoutSignal(plan, flags)
        : flags.agent !== undefined && flags.teacher !== undefined && summary.warnings?.["one-behaviour"] !== undefined
          ? taughtMore(flags, "the model does the same for all tasks")
          : changed(config, flags, !neverDiffered(summary, metrics))),
  ];
}

/** A model that learned from conversations knows no environment: the agent that held them is one. */
function afterConversations(run: string): Next {
  const command = commandPrefix();
  return [
    [
      `${command} train-agent ${anAgent} --model ${run}`,
      "continue by reinforcement learning, in the agent that is to have the model",
    ],
    [`${command} eval --agent ${anAgent} --model ${run}`, "or measure that agent with it"],
  ];
}

function reinforcement(run: string, flags: TrainFlags): Next {
  return [[trainingCommand(`--model ${run}`, flags), "continue by reinforcement learning"]];
}

/** True if no episode of the run, its evaluation at the end included, earned anything. */
function neverRewarded({ after }: RunState["summary"], metrics: RunState["metrics"]): boolean {
  const earned = metrics.some(({ metrics: { reward, success } }) => (reward ?? 0) > 0 || (success ?? 0) > 0);
  return metrics.length > 0 && !earned && (after === null || after === undefined || after.mean === 0);
}

/** True if the attempts at a task earned the same in every step. */
function neverDiffered({ warnings }: RunState["summary"], metrics: RunState["metrics"]): boolean {
  return metrics.length > 0 && (warnings?.["no-signal"] ?? 0) >= metrics.length;
}

/** There is nothing to reinforce, so no algorithm finds a signal. */
function withoutSignal({ environment, config: { model } }: RunState["plan"], flags: TrainFlags): Next {
  const command = commandPrefix();
  const { agent } = flags;
  if (agent === undefined) {
    const shown = environment.demonstrate !== undefined || environment.expert !== undefined;
    const world = flags.config === undefined ? `--env ${environment.name}` : `--config ${quoted(flags.config)}`;
    return [
      [
        `${command} sft ${shown ? world : "--data demonstrations.jsonl"} --model ${quoted(model)}`,
        "nothing was rewarded, so nothing was learned: demonstrations first, easier tasks, or a larger model",
      ],
    ];
  }
  if (flags.teacher !== undefined) return taughtMore(flags, "nothing was rewarded");
  const why = `nothing was rewarded, so nothing was learned: demonstrations of a strong model first (or --teacher ./expert.ts, a script), or easier tasks`;
  return [[trainingCommand(`--model ${quoted(model)} --teacher ${strongModel}`, flags), why], largerModel(flags)];
}

function largerModel({ agent = [], ...flags }: TrainFlags): Next[number] {
  const words = agent.map(quoted).join(" ");
  return [`${commandPrefix()} advise${agentFiles(flags)} -- ${words}`, "or a larger model: those that fit this machine"];
}

/** The command with a teacher again, with twice the steps on what it shows. */
function taughtMore(flags: TrainFlags, why: string): Next {
  const { teacher = "", sftSteps = "40", ...given } = flags;
  const teaching = (["sftLearningRate", "demonstrations", "keep", "prices"] as const).flatMap((name) => {
    const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return given[name] === undefined ? [] : [`${option} ${quoted(given[name])}`];
  });
  const words = [`--teacher ${quoted(teacher)}`, `--sft-steps ${2 * Number(sftSteps)}`, ...teaching, ...keptOptions(flags)];
  return [
    [trainingCommand(words.join(" "), flags), `${why}: more steps on the demonstrations, or easier tasks`],
    largerModel(flags),
  ];
}

/** The options of training as they were given, but its folder and those that are left out. */
function keptOptions(flags: TrainFlags, ...without: readonly string[]): string[] {
  const kept = trainFlags.flatMap(({ flag }) => {
    const [option = ""] = flag.split(" ");
    const value = flags[optionName(flag)];
    if (["--out", ...without].includes(option) || value === undefined || value === false) return [];
    return value === true ? [option] : [`${option} ${quoted(String(value))}`];
  });
  return [...kept, ...(flags.set ?? []).map((assignment) => `--set ${quoted(assignment)}`)];
}

/** The same command with another algorithm, or with more attempts where none differed; none where the old settings were given otherwise. */
function changed({ algorithm, model, rollout }: RunPlan["config"], flags: TrainFlags, hasSignal: boolean): Next {
  const { set = [], teacher, resume } = flags;
  const [option, value, path, why] = hasSignal
    ? ["--algorithm", algorithm.kind.startsWith("seeupo") ? "grpo" : "seeupo", "algorithm.", "the same with another algorithm"]
    : ["--group-size", 2 * rollout.groupSize, "rollout.groupSize", noDifference];
  if (resume === true || set.some((assignment) => assignment.startsWith(path))) return [];
  // With a teacher, from what its demonstrations gave.
  const from = teacher === undefined ? [] : [`--model ${quoted(shownPath(model))}`];
  const kept = keptOptions(flags, option, ...(teacher === undefined ? [] : ["--model"]));
  return [[trainingCommand([`${option} ${value}`, ...from, ...kept].join(" "), flags), why]];
}

/** An agent is measured with both models; `chat` cannot talk to it. */
function useOfModel(run: string, before: string, flags: TrainFlags): Next {
  if (flags.agent === undefined)
    return [[`${commandPrefix()} chat --model ${run}${configFlag(flags)}`, "talk to the trained model"]];
  // A program is one argument, which is split at its spaces.
  if (flags.agent.length > 1 && flags.agent.some((word) => /\s/.test(word))) return [];
  const compared = `eval --agent ${quoted(flags.agent.join(" "))}${agentFiles(flags)} --k 4 --compare ${quoted(shownPath(before))} ${run}`;
  return [[`${commandPrefix()} ${compared}`, "measure the agent with both models, task by task"]];
}

export function trainingCommand(options: string, flags: TrainFlags): string {
  const { agent } = flags;
  if (agent === undefined) return `${commandPrefix()} train ${options}${configFlag(flags)}`;
  return `${commandPrefix()} train-agent${agentFiles(flags)} ${options}${configFlag(flags)} -- ${agent.map(quoted).join(" ")}`;
}

function agentFiles({ tasks = "", reward = "" }: TrainFlags): string {
  return ` --tasks ${quoted(tasks)} --reward ${quoted(reward)}`;
}

function configFlag({ config }: SettingValues): string {
  return config === undefined ? "" : ` --config ${quoted(config)}`;
}
