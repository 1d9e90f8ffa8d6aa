import { z } from "zod";
import { jsonOf } from "../../src/core/json.ts";

/** The content of a judge's answer: a score for each attempt in the order of their ids, or why it cannot be read. */
export type Answer = { readonly scores: number[]; readonly explanations: string[] } | { readonly problem: string };

/** For servers that can hold a model to a schema. Bounds are not in it, as not all of them take these: `readAnswer` checks. */
export const answerJsonSchema = {
  type: "object",
  properties: {
    scores: {
      type: "array",
      items: {
        type: "object",
        properties: { id: { type: "string" }, explanation: { type: "string" }, score: { type: "number" } },
        required: ["id", "explanation", "score"],
        additionalProperties: false,
      },
    },
  },
  required: ["scores"],
  additionalProperties: false,
};

const entrySchema = z.object({
  id: z.union([z.string(), z.number()]).transform((id) => String(id).trim()),
  score: z.union([
    z.number(),
    z
      .string()
      .regex(/^\s*\d*\.?\d+\s*$/, "a number")
      .transform(Number),
  ]),
  explanation: z.string().catch(""),
});
const answerSchema = z.union([
  z.object({ scores: z.array(entrySchema) }),
  z.array(entrySchema).transform((scores) => ({ scores })),
]);

/**
 * Reads `{"scores": [{"id", "score", "explanation"}, …]}`. Tolerated: reasoning before it, code fences, text around it, the bare list, numbers
 * as strings, no explanation. Never guessed: a score that is missing, given twice, or outside of 0 to 1 makes the answer useless.
 * @param attempts their ids are 1 … attempts
 */
export function readAnswer(text: string, attempts: number): Answer {
  const json = jsonIn(text);
  if (json === undefined) return { problem: "it holds no JSON" };
  const parsed = answerSchema.safeParse(json);
  if (!parsed.success) return { problem: 'it is not of the form {"scores": [{"id": "1", "explanation": "…", "score": 0.5}]}' };
  const { scores } = parsed.data;
  const ids = Array.from({ length: attempts }, (_, i) => String(i + 1));
  for (const [i, { id, score }] of scores.entries()) {
    if (!ids.includes(id)) return { problem: `there is no attempt ${JSON.stringify(id.slice(0, 40))}` };
    if (scores.findIndex((other) => other.id === id) !== i) return { problem: `attempt ${id} is scored twice` };
    if (!(score >= 0 && score <= 1)) return { problem: `the score of attempt ${id} is ${score}, not between 0 and 1` };
  }
  const missing = ids.filter((id) => !scores.some((entry) => entry.id === id));
  if (missing.length > 0) return { problem: `no score for attempt ${missing.join(", ")}` };
  const inOrder = ids.flatMap((id) => scores.filter((entry) => entry.id === id));
  return { scores: inOrder.map(({ score }) => score), explanations: inOrder.map(({ explanation }) => explanation) };
}

function jsonIn(text: string): unknown {
  const answer = text.slice(text.lastIndexOf("</think>") + 1);
  for (const [open, close] of [["{", "}"] as const, ["[", "]"] as const]) {
    const value = jsonOf(answer.slice(answer.indexOf(open), answer.lastIndexOf(close) + 1));
    if (typeof value === "object" && value !== null) return value;
  }
  return undefined;
}
