import { present } from "../../src/core/present.ts";
import { type Random, randomStream } from "../../src/core/random.ts";
import { type AnswerTask, type Comparison, isRight } from "./tasks.ts";

/** A player who reads no meaning. */
export interface Player {
  readonly name: string;
  /** The answers among which it draws, a list for each task. */
  readonly guesses: readonly (readonly string[])[];
}

/** Most guesses of a player at one task. */
const mostGuesses = 16;

/** The players that a list of tasks gives something to guess from. */
export function playersOf(tasks: readonly AnswerTask[]): Player[] {
  const random = randomStream(0, "players");
  const firsts = tasks.map(first);
  const usual = mostFrequent(firsts.map(shapeOf));
  const found = [
    player(anothers, tasks, (_, i) =>
      sample(
        firsts.filter((_, other) => other !== i),
        random,
      ),
    ),
    player("the most frequent answer", tasks, (_, i) => [mostFrequent(firsts.filter((_, other) => other !== i))]),
    player(aWord, tasks, ({ prompt }) => wordsIn(prompt).filter((word) => shapeOf(word) === usual)),
    player("a sentence's first word", tasks, ({ prompt }) => firstWords(prompt)),
    player("the prompt's end", tasks, ({ prompt }) =>
      prompt
        .trim()
        .split(/: |:\n|\n/)
        .slice(-1),
    ),
    ...(tasks.every(isReordering) ? [player(itsParts, tasks, (task) => reordered(first(task), random))] : []),
  ];
  return found.filter(({ guesses }) => guesses.some((each) => each.length > 0));
}

const [anothers, aWord, itsParts] = ["another task's answer", "a word of the prompt", "its parts in any order"];

/** The share of a player's guesses that are right, at each task. */
export function chanceOf({ guesses }: Player, tasks: readonly AnswerTask[], comparison: Comparison): number[] {
  return tasks.map((task, i) => {
    const given = guesses[i] ?? [];
    return given.filter((guess) => isRight(guess, task, comparison)).length / Math.max(1, given.length);
  });
}

/** The share of tasks all of whose answer's words are the prompt's. */
export function inPrompt(tasks: readonly AnswerTask[]): number {
  return tasks.filter(isInPrompt).length / tasks.length;
}

/**
 * Guesses that show the form of an answer and teach nothing else: of the parts of the answer or the words of the prompt where they hold answers, else
 * answers to other tasks.
 */
export function formGuesses(tasks: readonly AnswerTask[]): Player["guesses"] {
  const players = playersOf(tasks);
  // Few answers, such as True and False, are a form by themselves.
  const few = new Set(tasks.map(first)).size <= 8;
  const names = [...(few || inPrompt(tasks) < 0.9 ? [] : [itsParts, aWord]), anothers];
  const [chosen] = names.flatMap((name) => players.filter((each) => each.name === name));
  return tasks.map((task, i) => (chosen?.guesses[i]?.length ? present(chosen.guesses[i], "guesses") : [first(task)]));
}

const first = ({ answers }: AnswerTask) => present(answers[0], "an answer");

function player(name: string, tasks: readonly AnswerTask[], guess: (task: AnswerTask, i: number) => readonly string[]): Player {
  // A blank answer is silence, and no guess.
  const made = (task: AnswerTask, i: number) => [...new Set(guess(task, i))].filter((each) => each !== "");
  return { name, guesses: tasks.map((task, i) => made(task, i).slice(0, mostGuesses)) };
}

const sample = (items: readonly string[], random: Random) => random.shuffle(items).slice(0, mostGuesses);

function mostFrequent(items: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return [...counts].reduce((best, each) => (each[1] > best[1] ? each : best), ["", 0])[0];
}

/** A text with each run of digits, capitals and small letters as one sign: "Room 12b" is "Aa 9a". */
function shapeOf(text: string): string {
  return text
    .replaceAll(/\d+/g, "9")
    .replaceAll(/\p{Lu}+/gu, "A")
    .replaceAll(/\p{Ll}+/gu, "a");
}

function wordsIn(text: string): string[] {
  return text.split(/\s+/).flatMap((word) => word.replaceAll(/^[.,:;?!()[\]{}"'`]+|[.,:;?!()[\]{}"'`]+$/g, "") || []);
}

function firstWords(prompt: string): string[] {
  return present(prompt.split("\n")[0], "a line")
    .split(". ")
    .flatMap((sentence) => sentence.trim().split(" ")[0] || []);
}

function isInPrompt(task: AnswerTask): boolean {
  const known = new Set(wordsIn(task.prompt));
  return wordsIn(first(task)).every((word) => known.has(word));
}

const isReordering = (task: AnswerTask) => /\S\s+\S/.test(first(task)) && isInPrompt(task);

/** The parts of an answer in other orders, what is between them in its place. */
function reordered(answer: string, random: Random): string[] {
  const [, open, body, close] = /^([[({]?)(.*?)([\])}]?)$/s.exec(answer) as RegExpExecArray;
  const parts = present(body, "a body").split(/(,\s*|\s+)/);
  return Array.from({ length: mostGuesses }, () => {
    const items = random.shuffle(parts.filter((_, i) => i % 2 === 0));
    return `${open}${parts.map((part, i) => (i % 2 === 0 ? items[i / 2] : part)).join("")}${close}`;
  });
}
