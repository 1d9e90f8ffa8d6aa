/** The verdict of a judge on an answer. "unusable": neither word was in any of its replies. */
export type Judged = "correct" | "incorrect" | "unusable";

/** Replies that are asked for until one can be used, as ARPO's evaluation does. */
export const judgeTries = 3;

export interface AskedAnswer {
  readonly question: string;
  readonly golds: readonly string[];
  readonly prediction: string;
}

/** The judge's question, in words of our own: question, gold answers, prediction, and one of two words for an answer. */
export function judgePrompt({ question, golds, prediction }: AskedAnswer): string {
  return [
    "Decide whether a prediction answers a question correctly.",
    "It is correct if it means the same as a gold answer. Where there are several gold answers, one of them is enough.",
    "",
    `Question: ${question}`,
    `Gold answer${golds.length === 1 ? "" : "s"}: ${golds.join(" | ")}`,
    `Prediction: ${prediction}`,
    "",
    'Reply with one word: "Correct" or "Incorrect".',
  ].join("\n");
}

/**
 * Reads a reply by ARPO's rule: correct if it contains "correct" and none of "incorrect", "wrong" and "not correct".
 * @returns undefined if it contains none of these words: then it is no verdict
 */
export function readJudgement(reply: string): "correct" | "incorrect" | undefined {
  const text = reply.slice(reply.lastIndexOf("</think>") + 1).toLowerCase();
  if (["incorrect", "wrong", "not correct"].some((word) => text.includes(word))) return "incorrect";
  return text.includes("correct") ? "correct" : undefined;
}
