import type { AssistantMessage, ToolMessage } from "../../../src/core/messages.ts";
import type { Trajectory, Turn } from "../../../src/core/trajectory.ts";

interface AtifStep {
  readonly source: "system" | "user" | "agent";
  readonly message: string;
  readonly [field: string]: unknown;
}

/**
 * An episode in Harbor's Agent Trajectory Interchange Format (ATIF-v1.8; harbor/models/trajectories of harbor 0.26). Each action has its token ids
 * and log-probs, where it was sampled here. The results of an action's calls are its observation.
 * @param model that acted
 */
export function atifOf(trajectory: Trajectory, model: string): object {
  const { id, task, messages, turns, reward, scores, stopReason, error } = trajectory;
  const steps: AtifStep[] = [];
  // A protocol that makes one message of many turns leaves none to give the numbers to.
  const areTurns = messages.filter(({ role }) => role === "assistant").length === turns.length;
  let turn = 0;
  for (const [i, message] of messages.entries()) {
    if (message.role === "tool") continue;
    if (message.role !== "assistant") steps.push({ source: message.role, message: message.content });
    else {
      const end = messages.findIndex(({ role }, at) => at > i && role !== "tool");
      const results = messages.slice(i + 1, end < 0 ? undefined : end).filter((each) => each.role === "tool");
      steps.push(agentStep(message, results, `${id}/${i}`, areTurns ? turns[turn] : undefined));
      turn++;
    }
  }
  const sampled = turns.reduce((sum, { action, usage }) => sum + (usage?.completionTokens ?? action.length), 0);
  const extra = { task, reward, scores, stop_reason: stopReason, ...(error === undefined ? {} : { error }) };
  return {
    schema_version: "ATIF-v1.8",
    trajectory_id: id,
    agent: { name: "retrograde", version: "1", model_name: model },
    steps: steps.map((step, i) => ({ step_id: i + 1, ...step })),
    final_metrics: { total_completion_tokens: sampled, total_steps: steps.length },
    extra,
  };
}

function agentStep(
  { content, reasoning, toolCalls = [] }: AssistantMessage,
  results: readonly ToolMessage[],
  id: string,
  turn: Turn | undefined,
): AtifStep {
  const calls = toolCalls.map((call, i) => ({
    tool_call_id: call.id ?? `${id}/${i}`,
    function_name: call.name,
    arguments: call.arguments,
    ...(call.argumentsText === undefined ? {} : { extra: { arguments_text: call.argumentsText } }),
  }));
  // A call that could not be read has an answer and no place among the calls.
  const inOrder = results.length === calls.length;
  const observed = results.map(({ callId, content }, i) => {
    const answered = calls.find((call) => call.tool_call_id === callId) ?? (inOrder ? calls[i] : undefined);
    return { ...(answered === undefined ? {} : { source_call_id: answered.tool_call_id }), content };
  });
  return {
    source: "agent",
    message: content,
    llm_call_count: 1,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(observed.length === 0 ? {} : { observation: { results: observed } }),
    ...(turn === undefined || isUncounted(turn) ? {} : { metrics: metricsOf(turn) }),
  };
}

/** Whether the turn is of an endpoint that named no tokens. */
const isUncounted = ({ action, usage }: Turn) => action.length === 0 && usage === undefined;

function metricsOf({ context, action, samplerLogprobs, usage }: Turn): object {
  if (usage !== undefined) return { prompt_tokens: usage.promptTokens, completion_tokens: usage.completionTokens };
  return {
    prompt_tokens: context.length,
    completion_tokens: action.length,
    prompt_token_ids: context.slice(),
    completion_token_ids: action,
    logprobs: samplerLogprobs,
  };
}
