import { z } from "zod";
import { present } from "../../core/present.ts";

const messageSchema = z.looseObject({ role: z.string() });
const turnSchema = z
  .looseObject({
    prompt_token_ids: z.array(z.int()),
    loss_mask: z.array(z.union([z.literal(0), z.literal(1)])),
    request: z.looseObject({ messages: z.array(messageSchema).min(1), tools: z.array(z.unknown()).nullish() }),
    response: z.looseObject({ choices: z.array(z.looseObject({ message: messageSchema })).length(1) }),
  })
  .refine(({ prompt_token_ids: { length }, loss_mask: mask }) => mask.slice(length).every((bit) => bit === 1), {
    path: ["loss_mask"],
    error: "masks a part of the completion, and a demonstration teaches all of it: leave this turn and those behind it out",
  });
type TraceTurn = z.output<typeof turnSchema>;

/**
 * OpenEnv's `TrainingTrace` (openenv 0.10) as lines of the OpenAI chat format: the messages of each call that no later call continues, with its answer.
 * Sub-agents and branches are conversations of their own. Token ids are another model's and are left out.
 */
export const trainingTraceSchema = z
  .looseObject({ schema_version: z.literal(1), turns: z.array(turnSchema).min(1) })
  .transform(({ turns }) =>
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
  const asked = later.request.messages.map(contentOf);
  return asked.length > said.length && said.every((message, i) => message === asked[i]);
}

function contentOf({ role, content, tool_calls: calls, tool_call_id: id }: z.output<typeof messageSchema>): string {
  return JSON.stringify([role, content || "", calls ?? [], id]);
}
