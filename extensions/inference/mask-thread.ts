import { parentPort, workerData } from "node:worker_threads";
import { makeChat } from "../../src/chat/chat.ts";
import type { GrammarMask } from "../../src/chat/grammar.ts";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import { RetrogradeError, reasonOf } from "../../src/core/errors.ts";
import { headWords, type MaskAnswer, type MaskQuestion, type MaskSettings } from "./thread-masks.ts";

/** A thread of `ThreadMasks`. */
const { folder, words } = workerData.settings as MaskSettings;
const { grammars } = makeChat(loadTokenizer(folder));
const masks = new Map<number, GrammarMask>();
/** Masks that did not accept a token: nothing waited for that, so it is said with the next answer. */
const broken = new Set<number>();

async function compiled({ formed, mask }: Extract<MaskQuestion, { ask: "compile" }>): Promise<MaskAnswer> {
  try {
    const made = await grammars.mask({ ...formed, tools: formed.tools?.map((tool) => ({ ...tool, execute: () => "" })) });
    if (made !== undefined) masks.set(mask, made);
    return { loose: made?.loose ?? [] };
  } catch (error) {
    const { subject, value, expected, hint } =
      error instanceof RetrogradeError ? error : { subject: "schema", value: reasonOf(error) };
    return { refused: { subject, value: String(value), expected, hint } };
  }
}

function answered(question: Exclude<MaskQuestion, { ask: "compile" }>): ArrayLike<number> | undefined {
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
}

parentPort?.on("message", async (question: MaskQuestion) => {
  if (question.ask === "compile") return parentPort?.postMessage(await compiled(question));
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
});
