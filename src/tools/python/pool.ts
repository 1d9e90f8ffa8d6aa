import { ToolError } from "../../core/errors.ts";
import { type Ending, type ProcessSettings, type PythonProcess, startPython } from "./process.ts";
import type { Answer } from "./protocol.ts";

/** Pieces of code that are run one after the other in one namespace. */
export interface History {
  readonly cells: string[];
}

export interface PoolLimits extends ProcessSettings {
  readonly interpreters: number;
  readonly timeoutMs: number;
  readonly outputBytes: number;
}

export interface Pool {
  /**
   * Runs code after the cells of a history, and adds it to them where it ended by itself. One call at a time for one history.
   * @param history undefined where nothing went before and nothing comes after
   * @throws ToolError where no interpreter starts or the pool was closed, the signal's reason when it is aborted
   */
  run(history: History | undefined, code: string, signal?: AbortSignal): Promise<Answer | Ending>;
  /** Ends the process of a history, if it has one. It starts again when it is needed. */
  end(history: History): void;
  /** Starts a process ahead of need, if none is there. */
  prepare(): void;
  /** Starts as many as may be used, for calls that shall not wait for it. */
  warm(): Promise<void>;
  close(): void;
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
const open = new Set<() => void>();
process.on("exit", () => {
  for (const killAll of open) killAll();
});

/**
 * A few processes for any number of histories, each of which gets one of its own. The one that nobody used for longest makes room. Its history is
 * run again from its start when it continues, so that hundreds of sessions need no process each, and one that was killed costs no session its variables.
 * One more is started ahead of need, for the next history.
 */
export function createPool(limits: PoolLimits): Pool {
  /** Those that calls have used. */
  const all = new Set<Place>();
  const spares = new Set<Place>();
  /** Least recently used first. */
  const idle: Place[] = [];
  const waiting: (() => void)[] = [];
  let closed = false;

  const start = (): Place => {
    const place: Place = { process: startPython(limits), started: undefined, history: undefined, isUnused: true };
    place.process.then(
      (started) => {
        place.started = started;
        if (!all.has(place) && !spares.has(place)) started.kill();
      },
      () => drop(place), // whoever asks it is told
    );
    return place;
  };

  const prepare = (count: number) => {
    while (spares.size < count && !closed) spares.add(start());
  };

  const drop = (place: Place) => {
    all.delete(place);
    spares.delete(place);
    if (idle.includes(place)) idle.splice(idle.indexOf(place), 1);
    place.started?.kill();
  };

  const killAll = () => {
    for (const place of [...all, ...spares]) drop(place);
  };
  open.add(killAll);

  const take = async (history: History | undefined, signal: AbortSignal | undefined): Promise<Place> => {
    for (let isNext = waiting.length === 0; ; isNext = true) {
      if (signal?.aborted === true || closed) waiting.shift()?.();
      signal?.throwIfAborted();
      if (closed) throw closedError();
      for (const place of [...idle, ...spares].filter(({ started }) => started?.ended)) drop(place);
      const own = isNext ? idle.find((place) => place.history === history) : undefined;
      if (own !== undefined) {
        idle.splice(idle.indexOf(own), 1);
        return own;
      }
      if (isNext && all.size >= limits.interpreters && idle.length > 0) drop(idle[0]);
      if (isNext && all.size < limits.interpreters) {
        const [place = start()] = spares;
        spares.delete(place);
        all.add(place);
        place.history = history;
        return place;
      }
      await turn(signal);
    }
  };

  /** Waits until a place may be free. */
  const turn = (signal: AbortSignal | undefined) =>
    new Promise<void>((resolve) => {
      const go = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        if (waiting.includes(go)) waiting.splice(waiting.indexOf(go), 1);
        resolve();
      };
      signal?.addEventListener("abort", leave, { once: true });
      waiting.push(go);
    });

  const giveBack = (place: Place) => {
    if (place.started?.ended !== false || closed) drop(place);
    else if (all.has(place)) idle.push(place);
    if (place.history !== undefined) prepare(1);
    waiting.shift()?.();
  };

  const run: Pool["run"] = async (history, code, signal) => {
    const place = await take(history, signal);
    const wasUsed = !place.isUnused;
    const cancel = () => drop(place);
    signal?.addEventListener("abort", cancel, { once: true });
    let answer: Answer | Ending;
    try {
      const process = await place.process;
      signal?.throwIfAborted();
      const replay = place.isUnused ? (history?.cells ?? []) : [];
      place.isUnused = false;
      const { timeoutMs, outputBytes } = limits;
      answer = await process.ask({ continues: history !== undefined, replay, code, timeoutMs, outputBytes });
      signal?.throwIfAborted();
      if (closed) throw closedError();
      if (history !== undefined && typeof answer !== "string") {
        if (answer.kind === "" || answer.kind === "error") history.cells.push(code);
        // Its variables are no longer those of the history.
        else drop(place);
      }
    } catch (error) {
      cancel();
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", cancel);
      giveBack(place);
    }
    // The process may have ended between two calls. Code has no effect outside of it, so that it can run again.
    return answer === "crash" && wasUsed ? run(history, code, signal) : answer;
  };

  return {
    run,
    end: (history) => {
      for (const place of idle.filter((each) => each.history === history)) drop(place);
    },
    prepare: () => prepare(1),
    warm: async () => {
      prepare(limits.interpreters - all.size);
      await Promise.all([...all, ...spares].map(({ process }) => process));
    },
    close: () => {
      closed = true;
      open.delete(killAll);
      killAll();
      for (const go of waiting.splice(0)) go();
    },
  };
}

function closedError(): ToolError {
  return new ToolError("python", "closed", { expected: "an open pool of interpreters", hint: "close() was called." });
}
