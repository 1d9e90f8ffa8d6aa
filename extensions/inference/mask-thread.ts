import { parentPort, workerData } from "node:worker_threads";
import { makeChat } from "../../src/chat/chat.ts";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import { maskAnswers } from "./mask-answers.ts";
import type { MaskQuestion, MaskSettings } from "./thread-masks.ts";

/** A thread of `ThreadMasks`. */
const { folder, words } = workerData.settings as MaskSettings;
const answer = maskAnswers(makeChat(loadTokenizer(folder)).grammars, words);

parentPort?.on("message", async (question: MaskQuestion) => {
  const compiled = await answer(question);
  if (compiled !== undefined) parentPort?.postMessage(compiled);
});
