import { isServiceError } from "../agents/blame.ts";
import { type Interception, interceptModels, type OwnAccess, withOwnModels } from "../agents/intercept.ts";
import { type MeasuredAgent, type MeasureOptions, measure } from "../agents/measure.ts";
import { runProgram } from "../agents/program.ts";
import { openRelay } from "../agents/relay.ts";
import { withinTime } from "../core/deadline.ts";
import { optionsDoor } from "../core/door.ts";
import { reasonOf } from "../core/errors.ts";
import { type Outcome, reachesOne } from "../core/outcome.ts";
import { environmentOfAgent } from "../environments/agent.ts";
import type { TaskRequest } from "../environments/define.ts";
import { agentModelName } from "../inference/server.ts";
import type { AgentEndpoint } from "./served-agent-model.ts";
import { serveToAgents } from "./served-agent-model.ts";
import { type AgentTraining, functionOf, isProgram } from "./train-agent.ts";

export interface AgentEvaluation<T extends TaskRequest = TaskRequest>
  extends Pick<AgentTraining<T>, "agent" | "reward">,
    MeasureOptions {
  readonly tasks: readonly T[];
  /** The model that the agent calls. Default: whichever it calls by itself. */
  readonly endpoint?: AgentEndpoint;
  /** A model of this machine instead: a folder, a run's folder or a name, as in `train`. It is served while the agent is measured. */
  readonly model?: string;
}

/**
 * Measures an agent on tasks: with the model of an endpoint or of this machine, reached as in `trainAgent`, or with its own.
 * @example
 * const tasks = [{ prompt: "When do I have Demo?", time: "14:30" }];
 * const agent = async (prompt: string) => `Ask me another time: ${prompt}`;
 * const reward = ({ task, answer }: AgentEnd<(typeof tasks)[number]>) => (String(answer).includes(task.time) ? 1 : 0);
 * const { success, allSucceed } = await evaluateAgent({ agent, tasks, reward, k: 5 });
 * @throws ConfigError for a module that is no agent, or a setting that there is not; RangeError without tasks; MeasurementError where every attempt
 * ended by an error of a server, the network or the reward. Such attempts have no score; what an agent throws by itself is its failure, with the
 * reward 0
 */
export async function evaluateAgent<T extends TaskRequest>(evaluation: AgentEvaluation<T>): Promise<MeasuredAgent<T>> {
  refuseUnknown({ ...evaluation });
  const { model, ...rest } = evaluation;
  if (model === undefined) return measured(rest);
  const served = await serveToAgents(model);
  try {
    return await measured({ ...rest, endpoint: served });
  } finally {
    await served.close();
  }
}

const refuseUnknown = optionsDoor<AgentEvaluation>("evaluateAgent", {
  ...{ agent: true, reward: true, tasks: true, endpoint: true, model: true },
  ...{ k: true, concurrency: true, timeoutMs: true },
});

async function measured<T extends TaskRequest>(evaluation: Omit<AgentEvaluation<T>, "model">): Promise<MeasuredAgent<T>> {
  const { agent, reward, tasks, endpoint, timeoutMs = 120_000, ...options } = evaluation;
  const release = endpoint === undefined ? withOwnModels() : undefined;
  const relay = endpoint === undefined ? undefined : await openRelay(endpoint);
  const name = endpoint?.name ?? agentModelName;
  let interception: Interception | undefined;
  try {
    if (relay !== undefined && !isProgram(agent)) interception = await interceptModels();
    const run = isProgram(agent) ? agent : await functionOf<T>(agent);
    const answerOf = async (task: T, apiKey: string, signal: AbortSignal): Promise<unknown> => {
      const baseUrl = relay?.baseUrl ?? "";
      const env = relay === undefined ? {} : environmentOfAgent(baseUrl, apiKey, name);
      if (typeof run !== "function") return runProgram(run, task, { env, signal });
      const call = async (own: OwnAccess) => run(task.prompt, { ...own, name, signal, task });
      if (interception === undefined) return call({ baseUrl, apiKey, env });
      return interception.during({ prompt: task.prompt, target: { baseUrl, apiKey, name }, signal }, call);
    };
    const attempt = async (task: T): Promise<Outcome> => {
      const way = relay?.open();
      let answer: unknown;
      try {
        answer = await withinTime((signal) => answerOf(task, way?.apiKey ?? "", signal), timeoutMs);
        // An answer that the agent made up for a server that gave none is no answer.
        const fault = way?.fault();
        if (fault !== undefined) return { kind: "error", error: fault };
      } catch (error) {
        const fault = way?.fault() ?? (isServiceError(error) ? reasonOf(error) : undefined);
        if (fault !== undefined) return { kind: "error", error: fault };
        return { kind: "score", reward: 0, success: false, failure: reasonOf(error) };
      } finally {
        way?.end();
      }
      return scoreOf(() => reward({ task, answer }), timeoutMs);
    };
    return await measure(tasks, attempt, { ...options, scoredBy: String(reward) });
  } finally {
    await interception?.end();
    await relay?.close();
    release?.();
  }
}

/** Scores an attempt. An error of the reward is no score. */
async function scoreOf(score: () => ReturnType<AgentTraining["reward"]>, timeoutMs: number): Promise<Outcome> {
  try {
    const given = await withinTime(async () => score(), timeoutMs);
    const reward = typeof given === "number" ? given : given.reward;
    if (!Number.isFinite(reward)) throw new RangeError(`the reward is ${reward}; expected a finite number`);
    return { kind: "score", reward, success: reachesOne(reward) };
  } catch (error) {
    return { kind: "error", error: `reward: ${reasonOf(error)}` };
  }
}
