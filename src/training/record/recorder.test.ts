import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Trajectory } from "../../core/trajectory.ts";
import { readLive, readMessages } from "../../runs/live.ts";
import { announceEpisodes, announceScores, type TrainingEvent } from "./events.ts";
import { recordLive } from "./live-recorder.ts";
import { announceWarnings, countWarnings, requireNoWarnings } from "./warnings.ts";

const episode = (...lengths: readonly number[]) =>
  ({ turns: lengths.map((length) => ({ action: Array(length).fill(1) })) }) as unknown as Trajectory;

test("a phase of episodes is announced with its size, and each episode with all tokens so far", () => {
  const events: TrainingEvent[] = [];
  const ended = announceEpisodes((event) => events.push(event), "rollout", 3, 2);
  ended(episode(4, 1));
  ended(episode());
  ended(episode(2));
  expect(events).toEqual([
    { type: "phase", phase: "rollout", step: 3, total: 2 },
    { type: "progress", phase: "rollout", done: 1, total: 2, tokens: 5 },
    { type: "progress", phase: "rollout", done: 2, total: 2, tokens: 5 },
    { type: "progress", phase: "rollout", done: 3, total: 2, tokens: 7 },
  ]);
});

test("an episode is scored once all parts have scored it", () => {
  const events: TrainingEvent[] = [];
  const groups = [3, 1].map((count, i) => ({ id: `${i}`, trajectories: Array.from({ length: count }, () => episode()) }));
  const scored = announceScores((event) => events.push(event), 5, groups, 2);
  for (const count of [1, 2, 5]) scored(count);
  const progress = { type: "progress", phase: "reward", total: 4, tokens: 0 };
  expect(events).toEqual([
    { type: "phase", phase: "reward", step: 5, total: 4 },
    { ...progress, done: 0 },
    { ...progress, done: 1 },
    { ...progress, done: 4 },
  ]);
});

test("what a run does is in its folder, progress at most twice a second, and gone once it ends", () => {
  const folder = mkdtempSync(join(tmpdir(), "live-"));
  let now = 1000;
  const live = recordLive(folder, () => now);
  const shown = () => {
    const { step, phase, done, total, tokens } = readLive(folder) ?? {};
    return [step, phase, done, total, tokens];
  };
  live.onEvent({ type: "run-started", folder, steps: 3, resumedAt: 0 });
  expect(shown()).toEqual([0, "start", 0, 0, 0]);
  live.onEvent({ type: "phase", phase: "rollout", step: 2, total: 8 });
  expect(shown()).toEqual([2, "rollout", 0, 8, 0]);
  live.onEvent({ type: "progress", phase: "rollout", done: 1, total: 8, tokens: 5 });
  expect(shown()).toEqual([2, "rollout", 0, 8, 0]);
  now += 499;
  live.onEvent({ type: "progress", phase: "rollout", done: 2, total: 8, tokens: 7 });
  expect(shown()).toEqual([2, "rollout", 0, 8, 0]);
  now += 1;
  live.onEvent({ type: "progress", phase: "rollout", done: 3, total: 8, tokens: 9 });
  expect(shown()).toEqual([2, "rollout", 3, 8, 9]);
  live.onEvent({ type: "notice", message: "a notice" });
  live.onEvent({ type: "checkpointed", step: 2, folder });
  live.onEvent({ type: "phase", phase: "update", step: 3, total: 1 });
  expect(shown()).toEqual([3, "update", 0, 1, 0]);
  live.onEvent({ type: "warning", message: "a warning" });
  expect(readMessages(folder).map(({ level, step, message }) => [level, step, message])).toEqual([
    ["notice", 2, "a notice"],
    ["warning", 3, "a warning"],
  ]);
  live.close();
  expect(readLive(folder)).toBeUndefined();
});

test("a folder that cannot be written leaves the run alone", () => {
  const folder = join(mkdtempSync(join(tmpdir(), "live-")), "gone");
  mkdirSync(folder);
  const live = recordLive(folder);
  rmSync(folder, { recursive: true });
  live.onEvent({ type: "phase", phase: "rollout", step: 1, total: 1 });
  live.onEvent({ type: "notice", message: "lost" });
  expect(() => live.close()).not.toThrow();
});

const warning = (rule: string, example?: string) => ({
  ...{ rule, cause: "It is so.", next: "Do this." },
  ...(example === undefined ? {} : { example }),
});

test("warnings are announced once for each cause, in one paragraph", () => {
  const events: TrainingEvent[] = [];
  const given = [warning("no-signal", "step-1/0"), warning("echo-trap"), warning("one-bad-end")];
  announceWarnings(given, [warning("equal-rewards"), warning("one-bad-end")], "step 3", (event) => events.push(event));
  expect(events).toEqual([{ type: "warning", message: "echo-trap (step 3): It is so. Do this.", warning: given[1] }]);
  announceWarnings(given, undefined, "step 3", (event) => events.push(event));
  expect(events.slice(1).map((event) => "message" in event && event.message)).toEqual([
    "no-signal (step 3): It is so. Do this. Example: step-1/0",
    "echo-trap (step 3): It is so. Do this.",
    "one-bad-end (step 3): It is so. Do this.",
  ]);
  announceWarnings(undefined, undefined, "step 3", () => expect.unreachable());
});

test("a strict run ends at its first warning; warnings are counted by their rule", () => {
  const given = [warning("no-signal", "step-1/0"), warning("echo-trap")];
  expect(() => requireNoWarnings("runs/a", given, "step 3", true)).toThrow(
    'runs/a is "stopped by the warning no-signal in step 3"; expected no warning (--strict). It is so. Do this. Example: step-1/0.',
  );
  expect(() => requireNoWarnings("runs/a", given.slice(1), "step 3", true)).toThrow(/\(--strict\)\. It is so\. Do this\.$/);
  requireNoWarnings("runs/a", given, "step 3", false);
  requireNoWarnings("runs/a", [], "step 3", true);
  requireNoWarnings("runs/a", undefined, "step 3", true);
  const records = [{ warnings: given }, { warnings: [warning("no-signal")] }, {}] as unknown as Parameters<
    typeof countWarnings
  >[0];
  expect(countWarnings(records)).toEqual({ "no-signal": 2, "echo-trap": 1 });
  expect(countWarnings([{} as never])).toBeUndefined();
});
