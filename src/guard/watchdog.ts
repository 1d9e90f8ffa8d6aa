import { Worker } from "node:worker_threads";
import { observeUserCode } from "../core/user-code.ts";
import { schemaVersion } from "../runs/schema.ts";

/** Places of the shared numbers: a beat of the event loop, the code that runs now (0: none), length of the table of names, open calls by name. */
const [beat, running, tableLength, open] = [0, 1, 2, 3];
const maxNames = 256;
const tableBytes = 2 ** 16;
const beatMs = 500;

export interface WatchdogOptions {
  /**
   * The longest time that nothing else may run, in milliseconds. The time in which the machine sleeps does not count, nor, on Linux,
   * the time in which the code waits for a processor that others have, or for its own memory to be read from disk again.
   */
  readonly limitMs: number;
  /** The end of the message: the user's next step. */
  readonly advice: string;
  /** A run's file of messages, which then records the reason. */
  readonly messages?: string;
}

/** Runs a program beside this thread, and gives it what it reads. @returns ends it */
type StartThread = (program: string, workerData: object) => () => void;

const inWorker: StartThread = (program, workerData) => {
  const worker = new Worker(program, { eval: true, workerData });
  worker.unref();
  worker.on("error", () => {}); // without threads there is no watch, and the run is as good as before
  return () => void worker.terminate();
};

/**
 * Ends the process if users' code stops it: a loop without end, a pattern that backtracks without end. Such code cannot be interrupted from
 * its own thread, so another thread watches, names the tool or the environment, and ends the process by SIGKILL. Slow code of the program
 * itself is left alone.
 * @returns ends the watch
 */
export function startWatchdog({ limitMs, advice, messages }: WatchdogOptions, startThread = inWorker): () => void {
  const numbers = new Int32Array(new SharedArrayBuffer(4 * (open + maxNames)));
  const table = new Uint8Array(new SharedArrayBuffer(tableBytes));
  const ids = new Map<string, number>();
  const idOf = (name: string): number => {
    const known = ids.get(name);
    if (known !== undefined) return known;
    const line = new TextEncoder().encode(`${name.replaceAll("\n", " ").slice(0, 200)}\n`);
    const end = Atomics.load(numbers, tableLength);
    const id = ids.size + 1;
    // Names beyond the table are those of the last one in it: the watch does not depend on them.
    if (id >= maxNames || end + line.length > tableBytes) return maxNames - 1;
    table.set(line, end);
    Atomics.store(numbers, tableLength, end + line.length);
    ids.set(name, id);
    return id;
  };
  const timer = setInterval(() => Atomics.add(numbers, beat, 1), beatMs);
  timer.unref();
  const unobserve = observeUserCode({
    entered: (name) => void Atomics.store(numbers, running, idOf(name)),
    left: () => void Atomics.store(numbers, running, 0),
    waits: (name) => void Atomics.add(numbers, open + idOf(name), 1),
    settled: (name) => void Atomics.sub(numbers, open + idOf(name), 1),
  });
  const endThread = startThread(watch, { numbers, table, limitMs, advice, messages, schema: schemaVersion });
  return () => {
    clearInterval(timer);
    unobserve();
    endThread();
  };
}

/** The program of the other thread. It is a text, so that it runs from sources and from the compiled package alike. */
const watch = `
const { workerData } = require("node:worker_threads");
const { appendFileSync, readFileSync, writeSync } = require("node:fs");
const { numbers, table, limitMs, advice, messages, schema } = workerData;
// The milliseconds that the main thread has run and has waited for a processor, and its state: the letter after the program's name.
const look = () => {
  try {
    const read = (file) => readFileSync("/proc/self/task/" + process.pid + "/" + file, "utf8");
    const [ran, waited] = read("schedstat").split(" ", 2).map((nanoseconds) => nanoseconds / 1e6);
    return { ran, waited, state: read("stat").split(") ").at(-1)[0] };
  } catch {
    return { ran: 0, waited: 0, state: "S" };
  }
};
let seen = -1, silent = 0, before = performance.now(), last = look();
const namesOf = () => new TextDecoder().decode(table.slice(0, Atomics.load(numbers, ${tableLength}))).split("\\n").slice(0, -1);
setInterval(() => {
  const now = performance.now();
  // A tick that comes late was a pause of the whole machine or process.
  const [passed, next] = [Math.min(now - before, ${2 * beatMs}), look()];
  // A wait for a processor is in the sum once it has ended. So only what it ran counts, unless it sleeps: in execSync, for instance.
  silent += Math.max(0, next.state === "S" ? passed - (next.waited - last.waited) : Math.min(passed, next.ran - last.ran));
  [before, last] = [now, next];
  const beats = Atomics.load(numbers, ${beat});
  if (beats !== seen) { seen = beats; silent = 0; return; }
  if (silent < limitMs) return;
  const names = namesOf();
  const called = Atomics.load(numbers, ${running});
  const waiting = names.filter((_, index) => Atomics.load(numbers, ${open} + index + 1) > 0);
  if (called === 0 && waiting.length === 0) return;
  const who = called > 0 ? names[called - 1] ?? "a tool" : waiting.slice(0, 5).join(" or ");
  const message = who + " has not let the program continue for " + Math.round(limitMs / 1000) + " s (rollout.episodeTimeoutMs): an endless loop, " +
    "or a computation without an await. The process was ended. " + advice;
  writeSync(2, "\\nerror: " + message.replace(/[^\\P{C}\\n]/gu, "\\ufffd") + "\\n");
  if (messages !== undefined) try {
    appendFileSync(messages, JSON.stringify({ schema, level: "warning", step: 0, message, at: new Date().toISOString() }) + "\\n");
  } catch {}
  process.kill(process.pid, "SIGKILL");
}, ${beatMs});
`;
