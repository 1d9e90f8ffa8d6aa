import { z } from "zod";

const contentSchema = z.union([z.string(), z.array(z.looseObject({ type: z.literal("text"), text: z.string() }))]);
const stepSchema = z.discriminatedUnion("source", [
  z.looseObject({ source: z.enum(["system", "user"]), message: contentSchema }),
  z.looseObject({
    source: z.literal("agent"),
    message: contentSchema.nullish(),
    reasoning_content: z.string().nullish(),
    tool_calls: z
      .array(z.looseObject({ tool_call_id: z.string(), function_name: z.string(), arguments: z.record(z.string(), z.unknown()) }))
      .nullish(),
    observation: z
      .looseObject({
        results: z.array(z.looseObject({ source_call_id: z.string().nullish(), content: contentSchema.nullish() })),
      })
      .nullish(),
  }),
]);

/**
 * A trajectory in Harbor's ATIF as a line of the OpenAI chat format. Observations without a call are the user's words; those behind the last action
 * are left out.
 */
export const atifSchema = z
  .looseObject({
    schema_version: z.templateLiteral(["ATIF-v", z.string()]),
    agent: z.looseObject({ tool_definitions: z.array(z.unknown()).nullish() }),
    steps: z.array(stepSchema),
  })
  .transform(({ agent, steps }) => {
    const messages = steps.flatMap((step) => {
      if (step.source !== "agent") return [{ role: step.source, content: step.message }];
      const { message, reasoning_content, tool_calls: calls, observation } = step;
      const tool_calls = calls?.map(({ tool_call_id: id, function_name: name, arguments: args }) => ({
        id,
        function: { name, arguments: args },
      }));
      const results = (observation?.results ?? []).map(({ source_call_id: id, content }) =>
        id ? { role: "tool", tool_call_id: id, content: content ?? "" } : { role: "user", content: content ?? "" },
      );
      return [{ role: "assistant", content: message ?? "", reasoning_content, tool_calls }, ...results];
    });
    const last = messages.findLastIndex(({ role }) => role === "assistant");
    return { messages: messages.slice(0, last + 1), tools: agent.tool_definitions ?? undefined };
  });
