import { expect, test } from "vitest";
import { readLive } from "../runs/live.ts";
import { newFolder, work } from "./record.fixture.ts";

test("what a run does is seen while it is trained, and no longer once it has ended", async () => {
  const folder = newFolder();
  const seen: (number | undefined)[] = [];
  await work(folder, { steps: 2 }, (event) => {
    if (event.type === "phase" && event.phase === "update") seen.push(readLive(folder)?.step);
  });
  expect(seen).toEqual([1, 2]);
  expect(readLive(folder)).toBeUndefined();
});
