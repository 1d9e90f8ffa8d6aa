import type { ConversationReply, ConversationRequest } from "../../src/chat/conversation.ts";
import { optionsDoor } from "../../src/core/door.ts";
import { EnvError } from "../../src/core/errors.ts";
import type { Message } from "../../src/core/messages.ts";
import { type DefinedTask, type EnvironmentDefinition, type TaskRequest, tasksOf } from "../../src/environments/define.ts";
import type { Environment, Played, Score, TokenPolicy } from "../../src/environments/environment.ts";
import type { InferenceModel } from "../inference/model.ts";
import { agentModelName, type RunningInference } from "../inference/server.ts";
import { type Ownership, servedPolicy } from "./agent-policy.ts";
import { newKey, serveByKey } from "./keys.ts";
import { inEpisodeSpan } from "./tracing.ts";

/** An agent by someone else, and the tasks that it is given. */
export interface AgentDefinition<T extends TaskRequest> extends Pick<EnvironmentDefinition<T>, "name" | "tasks" | "close"> {
  /** Agents that run at the same time. Default no limit but `rollout.concurrency`. */
  readonly concurrency?: number;
  /**
   * The treatment of settings of sampling in the agent's requests (temperature, top_p, seed, penalties). The run has its own, under which the
   * log-probs are recorded. "override" samples by the run's and counts the request in the metric `score/agent.overridden`; "refuse" answers
   * with the error 400. Default "override".
   */
  readonly sampling?: Ownership;
  /**
   * The treatment of answers beside the agent's work, such as titles: single answers without tools and without a form, in an episode whose
   * other requests have tools, which are not the last and which no later request repeats. They are counted in the metric
   * `score/agent.auxiliary`. "leave" leaves them out of training. Default "leave".
   */
  readonly auxiliary?: "leave" | "train";
  /** Called once before the first task. @param endpoint where every agent of the run reaches the model */
  open?(endpoint: Pick<AgentModel, "baseUrl">): void | Promise<void>;
  /** Runs the agent on one task and gives its reward. What it throws ends the episode with the reward 0. */
  run(task: T, model: AgentModel): Promise<number | AgentScore>;
}

/** A score, and what the agent's code returned, for the record. */
export type AgentScore = Score & Pick<Played, "answer">;

/** The model that is trained, as one run of the agent reaches it. */
export interface AgentModel {
  /** An address with `/v1`, for clients of Chat Completions, of Responses and, without `/v1`, of Anthropic's Messages and of Gemini. */
  readonly baseUrl: string;
  /** The key of this run alone. It decides whose turn an answer is. */
  readonly apiKey: string;
  /** A name of the model for requests. Any other name means the same model. */
  readonly name: string;
  /** Environment variables with which clients of OpenAI, Anthropic and Google in another process reach the model. */
  readonly env: Readonly<Record<string, string>>;
  /** Aborted when nobody waits for the run any more. */
  readonly signal: AbortSignal;
  /** The same without HTTP. */
  converse(request: ConversationRequest): Promise<ConversationReply>;
}

const checkDefinition = optionsDoor<AgentDefinition<TaskRequest>>("agentEnvironment", {
  ...{ name: true, tasks: true, concurrency: true, sampling: true, auxiliary: true, open: true, close: true, run: true },
});

