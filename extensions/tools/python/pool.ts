import { ToolError } from "../../../src/core/errors.ts";
import { type Ending, type ProcessSettings, type PythonProcess, startPython } from "./process.ts";
import type { Answer } from "./protocol.ts";

/** Pieces of code that are run one after the other in one namespace. */
export interface History {
  readonly cells: Cell[];
}

/** Code that ended by itself, and the time that it took, by this process's clock. */
export interface Cell {
  readonly code: string;
  readonly ms: number;
}

/** How a call ended without an answer: its process did, or the cells before it could not be run again in their time. */
export type Failed = Ending | "lost";

export interface PoolLimits extends ProcessSettings {
  readonly interpreters: number;
  readonly timeoutMs: number;
  readonly outputBytes: number;
}

/** A place for one process. It belongs to one history or, without one, to calls that have none: no process ever has two. */
interface Place {
  process: Promise<PythonProcess>;
  /** The process, once it has started. */
  started: PythonProcess | undefined;
  history: History | undefined;
  /** Nothing ran in it, so that it may still be given to any history. */
  isUnused: boolean;
}

/** Pools that are open: what they started ends with the program. */
const open = new Set<Pool>();
process.on("exit", () => {
  for (const pool of open) pool.close();
});

/**
 * A few processes for any number of histories, each of which gets one of its own. The one that nobody used for longest makes room. Its history is
 * run again from its start when it continues, so that hundreds of sessions need no process each, and one that was killed costs no session its variables.
 * One more is started ahead of need, for the next history.
 */
export class Pool {
  readonly #limits: PoolLimits;
  /** Those that calls have used. */
  readonly #all = new Set<Place>();
  readonly #spares = new Set<Place>();
  /** Least recently used first. */
  readonly #idle: Place[] = [];
  readonly #waiting: (() => void)[] = [];
  #closed = false;

  constructor(limits: PoolLimits) {
    this.#limits = limits;
    open.add(this);
  }

  /**
   * Runs code after the cells of a history, and adds it to them where it ended by itself. One call at a time for one history.
   * @param history undefined where nothing went before and nothing comes after
   * @returns "lost" if the history's cells could not be run again; it is empty from then on
   * @throws ToolError where no interpreter starts or the pool was closed, the signal's reason when it is aborted
   */
  async run(history: History | undefined, code: string, signal?: AbortSignal): Promise<Answer | Failed> {
    const place = await this.#take(history, signal);
    const wasUsed = !place.isUnused;
    const cancel = () => this.#drop(place);
    signal?.addEventListener("abort", cancel);
    let answer: Answer | Failed;
    try {
      answer = await this.#ask(place, history, code, signal);
    } catch (error) {
      cancel();
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.#giveBack(place);
    }
    // The process may have ended between two calls. Code has no effect outside of it, so that it can run again.
    return answer === "crash" && wasUsed ? this.run(history, code, signal) : answer;
  }

