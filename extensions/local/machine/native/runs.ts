import { parentPort } from "node:worker_threads";
import { openLibrary } from "./library.ts";
import { type Asked, answerTo } from "./run-thread.ts";

/** A thread of runs: it makes one after another. */
const library = openLibrary();
parentPort?.on("message", async (asked: Asked) => parentPort?.postMessage(answerTo(asked, await library)));
