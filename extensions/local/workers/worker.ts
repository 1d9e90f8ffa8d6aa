import { parentPort, workerData } from "node:worker_threads";
import { RetrogradeError, reasonOf } from "../../../src/core/errors.ts";
import { entropyHead, logprobHead } from "../model/heads.ts";
import { Passes } from "../training/passes.ts";
import { arraysIn, bytesOf } from "./flat.ts";
import type { Answer, Failure, Question, Task, WorkerSettings } from "./messages.ts";

/** The thread of a worker: it does one thing after another, with sessions of one thread. */
const { config, learned, frozen, recompute, passBytes } = workerData.settings as WorkerSettings;
const parameters = arraysIn(new ArrayBuffer(bytesOf(learned)), learned);
const base = [...arraysIn(frozen.memory, frozen.layout)].map(([name, shared]) => [name, Float32Array.from(shared)] as const);
const all = new Map([...base, ...parameters]);
const trained = new Map([...parameters].map(([name, { length }]) => [name, [length]]));
const passes = new Passes(config, [logprobHead, entropyHead], { threads: 1, trained, recompute, passBytes });

let before: Promise<void> = Promise.resolve();
parentPort?.on("message", ({ id, task }: Question) => {
  before = before.then(async () => {
    const answer = await done(task).catch((error) => ({ error: failureOf(error) }));
    const moved = "gradient" in answer && answer.gradient !== undefined ? [answer.gradient] : [];
    parentPort?.postMessage({ id, ...answer } satisfies Answer, moved);
  });
});

async function done(task: Task): Promise<Omit<Answer, "id">> {
  if (task.kind === "rest") {
    await passes.rest();
    return {};
  }
  for (const [name, shared] of arraysIn(task.learned, learned)) parameters.get(name)?.set(shared);
  const { gradient } = task;
  const sums = gradient && arraysIn(gradient, learned);
  const numbers: Float32Array[] = [];
  for (const pass of task.passes)
    numbers.push(
      sums === undefined ? await passes.forward(pass, all) : await passes.backward(pass, all, sums, numbers.length === 0),
    );
  return { numbers, gradient };
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof RetrogradeError)) return { subject: "a worker", value: reasonOf(error) };
  const { subject, value, expected, hint } = error;
  return { subject, value: String(value), expected: expected === undefined ? undefined : String(expected), hint };
}
