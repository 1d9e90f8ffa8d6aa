import { type Interception, interceptModels } from "../agents/intercept.ts";
import { type MeasuredAgent, type MeasureOptions, measure } from "../agents/measure.ts";
import { runProgram } from "../agents/program.ts";
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
 * @throws ConfigError for a module that is no agent; RangeError without tasks. What an attempt throws is its error, with the reward 0
 */
export async function evaluateAgent<T extends TaskRequest>(evaluation: AgentEvaluation<T>): Promise<MeasuredAgent<T>> {
  const { model, ...rest } = evaluation;
  if (model === undefined) return measured(rest);
  const served = await serveToAgents(model);
  try {
    return await measured({ ...rest, endpoint: served });
  } finally {
    await served.close();
  }
}

async function measured<T extends TaskRequest>(evaluation: Omit<AgentEvaluation<T>, "model">): Promise<MeasuredAgent<T>> {
  const { agent, reward, tasks, endpoint, ...options } = evaluation;
  const interception: Interception | undefined =
    endpoint === undefined || isProgram(agent) ? undefined : interceptModels(endpoint.baseUrl, endpoint.name);
  try {
    const run = isProgram(agent) ? agent : await functionOf<T>(agent);
    const answerOf = async (task: T, signal: AbortSignal): Promise<unknown> => {
      const { baseUrl = "", apiKey = "", name = agentModelName } = endpoint ?? {};
      const env = endpoint === undefined ? {} : environmentOfAgent(baseUrl, apiKey, name);
      if (typeof run !== "function") return runProgram(run, task, { env, signal });
      const call = async () => run(task.prompt, { baseUrl, apiKey, name, env, signal, task });
      return interception === undefined ? call() : interception.during(apiKey, call);
    };
    return await measure(
      tasks,
      async (task, signal) => {
        const score = await reward({ task, answer: await answerOf(task, signal) });
        return typeof score === "number" ? score : score.reward;
      },
      options,
    );
  } finally {
    interception?.end();
  }
}
