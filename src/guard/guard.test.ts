import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { afterEach, expect, test } from "vitest";
import { RunError, ToolError } from "../core/errors.ts";
import { asUserCode, observeUserCode } from "../core/user-code.ts";
import { schemaVersion } from "../runs/schema.ts";
import { watchExit } from "./exit.ts";
import { guarded } from "./guarded.ts";
import { watchUnhandled } from "./unhandled.ts";
import { startWatchdog } from "./watchdog.ts";

const messages = join(mkdtempSync(join(tmpdir(), "guard-")), "messages.jsonl");
const own = { exitCode: process.exitCode };
afterEach(() => {
  process.exitCode = own.exitCode;
  writeFileSync(messages, "");
});
const written = () => readFileSync(messages, "utf8").trimEnd();

const events = ["exit", "unhandledRejection", "uncaughtException"] as const;
const listenersOf = (event: (typeof events)[number]) => process.listeners(event as "exit") as ((...args: unknown[]) => void)[];
const counts = () => events.map((event) => process.listenerCount(event));

test("an end of the process before its work names the code that called it, and leaves the exit code 1", () => {
  const said: string[] = [];
  const before = counts();
  const endWatch = watchExit({ advice: "Continue it.", messages }, (text) => said.push(text));
  const exit = listenersOf("exit").at(-1);
  exit?.(7);
  const message =
    "The process ended (exit code 7) before the work was done: by process.exit(), or because nothing was left to wait for. Continue it.";
  expect(said).toEqual([`\nerror: ${message}\n`]);
  expect(process.exitCode).toBe(1);
  const line = JSON.parse(written());
  expect(line).toEqual({ schema: schemaVersion, level: "warning", step: 0, message, at: expect.any(String) });
  expect(new Date(line.at).toISOString()).toBe(line.at);
  endWatch();
  expect(counts()).toEqual(before);
});

test("an exit within users' code has its name; one that the user asked for says nothing", () => {
  const said: string[] = [];
  const controller = new AbortController();
  const end = observeUserCode({ entered: () => {}, left: () => {}, waits: () => {}, settled: () => {} });
  const endWatch = watchExit({ advice: "Look.", signal: controller.signal }, (text) => said.push(text));
  const exit = listenersOf("exit").at(-1);
  asUserCode("tool bye", () => exit?.(0));
  expect(said).toEqual(["\nerror: tool bye ended the process by process.exit(0). Look.\n"]);
  expect([process.exitCode, written()]).toEqual([1, ""]);
  process.exitCode = own.exitCode;
  controller.abort();
  exit?.(0);
  expect([said.length, process.exitCode]).toEqual([1, own.exitCode]);
  expect(() => watchExit({ advice: "", messages: "/" }, () => {})()).not.toThrow();
  endWatch();
  end();
});

test("a promise that nobody awaits is a warning, once for each name; an exception ends the run with the name of its code", () => {
  const warned: string[] = [];
  const watch = () => watchUnhandled("runs/a", "Mend it.", (text) => warned.push(text));
  const before = counts();
  const first = watch();
  const [reject, raise] = [listenersOf("unhandledRejection").at(-1), listenersOf("uncaughtException").at(-1)];
  for (const name of ["tool a", "tool a", "tool b"]) asUserCode(name, () => reject?.(new Error("gone")));
  expect(warned).toEqual(
    ["tool a", "tool b"].map(
      (name) => `A promise of ${name} was rejected and nobody waited for it: gone. The run continues. Await that promise.`,
    ),
  );
  expect(first.signal.aborted).toBe(false);
  const cause = new Error("broken");
  asUserCode("tool c", () => raise?.(cause));
  expect(first.signal.reason).toEqual(
    new ToolError("tool c", "ended by an exception that nobody could catch (broken)", {
      expected: "errors that are thrown before it returns, or by the promise that it returns",
      hint: "Mend it.",
    }),
  );
  expect(first.signal.reason).toMatchObject({ cause, hint: "Mend it." });
  raise?.(new Error("another"));
  expect(first.signal.reason.cause).toBe(cause); // the first one ended it
  first.release();
  expect(counts()).toEqual(before);

  const second = watch();
  listenersOf("unhandledRejection").at(-1)?.("nobody's");
  expect(second.signal.reason).toEqual(
    new RunError("runs/a", "ended by an error outside of any step (nobody's)", { hint: "Mend it." }),
  );
  expect(second.signal.reason.cause).toBe("nobody's");
  second.release();
});

test("work is guarded while it runs, and by nothing after it; an exception beside it is what it ends with", async () => {
  const before = counts();
  const guards = { limitMs: 60_000, subject: "eval", advice: "Look.", warn: () => {} };
  const during: number[][] = [];
  const result = await guarded(guards, async (signal) => {
    during.push(counts());
    return signal.aborted;
  });
  expect([result, counts()]).toEqual([false, before]);
  expect(during).toEqual([before.map((count) => count + 1)]);
  const beside = guarded(guards, async () => listenersOf("uncaughtException").at(-1)?.(new Error("stray")));
  await expect(beside).rejects.toThrow("ended by an error outside of any step (stray)");
  await expect(guarded(guards, () => Promise.reject(new Error("its own")))).rejects.toThrow("its own");
  const controller = new AbortController();
  const stopped = guarded({ ...guards, signal: controller.signal }, async (signal) => {
    controller.abort(new Error("enough"));
    return signal.reason as unknown;
  });
  expect(await stopped).toEqual(new Error("enough"));
  expect(counts()).toEqual(before);
});

