import type { GrammarMask, Grammars } from "../../src/chat/grammar.ts";
import { refusedBy } from "./refused.ts";
import { headWords, type MaskAnswer, type MaskQuestion } from "./thread-masks.ts";

/**
 * Answers the questions of `ThreadMasks`.
 * @param words shared memory, where the answers to "next" and "allows" are written and notified
 * @returns a function that returns the answer to "compile", and undefined for the others
 */
export function maskAnswers(
  grammars: Pick<Grammars, "mask">,
  words: Int32Array,
): (question: MaskQuestion) => Promise<MaskAnswer | undefined> {
  const masks = new Map<number, GrammarMask>();
  /** Masks that did not accept a token: nothing waited for that, so it is said with the next answer. */
  const broken = new Set<number>();

  const compiled = async ({ formed, mask }: Extract<MaskQuestion, { ask: "compile" }>): Promise<MaskAnswer> => {
    try {
      const made = await grammars.mask({ ...formed, tools: formed.tools?.map((tool) => ({ ...tool, execute: () => "" })) });
      if (made !== undefined) masks.set(mask, made);
      return { loose: made?.loose ?? [] };
    } catch (error) {
      return { refused: refusedBy(error, "schema") };
    }
  };

  const answered = (question: Exclude<MaskQuestion, { ask: "compile" }>): ArrayLike<number> | undefined => {
    const mask = masks.get(question.mask);
    switch (question.ask) {
      case "next":
        return mask?.next();
      case "allows":
        return [mask?.allows(question.token) ? 1 : 0];
      case "accept":
        mask?.accept(question.token);
        return undefined;
      case "restart":
        mask?.restart();
        broken.delete(question.mask);
        return undefined;
      case "close":
        mask?.close();
        masks.delete(question.mask);
        broken.delete(question.mask);
        return undefined;
      default:
        return question satisfies never;
    }
  };

  return async (question) => {
    if (question.ask === "compile") return compiled(question);
    let state = broken.has(question.mask) ? 2 : 1;
    try {
      const answer = answered(question);
      if (answer !== undefined) words.set(answer, headWords);
      words[1] = answer?.length ?? 0;
    } catch {
      broken.add(question.mask);
      state = 2;
    }
    if (question.ask !== "next" && question.ask !== "allows") return undefined;
    Atomics.store(words, 0, state);
    Atomics.notify(words, 0);
    return undefined;
  };
}
