import { parentPort, workerData } from "node:worker_threads";
import { makeChat } from "../../src/chat/chat.ts";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import { RetrogradeError, reasonOf } from "../../src/core/errors.ts";
import type { PromptAnswer, PromptQuestion } from "./prompts.ts";

/** The thread of `Prompts`. */
const chat = makeChat(loadTokenizer(workerData.settings as string));

parentPort?.on("message", ({ messages, tools, continued }: PromptQuestion) => {
  const shown = tools.map((tool) => ({ ...tool, execute: () => "" }));
  let answer: PromptAnswer;
  try {
    const { ids, text } = chat.open(messages, shown);
    answer = { text, ids: [...ids], continued: chat.tokenizer.encode(continued) };
  } catch (error) {
    const { subject, value, hint } = error instanceof RetrogradeError ? error : { subject: "a prompt", value: reasonOf(error) };
    answer = { refused: { subject, value: String(value), hint } };
  }
  parentPort?.postMessage(answer);
});