interface WatchData {
  readonly numbers: Int32Array;
  readonly table: Uint8Array;
  readonly limitMs: number;
  readonly advice: string;
}

/** A watchdog whose thread is run by hand: `tick` is one of its looks, half a second after the one before. */
function handWatch(limitMs: number, more: { readonly messages?: string } = {}) {
  let [now, state, ran, waited, ended] = [0, "R", 0, 0, false];
  const said: string[] = [];
  const killed: unknown[] = [];
  let given: WatchData | undefined;
  let look = () => {};
  const endWatch = startWatchdog({ limitMs, advice: "Give it less.", ...more }, (program, workerData) => {
    given = workerData as WatchData;
    const modules: Record<string, object> = {
      "node:worker_threads": { workerData },
      "node:fs": {
        appendFileSync: (file: string, text: string) => writeFileSync(file, text, { flag: "a" }),
        readFileSync: (file: string) =>
          file.endsWith("schedstat") ? `${ran * 1e6} ${waited * 1e6} 5` : `7 (a) program) ${state} 1 2`,
        writeSync: (_: number, text: string) => said.push(text),
      },
    };
    runInNewContext(program, {
      ...{ performance: { now: () => now }, TextDecoder, JSON, Date, Math, Atomics },
      require: (name: string) => modules[name],
      setInterval: (tick: () => void, ms: number) => {
        expect(ms).toBe(500);
        look = tick;
      },
      process: { pid: 7, kill: (...args: unknown[]) => killed.push(args) },
    });
    return () => {
      ended = true;
    };
  });
  return {
    ...{ said, killed, endWatch, numbers: given?.numbers as Int32Array, table: given?.table as Uint8Array },
    hasEnded: () => ended,
    tick: (passed = 500, ofIt: { ran?: number; waited?: number; state?: string } = { ran: 500 }) => {
      now += passed;
      ran += ofIt.ran ?? 0;
      waited += ofIt.waited ?? 0;
      state = ofIt.state ?? "R";
      look();
    },
  };
}

test("a thread beside ends a program whose code runs without a beat, by that code's name", () => {
  const watch = handWatch(1500, { messages });
  asUserCode("tool\nloop", () => {
    for (let i = 0; i < 3; i++) watch.tick(); // the first sees the beat of the start
    expect(watch.killed).toEqual([]);
    watch.tick();
  });
  expect(watch.killed).toEqual([[7, "SIGKILL"]]);
  const message =
    "tool loop has not let the program continue for 2 s (rollout.episodeTimeoutMs): an endless loop, or a computation without an await. " +
    "The process was ended. Give it less.";
  expect(watch.said).toEqual([`\nerror: ${message}\n`]);
  expect(JSON.parse(written())).toMatchObject({ schema: schemaVersion, level: "warning", step: 0, message });
  watch.endWatch();
  expect(watch.hasEnded()).toBe(true);
});

test("waits for a processor, pauses of the machine and the program's own slow code count nothing; sleep does", () => {
  const watch = handWatch(1000);
  const ticks = (count: number, ...of: Parameters<typeof watch.tick>) => {
    for (let i = 0; i < count; i++) watch.tick(...of);
    return watch.killed.length;
  };
  watch.tick();
  expect(ticks(9)).toBe(0); // nobody's code runs
  Atomics.add(watch.numbers, 0, 1);
  watch.tick();
  asUserCode("busy", () => {
    expect(ticks(9, 500, { waited: 500 })).toBe(0);
    expect(ticks(1, 60_000, { ran: 500 })).toBe(0);
    expect(ticks(2, 500, { state: "S", waited: 400 })).toBe(0);
    expect(ticks(1, 500, { state: "S" })).toBe(1);
  });
  watch.endWatch();
});

test("code that went on by itself is named with all that are open, and nobody is once it has settled", async () => {
  const watch = handWatch(500);
  let settle = () => {};
  const open = ["a", "b"].map((name) => asUserCode(name, () => new Promise<void>((resolve) => void (settle = resolve))));
  watch.tick();
  watch.tick();
  expect(watch.said[0]).toMatch(/^\nerror: a or b has not let the program continue for 1 s/);
  settle();
  await open[1];
  watch.tick();
  expect(watch.said[1]).toMatch(/^\nerror: a has not let/);
  watch.endWatch();
  asUserCode("later", () => expect(watch.numbers[1]).toBe(0));
});

test("names have a table of 255 lines, of at most 200 letters each; those beyond are one", () => {
  const watch = handWatch(500);
  asUserCode("x".repeat(300), () => expect(watch.numbers[1]).toBe(1));
  expect(new TextDecoder().decode(watch.table.slice(0, 202))).toBe(`${"x".repeat(200)}\n\0`);
  for (let i = 2; i < 256; i++) asUserCode(`name ${i}`, () => expect(watch.numbers[1]).toBe(i));
  for (const name of ["one more", "another"]) asUserCode(name, () => expect(watch.numbers[1]).toBe(255));
  asUserCode("name 2", () => expect(watch.numbers[1]).toBe(2));
  watch.endWatch();
  const wide = handWatch(500);
  for (let i = 0; i < 120; i++) asUserCode(`${i} ${"€".repeat(300)}`, () => {});
  expect(wide.numbers[2]).toBeLessThanOrEqual(2 ** 16);
  asUserCode("a line too much".repeat(20), () => expect(wide.numbers[1]).toBeGreaterThan(0));
  wide.endWatch();
});
