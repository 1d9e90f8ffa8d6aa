import { z } from "zod";
import type { Trajectory } from "../core/trajectory.ts";
import { lastAnswer } from "./reward.ts";
import { common, eachEpisode } from "./reward-kind.ts";

/**
 * Mean of the configured checks, each from 0 to 1:
 *   toolCalls   valid calls / all calls; 1 where there are none
 *   pattern     1 if the last message matches
 *   tags        1 if each occurs exactly once, closed, in the given order
 */
export const format = eachEpisode({
  settings: z
    .strictObject({
      kind: z.literal("format"),
      ...common,
      toolCalls: z.boolean().default(true).describe("checks the share of valid tool calls"),
      pattern: z
        .string()
        .refine(isPattern, "a regular expression")
        .optional()
        .describe("a regular expression that the last message must match; the dot matches line breaks"),
      tags: z
        .array(z.string().regex(/^\w+$/, "a tag's name, without brackets"))
        .refine(
          (tags) => !tags.includes("think"),
          'tags other than "think": reasoning is taken out of messages before they are scored',
        )
        .default([])
        .describe("tags that must each occur once in the last message, in this order"),
    })
    .refine(
      ({ toolCalls, pattern, tags }) => toolCalls || pattern !== undefined || tags.length > 0,
      "something to look at: toolCalls, pattern or tags",
    ),
  score(trajectory, { toolCalls, pattern, tags }) {
    const answer = lastAnswer(trajectory);
    const checks = [
      ...(toolCalls ? [validCallShare(trajectory)] : []),
      ...(pattern === undefined ? [] : [Number(new RegExp(pattern, "s").test(answer))]),
      ...(tags.length === 0 ? [] : [Number(hasTags(answer, tags))]),
    ];
    return checks.reduce((sum, check) => sum + check, 0) / checks.length;
  },
});

function isPattern(source: string): boolean {
  try {
    new RegExp(source, "s");
    return true;
  } catch {
    return false;
  }
}

function validCallShare({ turns }: Trajectory): number {
  const valid = turns.reduce((sum, { toolCalls }) => sum + toolCalls, 0);
  const invalid = turns.reduce((sum, { invalidToolCalls }) => sum + invalidToolCalls, 0);
  return valid + invalid === 0 ? 1 : valid / (valid + invalid);
}

function hasTags(answer: string, tags: readonly string[]): boolean {
  let from = 0;
  for (const tag of tags) {
    const [open, close] = [`<${tag}>`, `</${tag}>`];
    if (answer.split(open).length !== 2 || answer.split(close).length !== 2) return false;
    const start = answer.indexOf(open, from);
    const end = answer.indexOf(close, start);
    if (start === -1 || end === -1) return false;
    from = end + close.length;
  }
  return true;
}
