import { afterEach, beforeEach, expect } from "vitest";
import { refused, where } from "./unit-limits.ts";

/** Seconds of processor time, of which a busy machine needs a little more. Mutation runs ask for tests that fail, not for slow ones. */
const most = Number(process.env.UNIT_TEST_SECONDS ?? 5);

let before = process.cpuUsage();
beforeEach(() => {
  before = process.cpuUsage();
});
afterEach(({ task }) => {
  const { user, system } = process.cpuUsage(before);
  const seconds = (user + system) / 1e6;
  if (seconds > most) refused.push(`A unit test computes for ${seconds.toFixed(1)} s; at most ${most} s are allowed. ${where}`);
  const found = refused.splice(0);
  if (task.result?.errors === undefined) expect(found).toEqual([]);
});
