import type { Message } from "../../src/core/messages.ts";
import type { Episode, Score } from "../../src/environments/environment.ts";
import { type OneMessageProtocol, responseOf } from "../../src/environments/protocol.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { tokenF1, withoutArticles } from "../arpo-protocol/answer-text.ts";
import { systemPrompt } from "../arpo-protocol/prompt.ts";
import { researchReward } from "../arpo-protocol/reward.ts";
import { countBehaviours, textIn } from "./behaviours.ts";
import { kindOf } from "./kinds.ts";
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
 * exact: 1 for the right answer in the right format that a tool's result shows, a page or a calculation with numbers that were seen, else 0: nothing is known by heart or
 * calculated in the head. arpo: −1 for a wrong format, 1 for the right answer, 1.1 if both tools were
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
  const success = isFound(task, conversation) ? researchReward(response, golds, isExactly).quality : 0;
  const judged = researchReward(response, golds, tokenF1);
  const calls = (name: string) => conversation.filter((message) => message.role === "tool" && message.name === name).length;
  return {
    reward: reward === "exact" ? success : judged.reward,
    scores: { success, format: Number(judged.reward >= 0), searches: calls("search"), calculations: calls("python") },
    behaviours: countBehaviours(task, conversation),
  };
}

/**
 * True if a result of a tool has the answer and is where it is from: a page, or, where something is to be calculated, a calculation with
 * numbers of the question and of earlier results, at least two of them. `python 43` derives nothing.
 */
function isFound({ kind, question, golds }: KnowledgeTask, conversation: readonly Message[]): boolean {
  const isLookedUp = kindOf(kind).domain === "knowledge";
  const seen = new Set(numbersIn(question));
  for (const [i, message] of conversation.entries()) {
    if (message.role !== "tool") continue;
    const text = message.content.replace(/^Page \d+:/gm, "");
    const operands = message.name === "python" ? numbersIn(textIn(conversation[i - 1], "python")) : [];
    const derives = operands.length > 1 && operands.every((operand) => seen.has(operand));
    if (isLookedUp ? message.name === "search" : derives) {
      const result = ` ${text.replace(/[.\n]/g, " ")} `;
      if (golds.some((gold) => result.includes(` ${gold} `))) return true;
    }
    if (message.name === "search" || derives) for (const number of numbersIn(text)) seen.add(number);
  }
  return false;
}

const numbersIn = (text: string): readonly string[] => text.match(/\d+(?:\.\d+)?/g) ?? [];

function isExactly(answer: string, golds: readonly string[]): number {
  const plain = withoutArticles(answer).replace(/\.$/, "");
  return Number(golds.some((gold) => withoutArticles(gold) === plain));
}