  /** Ends the process of a history, if it has one. It starts again when it is needed. */
  end(history: History): void {
    for (const place of this.#idle.filter((each) => each.history === history)) this.#drop(place);
  }

  /** Starts processes ahead of need, if there are fewer. */
  prepare(count = 1): void {
    while (this.#spares.size < count && !this.#closed) this.#spares.add(this.#start());
  }

  /** Starts as many as may be used, for calls that shall not wait for it. */
  async warm(): Promise<void> {
    this.prepare(this.#limits.interpreters - this.#all.size);
    await Promise.all([...this.#all, ...this.#spares].map(({ process }) => process));
  }

  close(): void {
    this.#closed = true;
    open.delete(this);
    for (const place of [...this.#all, ...this.#spares]) this.#drop(place);
    for (const go of this.#waiting.splice(0)) go();
  }

  #start(): Place {
    const place: Place = { process: startPython(this.#limits), started: undefined, history: undefined, isUnused: true };
    place.process.then(
      (started) => {
        place.started = started;
        if (!this.#all.has(place) && !this.#spares.has(place)) started.kill();
      },
      () => this.#drop(place), // whoever asks it learns of it
    );
    return place;
  }

  #drop(place: Place): void {
    this.#all.delete(place);
    this.#spares.delete(place);
    if (this.#idle.includes(place)) this.#idle.splice(this.#idle.indexOf(place), 1);
    place.started?.kill();
  }

  async #take(history: History | undefined, signal: AbortSignal | undefined): Promise<Place> {
    for (let isNext = this.#waiting.length === 0; ; isNext = true) {
      if (signal?.aborted === true || this.#closed) this.#waiting.shift()?.();
      signal?.throwIfAborted();
      if (this.#closed) throw closedError();
      const place = isNext ? this.#free(history) : undefined;
      if (place !== undefined) return place;
      await this.#turn(signal);
    }
  }

  /** The place of a history, or room for it. Undefined if all are at work. */
  #free(history: History | undefined): Place | undefined {
    for (const place of [...this.#idle, ...this.#spares].filter(({ started }) => started?.ended)) this.#drop(place);
    const own = this.#idle.find((place) => place.history === history);
    if (own !== undefined) {
      this.#idle.splice(this.#idle.indexOf(own), 1);
      return own;
    }
    const [oldest] = this.#idle;
    if (this.#all.size >= this.#limits.interpreters && oldest !== undefined) this.#drop(oldest);
    if (this.#all.size >= this.#limits.interpreters) return undefined;
    const [place = this.#start()] = this.#spares;
    this.#spares.delete(place);
    this.#all.add(place);
    place.history = history;
    return place;
  }

  /** Waits until a place may be free. */
  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        if (this.#waiting.includes(go)) this.#waiting.splice(this.#waiting.indexOf(go), 1);
        resolve();
      };
      signal?.addEventListener("abort", leave);
      this.#waiting.push(go);
    });
  }

  async #ask(place: Place, history: History | undefined, code: string, signal?: AbortSignal): Promise<Answer | Failed> {
    const process = await place.process;
    const check = () => {
      signal?.throwIfAborted();
      if (this.#closed) throw closedError();
    };
    check();
    const replay = place.isUnused ? (history?.cells ?? []) : [];
    place.isUnused = false;
    const { timeoutMs, outputBytes } = this.#limits;
    const isRestored = await this.#restore(process, replay);
    check();
    if (!isRestored) {
      process.kill();
      history?.cells.splice(0);
      return "lost";
    }
    const start = performance.now();
    const answer = await process.ask({ continues: history !== undefined, code, timeoutMs, outputBytes });
    const ms = performance.now() - start;
    check();
    if (history === undefined || typeof answer === "string") return answer;
    if (hasEnded(answer)) history.cells.push({ code, ms });
    // Its variables are no longer those of the history.
    else this.#drop(place);
    return answer;
  }

  /** Takes a new process to where a history continues. All of it has the time of one call, and twice what the cells took at first. */
  async #restore(process: PythonProcess, cells: readonly Cell[]): Promise<boolean> {
    const { timeoutMs: own } = this.#limits;
    const until = performance.now() + own + cells.reduce((sum, { ms }) => sum + 2 * ms, 0);
    for (const { code, ms } of cells) {
      const timeoutMs = Math.min(own + ms, until - performance.now());
      const answer = timeoutMs <= 0 ? "time" : await process.ask({ continues: true, code, timeoutMs, outputBytes: 0 });
      if (typeof answer === "string" || !hasEnded(answer)) return false;
    }
    return true;
  }

  #giveBack(place: Place): void {
    if (place.started?.ended !== false || this.#closed) this.#drop(place);
    else if (this.#all.has(place)) this.#idle.push(place);
    if (place.history !== undefined) this.prepare();
    this.#waiting.shift()?.();
  }
}

function hasEnded({ kind }: Answer): boolean {
  return kind === "" || kind === "error";
}

function closedError(): ToolError {
  return new ToolError("python", "closed", { expected: "an open pool of interpreters", hint: "close() was called." });
}
