import { parentPort, workerData } from "node:worker_threads";
import { makeChat } from "../../src/chat/chat.ts";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import { type PromptQuestion, promptAnswer } from "./prompts.ts";

/** The thread of `Prompts`. */
const chat = makeChat(loadTokenizer(workerData.settings as string));

parentPort?.on("message", (question: PromptQuestion) => parentPort?.postMessage(promptAnswer(chat, question)));
