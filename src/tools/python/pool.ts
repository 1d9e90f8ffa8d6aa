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
  /** Starts all interpreters, for calls that shall not wait for it. */
  warm(): Promise<void>;
  close(): void;
}

interface Interpreter {
  readonly process: PythonProcess;
  /** The history that is in its memory. */
  hosted: History | undefined;
  used: boolean;
}

/** Pools that are open: what they started ends with the program. */
const open = new Set<() => void>();
process.on("exit", () => {
  for (const killAll of open) killAll();
});

/**
 * A few interpreters for any number of histories. A history that finds another one in its interpreter is run again from its
 * start, so that hundreds of sessions need no process each, and one that was killed costs no session its variables.
 */
export function createPool(limits: PoolLimits): Pool {
  const all = new Set<Interpreter>();
  /** Least recently used first. */
  const idle: Interpreter[] = [];
  const waiting: { given(interpreter: Interpreter): void; refused(reason: unknown): void }[] = [];
  let closed = false;
  const killAll = () => {
    for (const { process } of all) process.kill();
  };
  open.add(killAll);

  const start = (): Interpreter => {
    const interpreter = { process: startPython(limits), hosted: undefined, used: false };
    // Whoever asks it first is told; nobody else has to know.
    interpreter.process.ready.catch(() => {});
    all.add(interpreter);
    return interpreter;
  };

  const take = async (history: History | undefined, signal: AbortSignal | undefined): Promise<Interpreter> => {
    signal?.throwIfAborted();
    if (closed) throw closedError();
    for (const dead of idle.filter(({ process }) => process.ended)) {
      all.delete(dead);
      idle.splice(idle.indexOf(dead), 1);
    }
    const rank = ({ hosted }: Interpreter) => (hosted === undefined ? 1 : hosted === history ? 0 : 2);
    const [best] = idle.toSorted((a, b) => rank(a) - rank(b));
    if (best !== undefined && (rank(best) < 2 || all.size >= limits.interpreters)) {
      idle.splice(idle.indexOf(best), 1);
      return best;
    }
    if (all.size < limits.interpreters) return start();
    return new Promise((resolve, reject) => {
      const done = () => signal?.removeEventListener("abort", cancel);
      const place = {
        given: (interpreter: Interpreter) => {
          done();
          resolve(interpreter);
        },
        refused: (reason: unknown) => {
          done();
          reject(reason);
        },
      };
      const cancel = () => {
        waiting.splice(waiting.indexOf(place), 1);
        place.refused(signal?.reason);
      };
      signal?.addEventListener("abort", cancel, { once: true });
      waiting.push(place);
    });
  };

  const giveBack = (interpreter: Interpreter) => {
    let free = interpreter;
    if (interpreter.process.ended || closed) {
      interpreter.process.kill();
      all.delete(interpreter);
      if (closed || waiting.length === 0) return;
      free = start();
    }
    const next = waiting.shift();
    if (next === undefined) idle.push(free);
    else next.given(free);
  };

  const runOn = async (interpreter: Interpreter, history: History | undefined, code: string): Promise<Answer | Ending> => {
    const { process } = interpreter;
    const { timeoutMs, outputBytes } = limits;
    await process.ready;
    const replay = history !== undefined && interpreter.hosted === history ? null : (history?.cells ?? []);
    interpreter.hosted = undefined;
    const answer = await process.ask({ replay, code, timeoutMs, outputBytes });
    if (typeof answer === "string") return answer;
    if (answer.kind === "" || answer.kind === "error") {
      history?.cells.push(code);
      interpreter.hosted = history;
    }
    // Its memory never shrinks again: what is left is too little for the next one.
    if (answer.memoryBytes > 0.75 * limits.memoryBytes) process.kill();
    return answer;
  };

  const run: Pool["run"] = async (history, code, signal) => {
    const interpreter = await take(history, signal);
    const { used } = interpreter;
    interpreter.used = true;
    const cancel = () => interpreter.process.kill();
    signal?.addEventListener("abort", cancel, { once: true });
    let answer: Answer | Ending;
    try {
      answer = await runOn(interpreter, history, code);
    } catch (error) {
      cancel();
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", cancel);
      giveBack(interpreter);
    }
    signal?.throwIfAborted();
    // Something that an earlier call left behind may have broken it. Code has no effect outside of it, so that it can run again.
    return answer === "crash" && used ? run(history, code, signal) : answer;
  };

  return {
    run,
    warm: async () => {
      while (all.size < limits.interpreters) idle.push(start());
      await Promise.all([...all].map(({ process }) => process.ready));
    },
    close: () => {
      closed = true;
      open.delete(killAll);
      killAll();
      all.clear();
      idle.length = 0;
      for (const { refused } of waiting.splice(0)) refused(closedError());
    },
  };
}

function closedError(): ToolError {
  return new ToolError("python", "closed", { expected: "an open pool of interpreters", hint: "close() was called." });
}
