import { randomBytes } from "node:crypto";
import { EnvError } from "../core/errors.ts";
import type { Message } from "../core/messages.ts";
import { Refusal } from "../http/refusal.ts";
import { type InferenceModel, type RunningInference, serveInference } from "../inference/server.ts";
import { type DefinedTask, type EnvironmentDefinition, type Request, tasksOf } from "./define.ts";
import type { ConversationReply, ConversationRequest, Environment, Score, TokenPolicy } from "./environment.ts";

/** An agent that somebody else wrote, and the tasks that it is given. */
export interface AgentDefinition<T extends Request> extends Pick<EnvironmentDefinition<T>, "name" | "tasks" | "open" | "close"> {
  /** Agents that run at the same time. Default no limit but `rollout.concurrency`. */
  readonly concurrency?: number;
  /** Runs the agent on one task and gives its reward. What it throws ends the episode with the reward 0. */
  run(task: T, model: AgentModel): Promise<number | Score>;
}

/** The model that is trained, as one run of the agent reaches it. */
export interface AgentModel {
  /** An address of the chat-completions protocol, with `/v1`, for any client of the OpenAI interface. */
  readonly baseUrl: string;
  /** The key of this run alone. */
  readonly apiKey: string;
  /** The model's name in requests: it belongs to this run alone. */
  readonly name: string;
  /** Aborted when nobody waits for the run any more. */
  readonly signal: AbortSignal;
  /** The same without HTTP. */
  converse(request: ConversationRequest): Promise<ConversationReply>;
}

/**
 * Makes an environment of an agent that calls the model by the chat-completions protocol, in any framework or none. Every answer that it gets
 * is a turn and is trained, in the tokens that were sampled. Its conversations may extend each other, fork, be compacted, or belong to
 * sub-agents: all are branches of one tree of contexts. Such rollouts do not branch by themselves (`rollout.branching`).
 * @example
 * const capitals = agentEnvironment({
 *   name: "capitals",
 *   tasks: { train: [{ prompt: "The capital of France?", answer: "Paris" }] },
 *   run: async ({ prompt, answer }, { baseUrl, apiKey, name }) => {
 *     const body = JSON.stringify({ model: name, messages: [{ role: "user", content: prompt }] });
 *     const headers = { authorization: `Bearer ${apiKey}` };
 *     const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", headers, body });
 *     return (await response.text()).includes(answer) ? 1 : 0;
 *   },
 * });
 */
export function agentEnvironment<T extends Request>(definition: AgentDefinition<T>): Environment<DefinedTask<T>> {
  const { name, concurrency } = definition;
  const models = new Map<string, InferenceModel>();
  let server: RunningInference | undefined;
  let count = 0;
  return {
    name,
    ...tasksOf(definition.tasks),
    ...(concurrency === undefined ? {} : { concurrency }),
    open: async () => {
      server = await serveInference({ host: "127.0.0.1", port: 0, keys: [], limits: { maxBytes: 2 ** 26 }, models });
      await definition.open?.();
    },
    close: async () => {
      await server?.close();
      server = undefined;
      await definition.close?.();
    },
    start: () => {
      throw new EnvError(`an episode of "${name}"`, "started by hand", {
        expected: "a rollout: the agent holds the conversation",
        hint: "Use it with train and eval. Branching, env check and chat need an environment that answers actions.",
      });
    },
    play: async ({ request }, policy) => {
      if (server === undefined) throw new EnvError(`"${name}"`, "not open", { expected: "open() before the first episode" });
      const model = `run-${count++}`;
      const key = randomBytes(24).toString("base64url");
      let messages: readonly Message[] = [];
      const converse = async (asked: ConversationRequest) => {
        const reply = await policy.converse(asked);
        messages = [...asked.messages, reply.message];
        return reply;
      };
      models.set(model, { ...servedPolicy(policy, converse), key });
      // An agent that does not end is left behind: what it asks from then on is refused.
      policy.signal.addEventListener("abort", () => models.delete(model), { once: true });
      try {
        const reached = { baseUrl: `${server.baseUrl}/v1`, apiKey: key, name: model, signal: policy.signal, converse };
        const score = await definition.run(request, reached);
        return { messages, score: typeof score === "number" ? { reward: score } : score };
      } finally {
        models.delete(model);
      }
    },
  };
}

/** The policy as a model of the server. Sampling settings that are not the run's would make the recorded log-probs another distribution's. */
function servedPolicy(policy: TokenPolicy, converse: AgentModel["converse"]): InferenceModel {
  return {
    maxLength: policy.maxLength,
    vocabularySize: policy.vocabularySize,
    converse: ({ messages, tools, maxTokens, stopStrings, ...asked }) => {
      for (const name of ["temperature", "topP", "topK"] as const) {
        const value = asked[name];
        if (value !== undefined && value !== policy[name])
          throw new Refusal(422, name, value, {
            expected: `${policy[name]}, the run's own`,
            hint: `Leave it out of the agent's requests, or set rollout.${name}.`,
          });
      }
      return converse({ messages, tools, maxTokens, stopStrings });
    },
    sample: () => {
      throw new Refusal(400, "route", "token ids", { expected: "POST /v1/chat/completions, for an agent's messages" });
    },
  };
}
