import { z } from "zod";
import { door } from "./door.ts";

export const callFields = {
  id: z.string().optional(),
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  argumentsText: z.string().optional(),
};
const callSchema = door("a tool call of a message", callFields);

/** A message that an environment gives. `tool_calls` and the like would be dropped by every template, and the model shown or taught something else. */
export const messageDoor = z.discriminatedUnion("role", [
  door("a system message", { role: z.literal("system"), content: z.string() }),
  door("a user's message", { role: z.literal("user"), content: z.string() }),
  door("an assistant's own message", {
    role: z.literal("assistant"),
    content: z.string(),
    reasoning: z.string().optional(),
    toolCalls: z.array(callSchema).optional(),
    learned: z.literal(false).optional(),
  }),
  door("a tool's message", { role: z.literal("tool"), name: z.string(), callId: z.string().optional(), content: z.string() }),
]);
