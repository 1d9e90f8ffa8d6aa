import type { Message } from "../../src/core/messages.ts";
import type { Episode, Score } from "../../src/environments/environment.ts";
import { type OneMessageProtocol, responseOf } from "../../src/environments/protocol.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { tokenF1, withoutArticles } from "../arpo-protocol/answer-text.ts";
import { systemPrompt } from "../arpo-protocol/prompt.ts";
import { researchReward } from "../arpo-protocol/reward.ts";
import { countBehaviours } from "./behaviours.ts";
import type { KnowledgeSettings } from "./settings.ts";
import type { KnowledgeTask } from "./task.ts";

const prompts: Readonly<Record<KnowledgeSettings["prompt"], string>> = {
  short: "Answer with search and python.",
  full: systemPrompt,
};

export interface KnowledgeEpisode extends Episode {
  readonly protocol: OneMessageProtocol;
  score(conversation: readonly Message[]): Score;
  clone(): KnowledgeEpisode;
}

/** An episode is one assistant message, and holds no state: it can be copied for nothing. */
export function episodeOf(
  task: KnowledgeTask,
  tools: readonly Tool[],
  protocol: OneMessageProtocol,
  { prompt, reward }: Pick<KnowledgeSettings, "prompt" | "reward">,
): KnowledgeEpisode {
  const episode: KnowledgeEpisode = {
    messages: [
      { role: "system", content: prompts[prompt] },
      { role: "user", content: task.question },
    ],
    tools,
    protocol,
    reply: () => ({ done: true }),
    score: (conversation) => scoreOf(task, conversation, protocol, reward),
    clone: () => episode,
  };
  return episode;
}

/**
 * exact: 1 for the right answer in the right format that some result of a tool shows, else 0: nothing is known by heart or calculated in the head. arpo: −1 for a wrong format, 1 for the right answer, 1.1 if both tools were
 * used, in between for words that overlap.
 * Scores: `success` (the exact reward), `format`, `searches` and `calculations` (calls that were made).
 */
function scoreOf(
  task: KnowledgeTask,
  conversation: readonly Message[],
  protocol: OneMessageProtocol,
  reward: KnowledgeSettings["reward"],
): Score {
  const { golds } = task;
  const response = responseOf(conversation, protocol.continuation.write);
  // Words that overlap do not do, and -5 is not 5 here: ARPO's F1 knows no punctuation.
  const success = isShown(golds, conversation) ? researchReward(response, golds, isExactly).quality : 0;
  const judged = researchReward(response, golds, tokenF1);
  const calls = (name: string) => conversation.filter((message) => message.role === "tool" && message.name === name).length;
  return {
    reward: reward === "exact" ? success : judged.reward,
    scores: { success, format: Number(judged.reward >= 0), searches: calls("search"), calculations: calls("python") },
    behaviours: countBehaviours(task, conversation),
  };
}

function isShown(golds: readonly string[], conversation: readonly Message[]): boolean {
  const results = conversation.flatMap(({ role, content }) => (role === "tool" ? [` ${content.replace(/[.\n]/g, " ")} `] : []));
  return golds.some((gold) => results.some((result) => result.includes(` ${gold} `)));
}

function isExactly(answer: string, golds: readonly string[]): number {
  const plain = withoutArticles(answer).replace(/\.$/, "");
  return Number(golds.some((gold) => withoutArticles(gold) === plain));
}
