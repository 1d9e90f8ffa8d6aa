import { parentPort } from "node:worker_threads";
import { reasonOf } from "../../../../src/core/errors.ts";
import type { Answered, Asked } from "./device-thread.ts";
import { openLibrary } from "./library.ts";

/** The thread of runs on devices: it makes one after another. */
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
