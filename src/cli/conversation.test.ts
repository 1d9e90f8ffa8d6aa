import { expect, test } from "vitest";
import type { Trajectory, Turn } from "../core/trajectory.ts";
import { plain } from "../terminal/paint.ts";
import { episodeLines, messageLines } from "./conversation.ts";

const episode: Trajectory = {
  id: "step-1/0/0",
  group: "step-1/0",
  task: "test/0",
  turns: [],
  reward: 1,
  scores: {},
  stopReason: "done",
  messages: [
    { role: "user", content: "Pay Ana 20." },
    { role: "assistant", content: "", toolCalls: [{ name: "pay", arguments: { to: "c12", amount: 20 } }] },
    { role: "tool", name: "pay", content: '{"ok":true}' },
    { role: "assistant", content: "Done." },
  ],
};

test("an episode reads like a conversation, tool calls like calls", () => {
  expect(episodeLines(episode, plain, 80)).toEqual([
    "user       Pay Ana 20.",
    'assistant  pay(to: "c12", amount: 20)',
    'tool       pay → {"ok":true}',
    "assistant  Done.",
    "reward 1, 0 turns, ended: done",
  ]);
});

test("a long episode is cut, and says so", () => {
  expect(episodeLines(episode, plain, 80, { maxMessages: 1 })).toContain("… 3 more messages");
  const long = { ...episode, messages: [{ role: "system" as const, content: "one line\n".repeat(9).trim() }] };
  expect(episodeLines(long, plain, 80, { maxLines: 3 }).slice(0, 3)).toEqual([
    "system     one line",
    "           one line",
    "           … 7 more lines",
  ]);
});

test("long text is wrapped beside its role, cut where it has no spaces", () => {
  const lines = messageLines({ role: "user", content: `one two three four ${"x".repeat(30)}` }, plain, 31);
  expect(lines).toEqual(["user       one two three four", `           ${"x".repeat(20)}`, `           ${"x".repeat(10)}`]);
});

test("what would steer the terminal is not passed on", () => {
  const text = messageLines({ role: "assistant", content: "a\x1b[2Jb\u0007" }, plain, 80).join("");
  expect(text).toBe("assistant  a·[2Jb·");
});

test("a turn is named by its role, and the ending has the return of each", () => {
  const turns = ["planner", "a-role-of-many-letters"].map((role, turn) => ({ turn, role }) as Turn);
  expect(episodeLines({ ...episode, turns, scores: { "reward:planner": 0.5 } }, plain, 80)).toEqual([
    "user       Pay Ana 20.",
    'planner    pay(to: "c12", amount: 20)',
    'tool       pay → {"ok":true}',
    "a-role-of- Done.",
    "reward 1 (planner 0.5, a-role-of-many-letters 0), 2 turns, ended: done",
  ]);
});
