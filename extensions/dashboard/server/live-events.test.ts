import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { layout } from "../../../src/runs/layout.ts";
import { appendMessage } from "../../../src/runs/live.ts";
import { addStep, newRun, trajectoryOf } from "../../../src/runs/store.fixture.ts";
import type { RunUpdate, StreamProblem } from "./api.ts";
import { runEvents } from "./live-events.ts";
import { RunSource } from "./run-source.ts";

afterEach(() => void vi.useRealTimers());

/** A run of two steps that is watched, and what its page is sent at each look. @param steps that the page has */
function watched(steps: number) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const folder = newRun();
  for (const step of [1, 2]) addStep(folder, step, [trajectoryOf(`step-${step}/0/0`)]);
  const sent: string[] = [];
  const gone = new AbortController();
  const reply = runEvents(new RunSource("own", folder), steps, gone.signal);
  const ended = "events" in reply ? reply.events((part) => void sent.push(part)) : undefined;
  const taken = () => sent.splice(0).map((part) => /^data: (.*)\n\n$/.exec(part)?.[1] ?? part);
  const updates = () => taken().map((text) => JSON.parse(text) as RunUpdate & StreamProblem);
  const look = async () => {
    await vi.advanceTimersByTimeAsync(500);
    return updates();
  };
  return { folder, ended, gone, updates, look };
}
const stepsOf = ({ steps, timings, restarted }: RunUpdate) => [
  steps.map(({ step }) => step),
  timings.map(({ step }) => step),
  restarted,
];

test("what the page lacks is sent at once, and what is added at the next look, each once", async () => {
  const { folder, ended, gone, updates, look } = watched(1);
  const [first] = updates();
  expect([stepsOf(first), first.row.stepsDone, first.messages, first.evaluations]).toEqual([[[2], [2], false], 2, [], []]);
  // The same without what was sent.
  expect((await look()).map(stepsOf)).toEqual([[[], [], false]]);
  expect(await look()).toEqual([]);
  addStep(folder, 3, [trajectoryOf("step-3/0/0")]);
  appendMessage(folder, { level: "warning", step: 3, message: "no signal" });
  const [added] = await look();
  expect([stepsOf(added), added.messages.map(({ message }) => message), added.row.warnings]).toEqual([
    ...[[[3], [3], false], ["no signal"], 1],
  ]);
  gone.abort();
  await ended;
  addStep(folder, 4, [trajectoryOf("step-4/0/0")]);
  expect((await look()).length).toBe(0);
});

test("a page that has more steps than the run, or whose run was cut, asks for everything again", async () => {
  const { folder, updates, look } = watched(3);
  expect(updates().map(stepsOf)).toEqual([[[], [], true]]);
  expect((await look()).map(stepsOf)).toEqual([[[], [], false]]);
  writeFileSync(layout.metrics(folder), "");
  writeFileSync(layout.timing(folder), "");
  expect((await look()).map(({ restarted, row }) => [restarted, row.stepsDone])).toEqual([[true, 0]]);
});

test("a file that cannot be read is named at the fourth look that fails, and again once it was whole between", async () => {
  const { folder, updates, look } = watched(2);
  updates();
  const whole = layout.messages(folder);
  for (let round = 0; round < 2; round++) {
    appendFileSync(whole, "no JSON\n");
    for (let failed = 1; failed <= 6; failed++)
      expect(await look()).toEqual(failed === 4 ? [{ problem: expect.stringContaining("messages.jsonl") }] : []);
    rmSync(whole);
    await look();
  }
});
