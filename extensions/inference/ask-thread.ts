import type { Worker } from "node:worker_threads";
import { ModelError } from "../../src/core/errors.ts";
import { HttpError } from "../http/http-error.ts";
import type { Refused } from "./refused.ts";

/** A prompt of the longest context and a grammar of the largest schema take seconds. */
const longestMs = 30_000;

interface Asking {
  /** Names the thread, the field of the request that decides how long it takes, and the answer. */
  readonly names: readonly [thread: string, field: string, answer: string];
  readonly expected: string;
  readonly signal?: AbortSignal;
  /** Called to end the thread: after an error, its exit, its time or the signal. */
  readonly drop: () => void;
}

/** Asks a thread, which answers by one message. @throws what it refuses, raises or takes too long for; the signal's reason */
export function askThread<Answer extends object>(
  thread: Worker,
  question: object,
  { names: [name, field, what], expected, signal, drop }: Asking,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
      thread.off("message", answered).off("error", fail).off("exit", exited).unref();
    };
    const answered = (answer: Answer | { readonly refused: Refused }) => {
      done();
      if ("refused" in answer) reject(new ModelError(answer.refused.subject, answer.refused.value, answer.refused));
      else resolve(answer);
    };
    const fail = (error: unknown) => {
      done();
      drop();
      reject(error);
    };
    const exited = (code: number) => fail(new ModelError(name, `exit code ${code}`));
    const leave = () => fail(signal?.reason);
    const late = () => fail(new HttpError(400, field, `${what} within ${longestMs} ms`, { expected }));
    const timer = setTimeout(late, longestMs);
    signal?.addEventListener("abort", leave, { once: true });
    thread.on("message", answered).on("error", fail).on("exit", exited).ref();
    thread.postMessage(question);
  });
}
