import { resolve } from "node:path";
import { numberOf } from "../../../src/cli/numbers.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import type { DefinedTask, TaskRequest } from "../../../src/environments/define.ts";
import type { Environment, Task } from "../../../src/environments/environment.ts";
import { defineReward, type Reward, RewardError } from "../../../src/rewards/reward.ts";
import { readRun } from "../../../src/runs/read.ts";
import { tasksOf as digestsOfTasks } from "../../../src/sdk/made-of.ts";
import { recordedConfig } from "../../../src/sdk/run-environment.ts";
import { interval, number, plural, pText, table } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { loadConfigFile, loadModule } from "../../../src/training/config/config-file.ts";
import { recordedEnvironment } from "../../../src/training/config/known-models.ts";
import type { UserConfig } from "../../../src/training/config/user-config.ts";
import { type Rescored, rescore } from "../../inspect/another-reward.ts";
import { recordedGroups } from "../../inspect/recorded-groups.ts";
import { taskName } from "../evaluate-agent.ts";
import { readTasks } from "../tasks.ts";
import { taughtTasks } from "../taught-plan.ts";
import { type AgentTraining, trainedAgent } from "../train-agent.ts";

interface RescoreFlags {
  readonly reward?: string;
  /** The marks that people gave, instead of a reward. */
  readonly marks?: boolean;
  readonly step?: string;
  readonly split?: string;
  readonly pass: string;
  readonly show: string;
  /** False with --no-tasks. */
  readonly tasks?: string | boolean;
  readonly config?: string;
  readonly json?: boolean;
}

/** Gives a record's episodes another reward, and shows what it changes. @returns the exit code: 1 where too many have no score */
export async function rescoreCommand(folder: string, flags: RescoreFlags, screen: Screen, notes: Screen): Promise<number> {
  const [pass, show] = [numberOf("--pass", flags.pass), numberOf("--show", flags.show)];
  const rescored = await rescore(folder, await rewardsOf(flags), {
    ...(flags.step !== undefined && { step: numberOf("--step", flags.step) }),
    split: flags.split,
    environment: flags.marks === true ? false : await worldOf(folder, flags),
    pass,
    onWarning: (message) => notes.line(message),
  });
  if (flags.json) screen.line(JSON.stringify(rescored, null, 2));
  else for (const line of rescoredLines(folder, rescored, show)) screen.line(line);
  return rescored.withheld === undefined ? 0 : 1;
}

async function rewardsOf({ reward, marks = false }: RescoreFlags) {
  if (reward !== undefined && !marks) return rewardsIn(reward);
  if (reward === undefined && marks) return "marks";
  throw new ConfigError("--reward and --marks", marks ? "both" : "neither", { expected: "one of them" });
}

/** The environment whose tasks the reward sees. The agent of a run is not started. */
async function worldOf(folder: string, { tasks, config, split }: RescoreFlags): Promise<UserConfig["environment"] | false> {
  if (tasks === false) return false;
  if (typeof tasks !== "string") {
    const { environment } = await loadConfigFile(config);
    if (environment !== undefined || recordedEnvironment(folder).name !== "agent") return environment;
    throw new ConfigError("--tasks", "missing", {
      expected: "the file of tasks that the agent had",
      hint: "Or --no-tasks, for a reward that reads the answer alone.",
    });
  }
  const { name } = recordedEnvironment(folder);
  const world = trainedAgent({ name, agent: () => "", reward: () => 0, tasks: taughtTasks(folder, tasks) ?? tasks });
  const { algorithm } = readRun(folder).config as { algorithm?: { kind?: string } };
  if (algorithm?.kind === "evaluation") return withMeasuredTasks(world, folder, tasks, split);
  await requireSameTasks(world, folder, tasks);
  return world;
}

/** A task of a training is known by its place alone: another file has another one there. */
async function requireSameTasks(world: Environment, folder: string, file: string): Promise<void> {
  const { madeOf = {} } = readRun(folder);
  const config = recordedConfig(folder, ["rollout", "evaluation", "algorithm"]);
  for (const [name, digest] of Object.entries((await digestsOfTasks(config, world)).madeOf))
    if (madeOf[name] !== undefined && madeOf[name] !== digest)
      throw new ConfigError("--tasks", file, { expected: `the file that the run had: ${name} are others now` });
}

