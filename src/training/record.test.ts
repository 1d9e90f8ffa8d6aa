import { expect, test } from "vitest";
import { readControl, requestControl } from "../runs/control.ts";
import { readLive } from "../runs/live.ts";
import { readMetrics } from "../runs/read.ts";
import type { TrainingEvent } from "./record/events.ts";
import { metricsOf, newFolder, work } from "./record.fixture.ts";

const ratesOf = (folder: string) => readMetrics(folder).map(({ metrics }) => metrics.learningRate);

test("a learning rate that was asked for holds from the next step, and a resumed run applies it at the same step", async () => {
  const folder = newFolder();
  await work(folder, {}, (event) => {
    if (event.type === "stepped" && event.record.step === 3) requestControl(folder, { action: "learning-rate", value: 0.02 });
  });
  expect(ratesOf(folder)).toEqual([0.1, 0.1, 0.1, 0.02, 0.02, 0.02]);
  expect(readControl(folder)).toMatchObject([{ step: 4, request: { action: "learning-rate", value: 0.02 } }]);

  const stopped = newFolder();
  const atThree = (event: TrainingEvent) => {
    if (event.type === "stepped" && event.record.step === 3) requestControl(stopped, { action: "learning-rate", value: 0.02 });
    if (event.type === "stepped" && event.record.step === 5) requestControl(stopped, { action: "stop" });
  };
  await expect(work(stopped, {}, atThree)).rejects.toThrow("continue with --resume");
  expect(readMetrics(stopped)).toHaveLength(5);
  await work(stopped, {}, undefined, true);
  expect(metricsOf(stopped)).toBe(metricsOf(folder));
});

test("a paused run waits, says so, and continues to the same numbers", async () => {
  const [plain, paused] = [newFolder(), newFolder()];
  await work(plain);
  const states: (string | undefined)[] = [];
  await work(paused, {}, (event) => {
    if (event.type === "stepped" && event.record.step === 2) requestControl(paused, { action: "pause" });
    if (event.type !== "control") return;
    states.push(event.state, readLive(paused)?.state);
    if (event.state === "paused") setTimeout(() => requestControl(paused, { action: "resume" }), 50);
  });
  expect(states).toEqual(["paused", "paused", "running", "running"]);
  expect(metricsOf(paused)).toBe(metricsOf(plain));
  expect(readLive(paused)).toBeUndefined();
});
