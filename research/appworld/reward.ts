import type { Message } from "../../src/core/messages.ts";
import { reachesOne } from "../../src/core/outcome.ts";
import type { Score } from "../../src/environments/environment.ts";
import type { Verdict } from "./client.ts";
import type { AppworldSettings } from "./settings.ts";

/**
 * The score of an episode from the verdict of AppWorld's evaluator. `success`: every test passes (task goal completion); `tests`: the share
 * that does.
 */
export function scoreOf(verdict: Verdict, conversation: readonly Message[], kind: AppworldSettings["reward"]): Score {
  const success = verdict.success ? 1 : 0;
  const tests = verdict.num_tests === 0 ? success : verdict.passes.length / verdict.num_tests;
  return { reward: rewardOf(kind, success, tests, conversation), scores: { success, tests } };
}

function rewardOf(kind: AppworldSettings["reward"], success: number, tests: number, conversation: readonly Message[]): number {
  switch (kind) {
    case "sparse":
      return success;
    case "dense":
      return tests;
    case "seeupo": {
      const written = conversation.flatMap((message) => (message.role === "assistant" ? [message.content] : []));
      if (written.some(isDegenerate)) return -1;
      return reachesOne(tests) ? 1 + 0.5 * tests : 0.5 * tests;
    }
    default:
      return kind satisfies never;
  }
}

/**
 * Whether a text goes round in circles, as SeeUPO's code looks for it: it contains the chat's start token, or 10 words in a row are each among
 * the last 5 different ones, or 200 characters in a row among the last 4.
 */
export function isDegenerate(text: string): boolean {
  if (text.includes("<|im_start|>")) return true;
  return circles(text.split(/\s+/).filter(Boolean), 5, 10) || circles([...text], 4, 200);
}

function circles(items: readonly string[], window: number, hits: number): boolean {
  const recent: string[] = [];
  let row = 0;
  for (const item of items) {
    if (recent.includes(item)) {
      if (++row >= hits) return true;
      continue;
    }
    row = 0;
    recent.push(item);
    if (recent.length > window) recent.shift();
  }
  return false;
}
