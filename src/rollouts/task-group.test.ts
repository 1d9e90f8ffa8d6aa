import { expect, test } from "vitest";
import { allSettled, TaskGroup } from "./task-group.ts";

/** A job that ends when it is told to. */
function held(log: string[], name: string) {
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const job = async () => {
    log.push(name);
    await ended;
    return name;
  };
  return { job, end };
}

test("jobs run in their order, a given number at a time, urgent ones before those that wait", async () => {
  const log: string[] = [];
  const taskGroup = new TaskGroup(2);
  const jobs = ["a", "b", "c", "d", "urgent"].map((name) => ({ name, ...held(log, name) }));
  const running = jobs.map(({ name, job }) => taskGroup.run(job, { urgent: name === "urgent" }));
  expect(log).toEqual(["a", "b"]);
  jobs[0].end();
  await running[0];
  expect(log).toEqual(["a", "b", "urgent"]);
  for (const { end } of jobs) end();
  expect(await allSettled(running)).toEqual(["a", "b", "c", "d", "urgent"]);
  expect(log).toEqual(["a", "b", "urgent", "c", "d"]);
});

test("the first failure aborts the signal, and is thrown once all have ended", async () => {
  const taskGroup = new TaskGroup(2);
  let ended = 0;
  const failing = taskGroup.run(async () => {
    throw new Error("first");
  });
  const patient = taskGroup.run(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    ended++;
  });
  await expect(allSettled([failing, patient])).rejects.toThrow("first");
  expect(ended).toBe(1);
  expect(taskGroup.signal.aborted).toBe(true);
  expect(taskGroup.signal.reason).toEqual(new Error("first"));
});

test("a signal from outside is passed on", () => {
  const controller = new AbortController();
  const { signal } = new TaskGroup(1, controller.signal);
  controller.abort();
  expect(signal.aborted).toBe(true);
});
