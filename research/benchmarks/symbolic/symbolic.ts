import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { ConfigError } from "../../../src/core/errors.ts";
import { type PlainFormula, plainAnswers } from "./plain.ts";

const mathLibrary = "@cortex-js/compute-engine";

/** True or false, or why it could not be decided. */
export type SymbolicVerdict = boolean | "undecided" | "timed out";

export interface SymbolicMath {
  /** Whether two formulas in LaTeX are equal as mathematics. One comparison at a time. */
  equal(answer: string, gold: string): Promise<SymbolicVerdict>;
}

export interface SymbolicOptions {
  /** The time limit of one comparison, of lists too. Default 5,000. The first one also loads the library, which has 30 s. */
  readonly timeoutMs?: number;
}

const loadingMs = 30_000;

/**
 * Opens the symbolic comparison of formulas: parsed and simplified by Compute Engine, compared as numbers where they have a value, and at four points
 * where they have variables. It runs in a thread, which is ended at the time limit.
 * @throws ConfigError if the library is not installed
 */
export function openSymbolicMath(setting: string, { timeoutMs = 5000 }: SymbolicOptions = {}): SymbolicMath {
  try {
    createRequire(import.meta.url).resolve(mathLibrary);
  } catch (cause) {
    throw new ConfigError(setting, "symbolic", {
      expected: `the package ${mathLibrary}, which is not installed`,
      hint: `npm install ${mathLibrary}`,
      cause,
    });
  }
  let thread: Promise<Worker> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let count = 0;

  const compare = async (answer: string, gold: string): Promise<SymbolicVerdict> => {
    thread ??= startThread();
    const worker = await thread;
    const id = ++count;
    return new Promise((resolve) => {
      const end = (verdict: SymbolicVerdict) => {
        clearTimeout(timer);
        worker.off("message", listen);
        worker.off("error", fail);
        resolve(verdict);
      };
      const stop = (verdict: SymbolicVerdict) => {
        thread = undefined;
        void worker.terminate();
        end(verdict);
      };
      const listen = (message: { id: number; verdict?: boolean }) => {
        if (message.id === id) end(message.verdict ?? "undecided");
      };
      const fail = () => stop("undecided");
      const timer = setTimeout(() => stop("timed out"), timeoutMs);
      worker.on("message", listen);
      worker.on("error", fail);
      worker.postMessage({ id, answer, gold });
    });
  };

  const compareAnswers = async (a: PlainFormula, b: PlainFormula): Promise<SymbolicVerdict> => {
    // A name or a unit that only one of them has is not a difference.
    const differs = (x: string | undefined, y: string | undefined) => x !== undefined && y !== undefined && x !== y;
    if (differs(a.name, b.name) || differs(a.unit, b.unit)) return false;
    if (a.text === b.text) return true;
    // The y of y = 3 - 2x is no name beside 2x + y = 3.
    const whole = ({ name, text }: PlainFormula, other: PlainFormula) =>
      name !== undefined && other.name === undefined && other.text.includes("=") ? `${name}=${text}` : text;
    const verdict = await compare(whole(a, b), whole(b, a));
    // 50% is 50, as in ARPO's evaluation, and a half.
    const inPercent = [a, b].map(({ unit }) => unit === "%");
    if (verdict !== false || inPercent[0] === inPercent[1]) return verdict;
    const value = ({ text, unit }: PlainFormula) => (unit === "%" ? `\\frac{${text}}{100}` : text);
    return compare(value(a), value(b));
  };

  /** Whether each answer of one list is in the other one. */
  const compareLists = async (answer: string, gold: string): Promise<SymbolicVerdict> => {
    const [answers, golds] = [plainAnswers(answer), plainAnswers(gold)];
    thread ??= startThread();
    await thread;
    const until = performance.now() + timeoutMs;
    const rows: SymbolicVerdict[][] = [];
    for (const a of answers) {
      const row: SymbolicVerdict[] = [];
      for (const b of golds) row.push(await compareAnswers(a, b));
      if (row.includes("timed out") || performance.now() > until) return "timed out";
      rows.push(row);
    }
    const found = [...rows, ...golds.map((_, i) => rows.map((row) => row[i]))].map(
      (line) => line.includes(true) || (line.includes("undecided") && "undecided"),
    );
    return !found.includes(false) && (!found.includes("undecided") || "undecided");
  };

  return {
    equal(answer, gold) {
      const result = last.then(() => compareLists(answer, gold));
      last = result.catch(() => {});
      return result;
    },
  };
}

function startThread(): Promise<Worker> {
  const worker = new Worker(new URL("./worker.mjs", import.meta.url), {
    workerData: { library: mathLibrary },
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  // It waits for messages: without this the program would not end.
  worker.unref();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      void worker.terminate();
      reject(new Error(`${mathLibrary} was not loaded within ${loadingMs} ms`));
    }, loadingMs);
    const settle = (done: () => void) => {
      clearTimeout(timer);
      done();
    };
    worker.once("message", () => settle(() => resolve(worker)));
    worker.once("error", (error) => settle(() => reject(error)));
  });
}
