import { expect, test } from "vitest";
import { mean } from "../../src/core/mean.ts";
import { chanceOf, formGuesses, inPrompt, playersOf } from "./players.ts";
import type { AnswerTask } from "./tasks.ts";

const task = (prompt: string, ...answers: string[]): AnswerTask => ({ prompt, answers });

/** Mean success of each player, by its name. */
function chances(tasks: readonly AnswerTask[]): Record<string, number> {
  return Object.fromEntries(playersOf(tasks).map((player) => [player.name, mean(chanceOf(player, tasks, "text"))]));
}

test("a name among four of the prompt is found by a word of the prompt, a quarter of the time", () => {
  const names = ["Ana", "Ben", "Cleo", "Dan"];
  const tasks = names.map((name) => task(`who likes tea among ${names.join(" and ")}?`, name));
  expect(chances(tasks)["a word of the prompt"]).toBeCloseTo(0.25);
  expect(chances(tasks)["another task's answer"]).toBe(0);
  expect(inPrompt(tasks)).toBe(1);
});

test("one of two answers is guessed by the more frequent one", () => {
  const tasks = Array.from({ length: 10 }, (_, i) => task(`Question ${i}?`, i < 7 ? "yes" : "no"));
  expect(chances(tasks)["the most frequent answer"]).toBeCloseTo(0.7);
  expect(inPrompt(tasks)).toBe(0);
});

test("two words in some order are right half of the time, brackets and commas in their place", () => {
  const tasks = Array.from({ length: 8 }, (_, i) => task(`Sort: b${i}, a${i}`, `[a${i}, b${i}]`));
  const shares = chances(tasks);
  expect(shares["its parts in any order"]).toBeGreaterThan(0.3);
  expect(shares["its parts in any order"]).toBeLessThan(0.7);
  expect(chances([...tasks, task("Sort: nothing", "c d")])).not.toHaveProperty("its parts in any order");
});

test("what the prompt ends with and what its sentences begin with are players", () => {
  const ends = Array.from({ length: 4 }, (_, i) => task(`Repeat this: w${i}x`, `w${i}x`));
  expect(chances(ends)["the prompt's end"]).toBe(1);
  const openers = ["Ana", "Ben"].map((name) => task("Ana runs. Ben walks. who is fast?", name));
  expect(chances(openers)["a sentence's first word"]).toBeCloseTo(1 / 3);
});

test("every right answer counts", () => {
  const tasks = [task("a or b", "c", "a"), task("d or e", "f", "d")];
  expect(chances(tasks)["a word of the prompt"]).toBeGreaterThan(0);
});

test("guesses of the form have its shape, and come from the prompt only where answers do", () => {
  const lists = Array.from({ length: 12 }, (_, i) => task(`Sort: q${i} p${i}`, `p${i} q${i}`));
  for (const [i, guesses] of formGuesses(lists).entries())
    for (const guess of guesses) expect([`p${i} q${i}`, `q${i} p${i}`]).toContain(guess);
  const capitals = Array.from({ length: 12 }, (_, i) => task(`Capital of land ${i}?`, `Town${i}`));
  for (const [i, guesses] of formGuesses(capitals).entries()) {
    expect(guesses.length).toBeGreaterThan(0);
    for (const guess of guesses) {
      expect(guess).toMatch(/^Town\d+$/);
      expect(guess).not.toBe(`Town${i}`);
    }
  }
});

test("guesses are the same every time, and at most sixteen", () => {
  const tasks = Array.from({ length: 40 }, (_, i) => task(`Question ${i}?`, `answer ${i}`));
  expect(playersOf(tasks)).toEqual(playersOf(tasks));
  for (const { guesses } of playersOf(tasks)) for (const each of guesses) expect(each.length).toBeLessThanOrEqual(16);
});
