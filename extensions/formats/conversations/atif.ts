import { z } from "zod";
import { door } from "../../../src/core/door.ts";

const part = door("a part of text in ATIF", { type: z.literal("text", "only text"), text: z.string() });
const contentSchema = z.union([z.string(), z.array(part)]);
const callSchema = door(
  "a call in ATIF",
  { tool_call_id: z.string(), function_name: z.string(), arguments: z.record(z.string(), z.unknown()) },
  { ignores: ["extra"] },
);
const resultSchema = door(
  "a result in ATIF",
  { source_call_id: z.string().nullish(), content: contentSchema.nullish() },
  { ignores: ["subagent_trajectory_ref", "extra"] },
);
const ofSteps = ["step_id", "timestamp", "model_name", "reasoning_effort", "metrics", "extra"];
const stepSchema = z.discriminatedUnion("source", [
  door(
    "a step of ATIF that is not the agent's",
    { source: z.enum(["system", "user"]), message: contentSchema },
    { ignores: [...ofSteps, "is_copied_context"] },
  ),
  door(
    "an agent's step of ATIF",
    {
      source: z.literal("agent"),
      message: contentSchema.nullish(),
      reasoning_content: z.string().nullish(),
      tool_calls: z.array(callSchema).nullish(),
      observation: door("an observation of ATIF", { results: z.array(resultSchema) }).nullish(),
      is_copied_context: z.boolean().nullish(),
      llm_call_count: z.int().min(0).nullish(),
    },
    { ignores: ofSteps },
  ),
]);
const agentSchema = door(
  "the agent of ATIF",
  { tool_definitions: z.array(z.unknown()).nullish() },
  { ignores: ["name", "version", "model_name", "extra"] },
);

/**
 * A trajectory in Harbor's ATIF (up to 1.7) as a line of the OpenAI chat format. Observations without a call are the user's words; those behind the last
 * action are left out. Steps that were copied from another trajectory, and those that no model made, are shown and not learned.
 */
export const atifSchema = door(
  "a trajectory in ATIF",
  { schema_version: z.string(), agent: agentSchema, steps: z.array(stepSchema) },
  {
    ignores: [
      ...["session_id", "trajectory_id", "notes", "final_metrics", "continued_trajectory_ref", "extra"],
      "subagent_trajectories",
    ],
  },
).transform(({ agent, steps }) => {
  const messages = steps.flatMap((step) => {
    if (step.source !== "agent") return [{ role: step.source, content: step.message }];
    const { message, reasoning_content, tool_calls: calls, observation, is_copied_context, llm_call_count } = step;
    const tool_calls = calls?.map(({ tool_call_id: id, function_name: name, arguments: args }) => ({
      id,
      function: { name, arguments: args },
    }));
    const results = (observation?.results ?? []).map(({ source_call_id: id, content }) =>
      id ? { role: "tool", tool_call_id: id, content: content ?? "" } : { role: "user", content: content ?? "" },
    );
    const shownOnly = is_copied_context === true || llm_call_count === 0;
    const flags = shownOnly ? { train: false } : {};
    return [{ role: "assistant", content: message ?? "", reasoning_content, tool_calls, ...flags }, ...results];
  });
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  return { messages: messages.slice(0, last + 1), tools: agent.tool_definitions ?? undefined };
});
