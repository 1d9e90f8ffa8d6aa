import { withOwnModels } from "../agents/intercept.ts";
import { type MeasuredAgent, type MeasureOptions, measure } from "../agents/measure.ts";
import { openRelay } from "../agents/relay.ts";
import { optionsDoor } from "../core/door.ts";
import type { TaskRequest } from "../environments/define.ts";
import { type AttemptingAgent, openAgent } from "./agent-attempts.ts";
import type { AgentEndpoint } from "./served-agent-model.ts";
import { serveToAgents } from "./served-agent-model.ts";
import type { AgentTraining } from "./train-agent.ts";

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
  const { agent, reward, tasks, endpoint, timeoutMs, ...options } = evaluation;
  const release = endpoint === undefined ? withOwnModels() : undefined;
  const relay = endpoint === undefined ? undefined : await openRelay(endpoint);
  let opened: AttemptingAgent<T> | undefined;
  try {
    const model = relay && { baseUrl: relay.baseUrl, name: endpoint?.name };
    const played = await openAgent<T>({ agent, reward, timeoutMs }, model);
    opened = played;
    return await measure(tasks, (task) => played.attempt(task, relay?.open()), { ...options, scoredBy: String(reward) });
  } finally {
    await opened?.close();
    await relay?.close();
    release?.();
  }
}
