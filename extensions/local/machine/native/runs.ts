import { parentPort } from "node:worker_threads";
import { reasonOf } from "../../../../src/core/errors.ts";
import { openLibrary } from "./library.ts";
import type { Answered, Asked } from "./run-thread.ts";

/** A thread of runs: it makes one after another. */
const library = openLibrary();
parentPort?.on("message", async ({ id, session, options, binding }: Asked) => {
  const { call } = await library;
  try {
    call("RunWithBinding", session, options || null, binding);
    call("SynchronizeBoundOutputs", binding);
    parentPort?.postMessage({ id } satisfies Answered);
  } catch (error) {
    parentPort?.postMessage({ id, error: reasonOf(error) } satisfies Answered);
  }
});
