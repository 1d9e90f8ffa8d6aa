import type { Trajectory } from "../core/trajectory.ts";
import type { RewardOf } from "./config.ts";

/**
 * Mean of the configured checks, each from 0 to 1:
 *   toolCalls   valid calls / all calls; 1 where there are none
 *   pattern     1 if the last message matches
 *   tags        1 if each occurs exactly once, closed, in the given order
 */
export function formatScore(trajectory: Trajectory, { toolCalls, pattern, tags }: RewardOf<"format">): number {
  const answer = lastAnswer(trajectory);
  const checks = [
    ...(toolCalls ? [validCallShare(trajectory)] : []),
    ...(pattern === undefined ? [] : [Number(new RegExp(pattern, "s").test(answer))]),
    ...(tags.length === 0 ? [] : [Number(hasTags(answer, tags))]),
  ];
  return checks.reduce((sum, check) => sum + check, 0) / checks.length;
}

/** −min(cap, perToken · max(0, n − free)) for n action tokens. */
export function lengthCost({ turns }: Trajectory, { free, perToken, cap }: RewardOf<"length">): number {
  const tokens = turns.reduce((sum, { action }) => sum + action.length, 0);
  return 0 - Math.min(cap, perToken * Math.max(0, tokens - free));
}

/** −Σ cost(call) over the calls that were answered, valid or not. One that cannot be read has no name and costs `perCall`. */
export function toolCost({ messages }: Trajectory, { perCall, tools }: RewardOf<"tool-cost">): number {
  let cost = 0;
  for (const message of messages)
    if (message.role === "tool") cost += (Object.hasOwn(tools, message.name) ? tools[message.name] : undefined) ?? perCall;
  return 0 - cost;
}

/** The text of the model's last message, without reasoning and calls; "" where it wrote none. */
export function lastAnswer({ messages }: Trajectory): string {
  return messages.findLast((message) => message.role === "assistant")?.content ?? "";
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
