import pc from "picocolors";
import { expect, test } from "vitest";
import type { Trajectory, Turn } from "../core/trajectory.ts";
import { plain } from "../terminal/paint.ts";
import { endingLine, endOf, episodeLines, longestShown, messageLines, shownEpisodes } from "./conversation.ts";

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

test("reasoning, text and calls of a message are below each other; one without any says so", () => {
  const both = { name: "pay", arguments: { to: "c1", list: [1, { a: null }] } };
  expect(
    messageLines(
      { role: "assistant", reasoning: "hm", content: "I pay.", toolCalls: [both, { name: "ls", arguments: {} }] },
      plain,
      80,
    ),
  ).toEqual(["assistant  (hm)", "           I pay.", '           pay(to: "c1", list: [1,{"a":null}])', "           ls()"]);
  expect(messageLines({ role: "assistant", content: "" }, plain, 80)).toEqual(["assistant  (nothing)"]);
  expect(messageLines({ role: "user", content: "" }, plain, 80, "critic")).toEqual(["critic     (nothing)"]);
});

test("each role has its colour, the system's text too; a narrow screen still has 20 characters of text", () => {
  const paint = pc.createColors(true);
  const coloured = (role: "system" | "user" | "assistant") => messageLines({ role, content: "a" }, paint, 80)[0];
  expect([coloured("system"), coloured("user"), coloured("assistant")]).toEqual([
    `${paint.dim("system     ")}${paint.dim("a")}`,
    `${paint.cyan("user       ")}a`,
    `${paint.green("assistant  ")}a`,
  ]);
  expect(messageLines({ role: "tool", name: "f", content: "a" }, paint, 80)[0]).toBe(`${paint.yellow("tool       ")}f → a`);
  expect(messageLines({ role: "user", content: "x".repeat(25) }, plain, 5)).toEqual([
    `user       ${"x".repeat(20)}`,
    `           ${"x".repeat(5)}`,
  ]);
});

test("a message of as many lines as are shown stays whole, and one message more is one", () => {
  const long = {
    ...episode,
    messages: [
      { role: "user" as const, content: "a\nb\nc" },
      { role: "user" as const, content: "d" },
    ],
  };
  expect(episodeLines(long, plain, 80, { maxLines: 3, maxMessages: 2 }).slice(0, 4)).toEqual([
    ...["user       a", "           b", "           c", "user       d"],
  ]);
  expect(episodeLines(long, plain, 80, { maxLines: 2, maxMessages: 1 })).toEqual([
    ...["user       a", "           … 2 more lines", "… 1 more message", "reward 1, 0 turns, ended: done"],
  ]);
});

test("an ending says why, and what the roles earned", () => {
  const turn = (role?: string) => ({ role }) as Turn;
  expect(endingLine({ ...episode, reward: 0.5, turns: [turn()], stopReason: "environment-error", error: "no table" })).toBe(
    "reward 0.5, 1 turn, ended: environment-error (no table)",
  );
  expect(endingLine({ ...episode, turns: [turn("a"), turn("b"), turn("a")], scores: { "reward:b": -1 } })).toBe(
    "reward 1 (a 0, b -1), 3 turns, ended: done",
  );
  expect(endOf(episode)).toBe("ended: done");
});

test("at the end of a measurement the first episode that fails is shown, or as many as are asked for", () => {
  const of = (id: string, reward: number, more: Partial<Trajectory> = {}): Trajectory => ({
    ...episode,
    id,
    reward,
    messages: [],
    ...more,
  });
  const solved = of("s/0", 1);
  const failed = [of("f/0", 0), of("f/1", 0)];
  const broken = of("e/0", 0, { stopReason: "environment-error", error: "x" });
  const titles = (show?: string, all: readonly Trajectory[] = [broken, solved, ...failed]) =>
    shownEpisodes(all, show, plain, 80).filter((line) => line.startsWith("An "));
  const [fails, solves, errs] = ["An episode that it fails", "An episode that it solves", "An episode that an error ended"];
  expect(titles()).toEqual([`${fails} (f/0)`]);
  expect(titles("0")).toEqual([]);
  expect(titles("9")).toEqual([`${fails} (f/0)`, `${fails} (f/1)`, `${solves} (s/0)`, `${errs} (e/0)`]);
  expect(titles(undefined, [broken, solved])).toEqual([`${solves} (s/0)`]);
  expect(titles(undefined, [broken])).toEqual([`${errs} (e/0)`]);
  expect(shownEpisodes([], undefined, plain, 80)).toEqual([]);
  expect(shownEpisodes([solved], undefined, plain, 80)).toEqual(["", `${solves} (s/0)`, "reward 1, 0 turns, ended: done"]);
  for (const show of ["all", "-1", "1.5", "", "1x"])
    expect(() => titles(show)).toThrow(`--show is "${show}"; expected a number of episodes.`);
  expect(longestShown).toEqual({ maxMessages: 24, maxLines: 24 });
});