/** The run of an evaluation names its tasks by their contents. */
function withMeasuredTasks(
  world: Environment<DefinedTask<TaskRequest>>,
  folder: string,
  file: string,
  split?: string,
): Environment<DefinedTask<TaskRequest>> {
  const { groups } = recordedGroups(folder, { split });
  const names = new Map(groups.map(({ id, trajectories }) => [Number(/\d+$/.exec(id)?.[0]), trajectories[0]?.task ?? ""]));
  const requests = new Map(readTasks(resolve(file)).map((request) => [taskName(request, split ?? "test"), request]));
  const task = (_: string, index: number) => {
    const id = names.get(index) ?? "";
    const request = requests.get(id);
    if (request !== undefined) return { id, request };
    throw new ConfigError("--tasks", file, { expected: `the file that was measured: none of its tasks is ${id}` });
  };
  return { ...world, size: () => Math.max(...names.keys()) + 1, task };
}

/** The default export of a file: a reward, several, or a function as `train-agent` takes it. */
async function rewardsIn(file: string): Promise<NonNullable<UserConfig["rewards"]>> {
  const exported = await loadModule(resolve(file));
  if (typeof exported === "function") return [ofAgent(exported as AgentTraining["reward"])];
  const rewards = (Array.isArray(exported) ? exported : [exported]) as NonNullable<UserConfig["rewards"]>;
  if (rewards.length > 0 && rewards.every((each) => typeof each === "object" && each !== null)) return rewards;
  throw new ConfigError("--reward", file, {
    expected: "a file whose default export is a reward, a list of them, or a function of { task, answer }",
    hint: "Write `export default defineReward({ … })`.",
  });
}

function ofAgent(reward: AgentTraining["reward"]): Reward {
  return defineReward<Task & { readonly request?: TaskRequest }>({
    name: "reward",
    verify: async ({ task, answer: said, trajectory: { id, answer = { value: said } } }) => {
      if ("left" in answer)
        throw new RewardError("reward", `the agent's answer in ${id} is not kept`, {
          expected: "plain JSON of at most 65,536 letters",
          hint: `In this episode ${answer.left}: return less, or plain values, and measure again.`,
        });
      const given = await reward({ task: task.request ?? (task as unknown as TaskRequest), answer: answer.value });
      return typeof given === "number" ? given : given.reward;
    },
  });
}

export function rescoredLines(
  folder: string,
  { episodes, unscored, change, agreement, withheld, ...flips }: Rescored,
  show: number,
): string[] {
  const signed = (value: number) => `${value < 0 ? "−" : "+"}${number(Math.abs(value))}`;
  const changed = episodes.filter(({ flipped, before, after }) => flipped || before !== after);
  return [
    `${plural(episodes.length, "episode")} with both rewards${unscored.length === 0 ? "" : `, ${unscored.length} without`}`,
    ...(withheld === undefined ? [] : [withheld]),
    ...(change === undefined
      ? []
      : [
          `mean of ${plural(change.tasks, "task")}: recorded ${number(change.before)}, new ${number(change.after)}`,
          `change ${signed(change.difference.mean)}  [${signed(change.difference.low)}, ${signed(change.difference.high)}], ${pText(change.pValue)}; ` +
            `${change.better} better, ${change.worse} worse`,
        ]),
    ...(agreement === undefined
      ? []
      : [
          `verdicts agree ${interval(agreement)}${agreement.kappa === undefined ? "" : `, Cohen's κ ${number(agreement.kappa)}`}`,
        ]),
    `verdicts that flip: ${flips.nowPass} now pass, ${flips.noLongerPass} no longer do`,
    ...(changed.length === 0
      ? []
      : [
          "",
          `Read first (retrograde-rl trajectory ${folder} ID):`,
          ...table([
            ["episode", "task", "recorded", "new", "", "its last message begins"],
            ...changed
              .slice(0, show)
              .map((e) => [e.id, e.task, number(e.before), number(e.after), e.flipped ? "flips" : "", e.line.slice(0, 60)]),
          ]),
        ]),
  ];
}
