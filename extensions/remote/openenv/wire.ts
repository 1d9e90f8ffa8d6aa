import { z } from "zod";
import { door } from "../../../src/core/door.ts";

/** Messages of OpenEnv 0.10 on the WebSocket `/ws`. Source: openenv/core/env_server/{types,mcp_types,serialization}.py. */

export const spoken = "OpenEnv 0.10";

/** The answer to `reset` and `step`. Every version writes these fields; a newer one that moves the reward is refused by its new field. */
const observationSchema = door(
  "an observation of OpenEnv",
  {
    observation: z.record(z.string(), z.unknown()),
    // Python's json writes NaN and Infinity as words that are no JSON; a reward of null is none.
    reward: z.union([z.number(), z.boolean(), z.null()]),
    done: z.boolean(),
  },
  { ignores: ["metadata"] }, // for programs: the model is not shown it
);
export type Observation = z.output<typeof observationSchema>;

export const errorSchema = z.object({
  message: z.string().default("no message"),
  code: z.string().default("UNKNOWN"),
  max_sessions: z.int().min(1).optional(),
  /** The errors of VALIDATION_ERROR, as pydantic lists them. */
  errors: z
    .array(z.object({ loc: z.array(z.union([z.string(), z.number()])).default([]), msg: z.string() }))
    .catch([])
    .default([]),
});

export const answerSchema = z.discriminatedUnion("type", [
  door("a message of OpenEnv with an observation", { type: z.literal("observation"), data: observationSchema }),
  z.object({ type: z.literal("state"), data: z.record(z.string(), z.unknown()) }),
  z.object({ type: z.literal("mcp"), data: z.record(z.string(), z.unknown()) }),
  z.object({ type: z.literal("error"), data: errorSchema }),
]);
export type Answer = z.output<typeof answerSchema>;

const parametersSchema = z
  .record(z.string(), z.unknown())
  .transform((schema) => ({ ...schema, type: "object" as const, properties: schema.properties ?? {} }));

/** The tools in the observation of `{"type": "list_tools"}`. */
export const toolListSchema = z.array(
  door("a tool of OpenEnv", {
    name: z.string().min(1),
    description: z.string().default(""),
    input_schema: parametersSchema,
  }),
);

/** The answer to `GET /schema`. */
export const schemasSchema = door(
  "the schemas of an OpenEnv server",
  {
    action: z.looseObject({
      title: z.string().optional(),
      description: z.string().optional(),
      properties: z.record(z.string(), z.looseObject({ type: z.unknown().optional() })).default({}),
      required: z.array(z.string()).default([]),
    }),
  },
  { ignores: ["observation", "state", "reset_observation"] }, // what comes back is read as it is
);
export type ActionSchema = z.output<typeof schemasSchema>["action"];

/** An error of a tool call that did not reach the tool, or did not come back. */
export const toolErrorSchema = z.object({ error_type: z.string().default("execution_error"), message: z.string().default("") });
