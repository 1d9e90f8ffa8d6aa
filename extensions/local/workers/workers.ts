import type { Worker } from "node:worker_threads";
import { EngineError } from "../../../src/core/errors.ts";
import { startThread } from "../../processes/thread.ts";
import { Turns } from "../machine/turns.ts";
import type { Arrays } from "../model/arrays.ts";
import type { ModelConfig } from "../model/model-config.ts";
import type { Pass } from "../training/passes.ts";
import type { MadePasses, PassWorkers } from "../training/shares.ts";
import { arraysIn, bytesOf, type Layout, layoutOf } from "./flat.ts";
import type { Answer, Question, Task, WorkerSettings } from "./messages.ts";

export interface WorkersOptions {
  readonly config: ModelConfig;
  /** Those that learn: their names and sizes. */
  readonly learned: Arrays;
  readonly frozen: Arrays;
  readonly recompute: boolean | undefined;
  readonly passBytes: number | undefined;
}

/**
 * Threads that make passes beside the engine's own: several sessions of one thread each make more passes than one of several threads. Each worker has
 * sessions, parameters and a gradient of its own, and shared memory carries the parameters there. The threads begin with the first passes that are
 * worth it.
 */
export class Workers implements PassWorkers {
  readonly count: number;
  readonly #options: WorkersOptions;
  readonly #learned: Layout;
  #threads: readonly Thread[] = [];
  #carrier: SharedArrayBuffer | undefined;

  constructor(count: number, options: WorkersOptions) {
    this.count = count;
    this.#options = options;
    this.#learned = layoutOf(options.learned);
  }

  async make(shares: readonly (readonly Pass[])[], learned: Arrays): Promise<readonly MadePasses[]> {
    if (this.#threads.length === 0) this.#threads = await this.#begin();
    const carrier = (this.#carrier ??= new SharedArrayBuffer(bytesOf(this.#learned)));
    await fill(arraysIn(carrier, this.#learned), learned);
    const pending = shares.map((passes, w) => this.#threads[w].make(passes, carrier));
    await Promise.allSettled(pending); // the carrier is read until all have answered
    return Promise.all(pending);
  }

  async rest(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.ask({ kind: "rest" })));
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
    this.#threads = [];
  }

  async #begin(): Promise<Thread[]> {
    const { config, frozen, recompute, passBytes } = this.#options;
    const layout = layoutOf(frozen);
    const memory = new SharedArrayBuffer(bytesOf(layout));
    await fill(arraysIn(memory, layout), frozen);
    const settings = { config, learned: this.#learned, frozen: { layout, memory }, recompute, passBytes };
    return Array.from({ length: this.count }, () => new Thread(settings));
  }
}

async function fill(arrays: Arrays, from: Arrays): Promise<void> {
  const turns = new Turns();
  for (const [name, array] of arrays) {
    const source = from.get(name);
    if (source !== undefined) await turns.over(array.length, (start, end) => array.set(source.subarray(start, end), start));
  }
}

/** One worker, as its owner sees it. */
class Thread {
  readonly #worker: Worker;
  readonly #layout: Layout;
  readonly #pending = new Map<number, { resolve: (answer: Answer) => void; reject: (error: unknown) => void }>();
  #count = 0;
  /** Lent to the worker while it makes passes. */
  #gradient: ArrayBuffer | undefined;

  constructor(settings: WorkerSettings) {
    this.#layout = settings.learned;
    this.#worker = startThread(import.meta.url, "worker", settings);
    this.#worker.on("message", (answer: Answer) => this.#answered(answer));
    this.#worker.on("error", (cause) => this.#fail(cause));
    this.#worker.on("exit", (code) => this.#fail(new Error(`exit code ${code}`)));
  }

  async make(passes: readonly Pass[], learned: SharedArrayBuffer): Promise<MadePasses> {
    const trains = passes.some(({ weights }) => weights !== undefined);
    const gradient = trains ? (this.#gradient ?? new ArrayBuffer(bytesOf(this.#layout))) : undefined;
    if (passes.length === 0) return { numbers: [], gradient: undefined };
    this.#gradient = undefined;
    const answer = await this.ask({ kind: "passes", passes, learned, gradient }, gradient && [gradient]);
    this.#gradient = answer.gradient;
    return { numbers: answer.numbers ?? [], gradient: answer.gradient && arraysIn(answer.gradient, this.#layout) };
  }

  ask(task: Task, moved: readonly ArrayBuffer[] = []): Promise<Answer> {
    const id = this.#count++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#worker.ref();
      this.#worker.postMessage({ id, task } satisfies Question, moved);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #answered(answer: Answer): void {
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if (this.#pending.size === 0) this.#worker.unref();
    if (answer.error === undefined) pending?.resolve(answer);
    else pending?.reject(new EngineError(answer.error.subject, answer.error.value, answer.error));
  }

  #fail(cause: Error): void {
    const error = new EngineError("a worker's thread", cause.message, {
      hint: "If memory ran out, set engine.workers to 1: all passes are then made on one thread.",
      cause,
    });
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}
