import type { Scorer } from "./protocol.ts";

type TextScorer = Extract<Scorer, { kind: "equal" }>;

/** True if an answer is right. White space around it never counts: programs differ in what they keep. */
export function isRight(answer: string, answers: readonly string[], { ignore }: TextScorer): boolean {
  const plain = (text: string) => {
    const folded = ignore.includes("case") ? text.toLowerCase() : text;
    return ignore.includes("spaces") ? folded.replaceAll(/\s/g, "") : folded.trim();
  };
  return answers.some((each) => plain(each) === plain(answer));
}
