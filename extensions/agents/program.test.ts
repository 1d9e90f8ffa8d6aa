import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { setImmediate as settled } from "node:timers/promises";
import { expect, test } from "vitest";
import type { startGroup } from "../processes/group.ts";
import { runProgram } from "./program.ts";

/** A program of this process. */
function program() {
  const done: string[] = [];
  const started: unknown[] = [];
  const child = Object.assign(new EventEmitter(), {
    ...{ stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
  });
  let input = "";
  child.stdin.on("data", (part) => (input += part));
  const group = { child, end: async () => void done.push("end"), kill: () => void done.push("kill") };
  const start = ((...given: unknown[]) => {
    started.push(given);
    return group;
  }) as unknown as typeof startGroup;
  const gone = new AbortController();
  const run = () =>
    runProgram({ command: ["python", "agent.py"] }, { prompt: "Hi" }, { env: { OPENAI_MODEL: "m" }, signal: gone.signal }, start);
  return { child, done, started, gone, run, input: () => input };
}
const failed = (error: unknown) => String(error);

test("a program is started with its variables, reads its task as a line, and its output is the answer", async () => {
  const { child, done, started, run, input } = program();
  const answer = run();
  expect(started).toEqual([["python", ["agent.py"], { env: { ...process.env, OPENAI_MODEL: "m" } }]]);
  child.stdout.write("  Hello");
  child.stdout.write(", Ana.\n");
  child.stderr.write("a warning");
  await settled();
  expect(input()).toBe('{"prompt":"Hi"}\n');
  child.emit("close", 0, null);
  expect(await answer).toBe("Hello, Ana.");
  expect(done).toEqual([]);
});

test.each([
  [1, null, "exit code 1"],
  [null, "SIGKILL", "ended by SIGKILL"],
])("a program that ends with %s and %s fails with the end of its errors", async (code, signal, what) => {
  const { child, run } = program();
  const answer = run().catch(failed);
  child.stderr.write("x".repeat(5000));
  child.stderr.write(" no such module\n");
  await settled();
  child.emit("close", code, signal);
  const text = await answer;
  expect(text).toMatch(
    new RegExp(`^EnvError: the agent python agent\\.py is "${what}"; expected an answer\\. x+ no such module\\.$`),
  );
  expect(/xx+/.exec(text)?.[0].length).toBe(4096 - " no such module\n".length);
});

test("without errors nothing is added, and a program that is not there says so", async () => {
  const silent = program();
  const answer = silent.run().catch(failed);
  silent.child.emit("close", 3, null);
  expect(await answer).toBe('EnvError: the agent python agent.py is "exit code 3"; expected an answer.');
  const missing = program();
  const none = missing.run().catch(failed);
  missing.child.emit("error", new Error("spawn python ENOENT"));
  missing.child.emit("close", -2, null);
  expect(await none).toBe('EnvError: the agent python agent.py is "spawn python ENOENT"; expected an answer.');
});

test("an answer of more than a million characters ends the program, and is none", async () => {
  const { child, done, run } = program();
  const answer = run().catch(failed);
  child.stdout.write("x".repeat(2 ** 20));
  await settled();
  expect(done).toEqual([]);
  child.stdout.write("y");
  await settled();
  expect(done).toEqual(["kill"]);
  child.emit("close", null, "SIGKILL");
  expect(await answer).toMatch(/"an answer of more than 1048576 characters"/);
  const most = program();
  const whole = most.run();
  most.child.stdout.write("x".repeat(2 ** 20));
  await settled();
  most.child.emit("close", 0, null);
  expect((await whole).length).toBe(2 ** 20);
});

test("a program ends with its episode, also with one that is over already", async () => {
  const { done, gone, run, child } = program();
  const answer = run().catch(failed);
  gone.abort();
  expect(done).toEqual(["end"]);
  child.emit("close", null, "SIGTERM");
  expect(await answer).toMatch(/"ended by SIGTERM"/);
  const late = program();
  late.gone.abort();
  void late.run().catch(failed);
  expect(late.done).toEqual(["end"]);
  // One that has ended is not ended again.
  const over = program();
  const said = over.run();
  over.child.emit("close", 0, null);
  await said;
  over.gone.abort();
  expect(over.done).toEqual([]);
});

test("a program need not read its task", async () => {
  const { child, run } = program();
  const answer = run();
  expect(() => child.stdin.emit("error", new Error("EPIPE"))).not.toThrow();
  child.stdout.write("done");
  await settled();
  child.emit("close", 0, null);
  expect(await answer).toBe("done");
});
