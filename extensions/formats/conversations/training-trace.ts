import { z } from "zod";
import { door } from "../../../src/core/door.ts";
import { present } from "../../../src/core/present.ts";

const messageSchema = z.looseObject({ role: z.string() }); // readConversation closes it
/** How the answers of a trace were sampled, and what servers write beside them. */
const ofRequests = [
  ...[
    "model",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "n",
    "stop",
    "max_tokens",
    "logprobs",
  ],
  ...["max_completion_tokens", "top_logprobs", "return_token_ids", "return_tokens_as_token_ids", "user", "metadata", "store"],
  ...["frequency_penalty", "presence_penalty", "repetition_penalty", "reasoning_effort", "parallel_tool_calls", "tool_choice"],
];
const ofResponses = [
  ...["id", "object", "created", "model", "usage", "system_fingerprint", "service_tier", "prompt_token_ids", "prompt_logprobs"],
  "kv_transfer_params",
];
const choiceSchema = door(
  "a choice of a trace",
  { message: messageSchema },
  { ignores: ["index", "finish_reason", "stop_reason", "logprobs", "token_ids", "matched_stop"] },
);
const turnSchema = door(
  "a turn of a trace",
  {
    prompt_token_ids: z.array(z.int()),
    loss_mask: z.array(z.union([z.literal(0), z.literal(1)])),
    request: door(
      "a request of a trace",
      { messages: z.array(messageSchema).min(1), tools: z.array(z.unknown()).nullish() },
      { ignores: ofRequests },
    ),
    response: door("a response of a trace", { choices: z.array(choiceSchema).length(1) }, { ignores: ofResponses }),
  },
  { ignores: ["node_id", "completion_token_ids", "per_token_logps", "metadata"] },
).refine(({ prompt_token_ids: { length }, loss_mask: mask }) => mask.slice(length).every((bit) => bit === 1), {
  path: ["loss_mask"],
  error: "masks a part of the completion, and a demonstration teaches all of it: leave this turn and those behind it out",
});
type TraceTurn = z.output<typeof turnSchema>;

/**
 * OpenEnv's `TrainingTrace` (openenv 0.10) as lines of the OpenAI chat format: the messages of each call that no later call continues, with its answer.
 * Sub-agents and branches are conversations of their own. Token ids are another model's and are left out.
 */
export const trainingTraceSchema = door("a trace", { schema_version: z.literal(1), turns: z.array(turnSchema).min(1) }).transform(
  ({ turns }) =>
    turns
      .filter((turn, i) => !turns.slice(i + 1).some((later) => continues(later, turn)))
      .map(({ request: { messages, tools }, response }) => ({
        messages: [...messages, answerOf(response)],
        tools: tools?.length ? tools : undefined,
      })),
);

function answerOf({ choices }: TraceTurn["response"]): z.output<typeof messageSchema> {
  return present(choices[0], "the one choice").message;
}

function continues(later: TraceTurn, turn: TraceTurn): boolean {
  const said = [...turn.request.messages, answerOf(turn.response)].map(contentOf);
  const sent = later.request.messages.map(contentOf);
  return sent.length > said.length && said.every((message, i) => message === sent[i]);
}

function contentOf({ role, content, tool_calls: calls, tool_call_id: id }: z.output<typeof messageSchema>): string {
  return JSON.stringify([role, content || "", calls ?? [], id]);
}
