import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigError } from "../../src/core/errors.ts";
import { present } from "../../src/core/present.ts";
import type { DefinedTask, TaskRequest } from "../../src/environments/define.ts";
import type { Environment, Score } from "../../src/environments/environment.ts";
import { codeDigests } from "../../src/files/code-digests.ts";
import { filesOf, loadModule, rememberFiles } from "../../src/training/config/config-file.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import { type AgentDefinition, type AgentModel, agentEnvironment, scoreOf } from "./agent.ts";
import { ownErrorsNamed } from "./blame.ts";
import { type Interception, interceptModels } from "./intercept.ts";
import { keptAnswer } from "./kept-answer.ts";
import { agentOfObject } from "./objects.ts";
import { type AgentProgram, runProgram } from "./program.ts";
import { readTasks, type SplitTasks, splitTasks } from "./tasks.ts";

/** An agent as a function: a prompt in, its answer out. It may leave the second argument alone. */
export type AgentFunction<T extends TaskRequest = TaskRequest> = (prompt: string, run: AgentRun<T>) => unknown;

export interface AgentRun<T extends TaskRequest = TaskRequest> extends Omit<AgentModel, "converse"> {
  readonly task: T;
}

/** The end of an agent's run, for its reward. */
export interface AgentEnd<T extends TaskRequest = TaskRequest> {
  readonly task: T;
  /** The value that the agent returned, or the output of its program. */
  readonly answer: unknown;
}

export interface AgentTraining<T extends TaskRequest = TaskRequest> extends Omit<UserConfig, "environment"> {
  /**
   * The agent: a function; an agent object of OpenAI Agents, Mastra, LangGraph or the AI SDK; the path of a module whose default export is one of
   * these; or a program. A module is loaded once the endpoint exists, so clients that it makes reach the model without a changed line.
   */
  readonly agent: AgentFunction<T> | string | AgentProgram | object;
  /** A list, which is split into training and test tasks; both lists; or the path of a file of JSON lines. */
  readonly tasks: readonly T[] | SplitTasks<T> | string;
  readonly reward: (end: AgentEnd<T>) => number | Score | Promise<number | Score>;
  /** The run's name. Default "agent". */
  readonly name?: string;
  /** As in `agentEnvironment`. */
  readonly sampling?: AgentDefinition<T>["sampling"];
  readonly auxiliary?: AgentDefinition<T>["auxiliary"];
  /** Agents that run at the same time. */
  readonly concurrency?: number;
}

/** The environment of such a training. @throws ConfigError as `trainAgent` */
export function trainedAgent<T extends TaskRequest>(training: AgentTraining<T>): Environment<DefinedTask<T>> {
  const { agent, reward, name = "agent", sampling, auxiliary, concurrency } = training;
  if (typeof reward !== "function") throw new ConfigError("reward", reward, { expected: "a function of { task, answer }" });
  const tasks = tasksOf(training.tasks);
  let end = async () => {};
  let during: Interception["during"];
  let loaded: AgentFunction<T>;
  const environment = agentEnvironment<T>({
    ...{ name, tasks: { ...tasks }, sampling, auxiliary, concurrency },
    open: async () => {
      if (isProgram(agent)) return;
      ({ during, end } = await interceptModels());
      loaded = await functionOf<T>(agent);
    },
    close: () => end(),
    run: async (task, model) => {
      const { baseUrl, apiKey, name, signal } = model;
      const keys = [apiKey];
      const episode = { prompt: task.prompt, target: { baseUrl, apiKey, name }, signal, mustAsk: true };
      const answer: unknown = isProgram(agent)
        ? await ownErrorsNamed(() => runProgram(agent, task, model))
        : await during(episode, (own) => {
            keys.push(own.apiKey);
            return ownErrorsNamed(async () => loaded(task.prompt, { ...model, ...own, env: { ...model.env, ...own.env }, task }));
          });
      const kept = keptAnswer(answer, keys); // as it was before the reward read it
      return { ...scoreOf(await reward({ task, answer })), answer: kept };
    },
  });
  rememberFiles(environment, [...filesOfCode(agent).filter((file) => existsSync(file)), ...filesOf(reward)]);
  return environment;
}

function filesOfCode(code: AgentTraining["agent"]): readonly string[] {
  return typeof code === "string" ? [resolve(code)] : isProgram(code) ? code.command : filesOf(code);
}

/** The code of an agent or a reward: digests of its files and of what they import from beside them; its own text where no file is known. */
export function codeOf(code: AgentTraining["agent"]): string {
  const digests = JSON.stringify(codeDigests(filesOfCode(code)));
  return isProgram(code) ? `${code.command} ${digests}` : digests === "{}" ? String(code) : digests;
}

export function tasksOf<T extends TaskRequest>(tasks: AgentTraining<T>["tasks"]): SplitTasks<T> {
  // Tasks of a file have the fields that the reward reads: that is the user's to know.
  if (typeof tasks === "string") return splitTasks(readTasks(resolve(tasks)) as T[]);
  return "train" in tasks ? tasks : splitTasks(tasks);
}

export function isProgram(agent: AgentTraining["agent"]): agent is AgentProgram {
  return typeof agent === "object" && "command" in agent;
}

/** The agent as a function, of its module where that is named. @throws ConfigError for one that is no agent */
export async function functionOf<T extends TaskRequest>(agent: AgentTraining<T>["agent"]): Promise<AgentFunction<T>> {
  const file = typeof agent === "string" ? resolve(agent) : undefined;
  const given: unknown = file === undefined ? agent : await loadModule(file);
  if (typeof given === "function") return given as AgentFunction<T>;
  const found = typeof given === "object" && given !== null ? agentOfObject(given, file) : undefined;
  if (found !== undefined) return found;
  throw new ConfigError(file ?? "agent", typeof given, {
    expected: "a function (prompt) => answer, or an agent object of OpenAI Agents, Mastra, LangGraph or the AI SDK",
    hint: "Write `export default async (prompt) => { … }` around the agent.",
  });
}

/** A module by its path, or a program and its arguments. */
function agentOf(words: readonly string[]): string | AgentProgram {
  const first = present(words[0], "an agent");
  return words.length === 1 && /\.[cm]?[jt]sx?$/.test(first) ? first : { command: words };
}

/** The agent, the file of tasks and the reward of a command line. @throws ConfigError naming the flag that is missing or wrong */
export async function trainingOf(
  words: readonly string[],
  { tasks, reward }: { readonly tasks?: unknown; readonly reward?: string },
): Promise<Pick<AgentTraining, "agent" | "reward"> & { readonly tasks: string }> {
  if (typeof tasks !== "string")
    throw new ConfigError("--tasks", "none", { expected: "a file of JSON lines, each with a prompt" });
  return { agent: agentOf(words), tasks, reward: await rewardOf(reward) };
}

/** Loads the reward of a command line. @throws ConfigError if the file has none */
export async function rewardOf(file: unknown): Promise<AgentTraining["reward"]> {
  const reward = typeof file === "string" ? await loadModule(resolve(file)) : undefined;
  if (typeof reward === "function") return reward as AgentTraining["reward"];
  throw new ConfigError("--reward", file, { expected: "a module whose default export is a function of { task, answer }" });
}
