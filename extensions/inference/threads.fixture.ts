import { EventEmitter } from "node:events";
import type { Worker } from "node:worker_threads";
import type { startThread } from "../processes/thread.ts";

/** A thread of this process, which answers when it is told to, if at all. */
export class FakeThread extends EventEmitter {
  readonly asked: unknown[] = [];
  isEnded = false;
  isHeld = false;
  readonly #answer: ((question: never) => unknown) | undefined;

  constructor(answer?: (question: never) => unknown) {
    super();
    this.#answer = answer;
  }

  postMessage(question: unknown): void {
    this.asked.push(question);
    const answer = this.#answer?.(question as never);
    void Promise.resolve(answer).then((given) => given !== undefined && this.emit("message", given));
  }

  ref(): this {
    this.isHeld = true;
    return this;
  }

  unref(): this {
    this.isHeld = false;
    return this;
  }

  terminate(): void {
    this.isEnded = true;
  }
}

/** Starts such threads, and keeps them with what they were started by. */
export function fakeThreads(answerOf: (settings: never) => ((question: never) => unknown) | undefined = () => undefined) {
  const started: { readonly name: string; readonly settings: unknown; readonly thread: FakeThread }[] = [];
  const start = ((_: string, name: string, settings: unknown) => {
    const thread = new FakeThread(answerOf(settings as never));
    started.push({ name, settings, thread });
    return thread as unknown as Worker;
  }) satisfies typeof startThread;
  return { start, started };
}
