import { createHash } from "node:crypto";
import { added, type Ledger, noUsage, type Usage } from "../../../extensions/judge/ledger.ts";
import { complete, type EndpointSettings } from "../../../src/completions/client.ts";
import { CompletionError } from "../../../src/completions/errors.ts";
import { Semaphore } from "../../../src/core/semaphore.ts";
import type { AskedAnswer, JudgeWord } from "../score.ts";

/** A model behind an endpoint that decides which answers are right. */
export interface JudgeSettings extends EndpointSettings {
  readonly model: string;
  /** Questions in flight. Default 8. */
  readonly concurrency?: number;
}

/** Replies that are asked for until one can be used, as ARPO's evaluation does. */
const judgeTries = 3;

/** Tokens of a reply: a verdict is one word, behind reasoning where the model writes some. */
const maxTokens = 2048;

/** Decides about one answer. @throws CompletionError if the server gives no reply, or refuses; the signal's reason once it is aborted */
export type AnswerJudge = (answer: AskedAnswer, signal?: AbortSignal) => Promise<JudgeWord>;

/**
 * Opens a judge behind a server of the chat-completions protocol. The same question about the same prediction is asked once, also where several ask at the
 * same time. A reply that is no verdict is asked for again, and is "unusable" in the end.
 * @param ledger keeps verdicts and what they cost: what is in it is not asked again, unusable replies excepted
 */
export function openJudge(settings: JudgeSettings, ledger?: Ledger): AnswerJudge {
  const room = new Semaphore(settings.concurrency ?? 8);
  const asking = new Map<string, Promise<JudgeWord>>();
  return (answer, signal) => {
    const key = createHash("sha256")
      .update(JSON.stringify([settings.model, judgePrompt(answer)]))
      .digest("hex");
    const known = ledger?.find(key)?.scores?.[0];
    if (known !== undefined) return Promise.resolve(known === 1 ? "correct" : "incorrect");
    const already = asking.get(key);
    if (already !== undefined) return already;
    const judgement = room.run(async () => {
      signal?.throwIfAborted();
      const { verdict, usage } = await judged(settings, answer, signal);
      const outcome = verdict === "unusable" ? { problem: "no verdict" } : { scores: [Number(verdict === "correct")] };
      ledger?.add({ key, group: answer.question.slice(0, 80), ...usage, ...outcome });
      return verdict;
    });
    asking.set(key, judgement);
    return judgement;
  };
}

async function judged(
  settings: JudgeSettings,
  answer: AskedAnswer,
  signal: AbortSignal | undefined,
): Promise<{ readonly verdict: JudgeWord; readonly usage: Usage }> {
  const prompt = judgePrompt(answer);
  let usage = noUsage;
  for (let attempt = 0; attempt < judgeTries; attempt++) {
    // The same question at temperature 0 would get the same reply again.
    const request = { model: settings.model, temperature: attempt === 0 ? 0 : 0.7, max_tokens: maxTokens };
    const asking = complete(settings, { ...request, messages: [{ role: "user", content: prompt }] }, signal);
    const reply = await asking.catch((error: unknown) => {
      if (error instanceof CompletionError && error.failure === "withheld") return undefined;
      throw error;
    });
    if (reply === undefined) break; // its filter decides likewise each time
    usage = added(usage, {
      calls: 1,
      promptTokens: reply.usage?.promptTokens ?? Math.ceil(prompt.length / 4),
      completionTokens: reply.usage?.completionTokens ?? Math.ceil(reply.content.length / 4),
    });
    // A reply that is cut off is still thinking, and names both words.
    const verdict = reply.finish === "length" ? undefined : readJudgement(reply.content);
    if (verdict !== undefined) return { verdict, usage };
  }
  return { verdict: "unusable", usage };
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