/**
 * Makes an environment of an agent that calls the model by an interface of OpenAI, Anthropic or Google, in any framework or none. Every answer
 * that it gets is a turn and is trained, in the tokens that were sampled. Its conversations may extend each other, fork, be compacted, or belong
 * to sub-agents: all are branches of one tree of contexts. Such rollouts do not branch by themselves (`rollout.branching`).
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
export function agentEnvironment<T extends TaskRequest>(definition: AgentDefinition<T>): Environment<DefinedTask<T>> {
  checkDefinition({ ...definition });
  const { name, concurrency } = definition;
  const byKey = new Map<string, InferenceModel>();
  let server: RunningInference | undefined;
  const close = async () => {
    await server?.close();
    server = undefined;
    await definition.close?.();
  };
  return {
    ...{ name, ...tasksOf(definition.tasks), concurrency },
    open: async () => {
      server = await serveByKey(byKey);
      try {
        await definition.open?.({ baseUrl: `${server.baseUrl}/v1` });
      } catch (error) {
        await close();
        throw error;
      }
    },
    close,
    start: () => {
      throw new EnvError(`an episode of "${name}"`, "started by hand", {
        expected: "a rollout: the agent holds the conversation",
        hint: "Use it with train and eval. Branching, env check and chat need an environment that answers actions; `retrograde-rl check` checks an agent.",
      });
    },
    play: async ({ request }, policy) => {
      if (server === undefined) throw new EnvError(`"${name}"`, "not open", { expected: "open() before the first episode" });
      return episodeOf(definition, request, policy, { byKey, baseUrl: `${server.baseUrl}/v1` });
    },
  };
}

/** One run of the agent, with a key of its own. */
async function episodeOf<T extends TaskRequest>(
  definition: AgentDefinition<T>,
  request: T,
  policy: TokenPolicy,
  { byKey, baseUrl }: { readonly byKey: Map<string, InferenceModel>; readonly baseUrl: string },
): Promise<Played> {
  const { sampling = "override", auxiliary = "leave" } = definition;
  const key = newKey();
  let messages: readonly Message[] = [];
  const converse = async (requested: ConversationRequest) => {
    const reply = await policy.converse(requested);
    messages = [...requested.messages, reply.message];
    return reply;
  };
  const { model, counts, refusals, unknownRoutes } = servedPolicy(policy, converse, sampling);
  byKey.set(key, model);
  // An agent that does not end is left behind: what it asks from then on is refused.
  policy.signal.addEventListener("abort", () => byKey.delete(key), { once: true });
  const reached = { baseUrl, apiKey: key, name: agentModelName, converse, signal: policy.signal };
  const ran = (traced: Readonly<Record<string, string>>) =>
    definition.run(request, { ...reached, env: { ...environmentOfAgent(baseUrl, key), ...traced } });
  try {
    const { answer, ...score } = await inEpisodeSpan(policy.episode, async (traced) => scoreOf(await ran(traced)));
    const named = messages.length === 0 ? [...refusals, ...unknownRoutes] : refusals;
    const fault = named.length === 0 ? undefined : refusedText(named);
    const without = auxiliary === "leave" ? policy.captured().auxiliary : [];
    return { messages, score: { ...score, scores: { ...score.scores, ...counts() } }, answer, fault, without };
  } catch (error) {
    // Clients hide the reason behind a text of their own.
    const named = [...refusals, ...unknownRoutes];
    if (named.length > 0) throw new Error(refusedText(named), { cause: error });
    throw error;
  } finally {
    byKey.delete(key);
  }
}

/** @throws EnvError for a value that others' code gave instead of a reward */
export function scoreOf(given: number | AgentScore | undefined): AgentScore {
  if (typeof given === "number") return { reward: given };
  if (typeof given?.reward === "number") return given;
  throw new EnvError("the reward of an agent", given, {
    expected: "a number, or an object with a number in `reward`",
    hint: "Return it, and await what is a promise.",
  });
}

function refusedText(refusals: readonly string[]): string {
  return `the model's endpoint refused ${refusals.length === 1 ? "a request" : `${refusals.length} requests`} of the agent: ${refusals[0]}`;
}

/** The customary variables of an interface's clients. Anthropic's add `/v1` to the address themselves. */
export function environmentOfAgent(baseUrl: string, key: string, name = agentModelName): Record<string, string> {
  return {
    OPENAI_BASE_URL: baseUrl,
    OPENAI_API_BASE: baseUrl,
    OPENAI_API_KEY: key,
    OPENAI_MODEL: name,
    ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ""),
    ANTHROPIC_API_KEY: key,
    // Google's add `/v1beta`, and ask another service, Vertex AI, where a variable names it.
    GOOGLE_GEMINI_BASE_URL: baseUrl.replace(/\/v1$/, ""),
    GEMINI_API_KEY: key,
    GOOGLE_API_KEY: key,
    GOOGLE_GENAI_USE_VERTEXAI: "false",
    GOOGLE_GENAI_USE_ENTERPRISE: "false",
  };
}
