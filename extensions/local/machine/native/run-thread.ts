import type { Worker } from "node:worker_threads";
import { reasonOf } from "../../../../src/core/errors.ts";
import { startThread } from "../../../processes/thread.ts";
import type { Library, Pointer } from "./library.ts";

/** A run that the thread is to make. Addresses are those of the process, and so the same there. */
export interface Asked {
  readonly id: number;
  readonly session: Pointer;
  readonly options: Pointer;
  readonly binding: Pointer;
}

export interface Answered {
  readonly id: number;
  readonly error?: string;
}

/** Makes a run in the thread. */
export function answerTo({ id, session, options, binding }: Asked, { call }: Pick<Library, "call">): Answered {
  try {
    call("RunWithBinding", session, options || null, binding);
    call("SynchronizeBoundOutputs", binding);
    return { id };
  } catch (error) {
    return { id, error: reasonOf(error) };
  }
}

/** The part of a thread that runs need. */
export type Thread = Pick<Worker, "on" | "postMessage" | "ref" | "unref">;

/**
 * Makes runs in one thread, which begins with the first of them: the event loop does not wait, and on a device a session has its handles once. ONNX Runtime
 * keeps handles of cuBLAS and cuDNN for each thread that runs a session, which take a tenth of a second and some memory to make.
 */
export class NativeRunThread {
  readonly #pending = new Map<number, { resolve(): void; reject(error: Error): void }>();
  readonly #start: () => Thread;
  #thread: Thread | undefined;
  #asked = 0;

  /** @param start begins a thread that answers by `answerTo` */
  constructor(start: () => Thread = () => startThread(import.meta.url, "runs", undefined)) {
    this.#start = start;
  }

  /** By their addresses. */
  run(session: Pointer, options: Pointer, binding: Pointer): Promise<void> {
    const thread = (this.#thread ??= this.#begin());
    const id = this.#asked++;
    thread.ref();
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      thread.postMessage({ id, session, options, binding } satisfies Asked);
    });
  }

  #begin(): Thread {
    const thread = this.#start();
    thread.on("message", ({ id, error }: Answered) => {
      const waiting = this.#pending.get(id);
      this.#pending.delete(id);
      if (this.#pending.size === 0) thread.unref();
      if (error === undefined) waiting?.resolve();
      else waiting?.reject(new Error(error));
    });
    const end = (error: Error) => {
      this.#thread = undefined;
      for (const { reject } of this.#pending.values()) reject(error);
      this.#pending.clear();
    };
    thread.on("error", end);
    thread.on("exit", (code) => end(new Error(`the thread of runs ended with code ${code}`)));
    return thread;
  }
}
