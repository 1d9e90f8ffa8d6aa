import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { type Asked, answerTo, NativeRunThread } from "./run-thread.ts";

class FakeThread extends EventEmitter {
  readonly asked: Asked[] = [];
  /** Whether it keeps the program from its end, as a thread does that was not unreferenced. */
  isHeld = false;
  postMessage(asked: Asked): void {
    this.asked.push(asked);
  }
  ref(): void {
    this.isHeld = true;
  }
  unref(): void {
    this.isHeld = false;
  }
}

function runThread() {
  const threads: FakeThread[] = [];
  const runs = new NativeRunThread(() => {
    const thread = new FakeThread();
    threads.push(thread);
    return thread as never;
  });
  return { threads, run: (binding: bigint) => runs.run(1n, 2n, binding) };
}

test("runs are made by one thread, which begins with the first and keeps the program while one is awaited", async () => {
  const { threads, run } = runThread();
  expect(threads).toEqual([]);
  const [first, second] = [run(3n), run(4n)];
  const [thread] = threads;
  expect(threads.length).toBe(1);
  expect(thread?.asked).toEqual([
    { id: 0, session: 1n, options: 2n, binding: 3n },
    { id: 1, session: 1n, options: 2n, binding: 4n },
  ]);
  expect(thread?.isHeld).toBe(true);
  thread?.emit("message", { id: 1, error: "out of memory" });
  await expect(second).rejects.toThrow(new Error("out of memory"));
  expect(thread?.isHeld).toBe(true);
  thread?.emit("message", { id: 0 });
  expect(await first).toBeUndefined();
  expect(thread?.isHeld).toBe(false);
  const third = run(5n);
  expect([thread?.isHeld, thread?.asked.at(-1)?.id]).toEqual([true, 2]);
  thread?.emit("message", { id: 2 });
  await third;
  expect(threads.length).toBe(1);
});

test("a thread that ends or breaks fails the runs that wait, and the next run has another", async () => {
  const { threads, run } = runThread();
  const waiting = [run(3n), run(4n)];
  threads[0]?.emit("exit", 134);
  for (const each of waiting) await expect(each).rejects.toThrow("the thread of runs ended with code 134");
  const next = run(5n);
  expect(threads.length).toBe(2);
  threads[1]?.emit("error", new Error("Cannot find module"));
  await expect(next).rejects.toThrow("Cannot find module");
  const last = run(6n);
  threads[2]?.emit("message", { id: 3 });
  await last;
  expect(threads.length).toBe(3);
});

test("the thread runs a binding and waits for its outputs; what goes wrong is an answer", () => {
  const calls: unknown[] = [];
  const library = { call: (...values: readonly unknown[]) => void calls.push(values) };
  const asked = { id: 7, session: 1n, options: 2n, binding: 3n };
  expect(answerTo(asked, library)).toEqual({ id: 7 });
  expect(answerTo({ ...asked, options: 0n }, library)).toEqual({ id: 7 });
  const synchronised = ["SynchronizeBoundOutputs", 3n];
  expect(calls).toEqual([["RunWithBinding", 1n, 2n, 3n], synchronised, ["RunWithBinding", 1n, null, 3n], synchronised]);
  const broken = {
    call: () => {
      throw new Error("Device was lost");
    },
  };
  expect(answerTo(asked, broken)).toEqual({ id: 7, error: "Device was lost" });
});
