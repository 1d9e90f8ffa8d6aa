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

/** The guesses of a player, task by task. */
const guessesOf = (name: string, tasks: readonly AnswerTask[]) =>
  playersOf(tasks).find((player) => player.name === name)?.guesses;

test("words of the prompt are guessed that have the usual form of an answer, without the signs around them", () => {
  const tasks = [task('Say "Ulm", (Bonn) or [rome]!', "Ulm"), task("Ab1 and Köln: which?", "Bonn")];
  expect(guessesOf("a word of the prompt", tasks)).toEqual([["Say", "Ulm", "Bonn"], ["Köln"]]);
  // A number is one sign, however long; letters and numbers together are another form.
  const numbers = [task("12 of 345 or 6a, a6 and -7 7.", "9"), task("x", "10")];
  expect(guessesOf("a word of the prompt", numbers)).toEqual([["12", "345", "7"], []]);
});

test("the first words of sentences are those of the prompt's first line", () => {
  const tasks = [task("Ana runs fast. Ben walks.  Cleo.\nDan sits. Eve", "Ben"), task("Hi", "Hi")];
  expect(guessesOf("a sentence's first word", tasks)).toEqual([["Ana", "Ben", "Cleo."], ["Hi"]]);
});

test.each([
  ["Repeat: a b", "a b"],
  ["Repeat:\na b\n", "a b"],
  ["One\nTwo", "Two"],
  ["A:b", "A:b"],
])("the end of %j is %j", (prompt, end) => {
  expect(guessesOf("the prompt's end", [task(prompt, "x")])).toEqual([[end]]);
});

test("answers to other tasks are guessed, never the own one, and the most frequent of them", () => {
  const tasks = [task("1", "a"), task("2", "b"), task("3", "b"), task("4", "c")];
  const sorted = guessesOf("another task's answer", tasks)?.map((each) => [...each].sort());
  expect(sorted).toEqual([
    ["b", "c"],
    ["a", "b", "c"],
    ["a", "b", "c"],
    ["a", "b"],
  ]);
  expect(guessesOf("the most frequent answer", tasks)).toEqual([["b"], ["a"], ["a"], ["b"]]);
});

test("parts in any order keep what is between them, and the brackets around", () => {
  const tasks = [task("a b", "[a, b]"), task("c d", "c  d"), task("e f", "{e f)")];
  const orders = guessesOf("its parts in any order", tasks)?.map((each) => [...each].sort());
  expect(orders).toEqual([
    ["[a, b]", "[b, a]"],
    ["c  d", "d  c"],
    ["{e f)", "{f e)"],
  ]);
});

test("a player that has nothing to guess anywhere is none", () => {
  const names = playersOf([task("…", "7")]).map(({ name }) => name);
  expect(names).toEqual(["a sentence's first word", "the prompt's end"]);
  expect(playersOf([task("  ", "7")])).toEqual([]);
});

test("the chance of a player is the share of its guesses that are right, and 0 without any", () => {
  const player = { name: "p", guesses: [["a", "b", "A", "c"], [], ["1.0"]] };
  const tasks = [task("1", "a"), task("2", "a"), task("3", "1")];
  expect(chanceOf(player, tasks, "text")).toEqual([0.5, 0, 0]);
  expect(chanceOf(player, tasks, "number")).toEqual([0, 0, 1]);
  expect(chanceOf({ name: "p", guesses: [] }, [task("1", "a")], "text")).toEqual([0]);
});

test("the share of answers in the prompt counts their words, without the signs around them", () => {
  expect(inPrompt([task("tea, milk", "milk tea"), task("tea", "teas"), task("(tea)", "tea!")])).toBeCloseTo(2 / 3);
});

test("few answers are a form by themselves: those of others are shown, or the own where there is none", () => {
  const few = Array.from({ length: 8 }, (_, i) => task(`a${i} b${i}`, `a${i}`));
  for (const [i, guesses] of formGuesses(few).entries()) expect(guesses).not.toContain(`a${i}`);
  const many = Array.from({ length: 9 }, (_, i) => task(`a${i} b${i}`, `a${i}`));
  expect(formGuesses(many)).toEqual(many.map((_, i) => [`a${i}`, `b${i}`]));
  // A tenth of the answers may be elsewhere, and no more.
  const nearly = [...many, task("x", "y0")];
  expect(formGuesses(nearly)[0]).toEqual(["a0", "b0"]);
  expect(formGuesses(nearly)[9]).toEqual(["y0"]);
  const fewer = [...nearly, task("x", "y1")];
  expect(formGuesses(fewer)[0]).not.toContain("a0");
  expect(formGuesses([task("1", "a")])).toEqual([["a"]]);
});
