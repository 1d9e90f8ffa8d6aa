import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError } from "../../src/core/errors.ts";
import { whileEpisode } from "../../src/environments/lifetime.ts";
import { answersEnvironment } from "./answers.ts";
import { type Comparison, isRight } from "./tasks.ts";

function fileOf(lines: readonly unknown[]): string {
  const file = join(mkdtempSync(join(tmpdir(), "answers-")), "tasks.jsonl");
  writeFileSync(file, lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""));
  return file;
}

const sums = Array.from({ length: 20 }, (_, i) => ({ prompt: `What is ${i} + 1?`, answer: i + 1 }));

test.each<[Comparison, string, string[], boolean]>([
  ["text", " new YORK\n", ["New York"], true],
  ["text", "New York.", ["New York"], false],
  ["text", "b", ["a", "b"], true],
  ["text", "", ["a"], false],
  ["number", "So it is 1,234.50.", ["1234.5"], true],
  ["number", "12 - 5 is 7", ["7"], true],
  ["number", "10-4", ["4"], true],
  ["number", "10-4", ["-4"], false],
  ["number", "It is -4", ["-4"], true],
  ["number", "4, I mean 5", ["4"], false],
  ["number", "four", ["4"], false],
  ["number", "3", ["4", "3"], true],
])("compared as %s, %j for %j is right: %j", (compare, answer, answers, expected) => {
  expect(isRight(answer, { prompt: "?", answers }, compare)).toBe(expected);
});

test("a fifth of the file is measured, and no question of it is trained", async () => {
  const environment = answersEnvironment({ data: fileOf(sums) });
  expect([await environment.size("train"), await environment.size("test"), await environment.size("challenge")]).toEqual([
    16, 4, 0,
  ]);
  const prompts = async (split: string, size: number) =>
    Promise.all(Array.from({ length: size }, async (_, i) => (await environment.task(split, i)).request.prompt));
  const all = [...(await prompts("train", 16)), ...(await prompts("test", 4))];
  expect(new Set(all)).toEqual(new Set(sums.map(({ prompt }) => prompt)));
});

test("one message answers, and only a right one is paid", async () => {
  const environment = answersEnvironment({ data: fileOf(sums), compare: "number", system: "Answer by a number." });
  const task = await environment.task("test", 0);
  const [right = ""] = task.request.answers;
  const rewardOf = (content: string) =>
    whileEpisode(environment, task, 0, async (episode) => {
      expect(episode.messages.map(({ role }) => role)).toEqual(["system", "user"]);
      expect(episode.tools).toEqual([]);
      const message = { role: "assistant", content } as const;
      expect(await episode.reply(message)).toEqual({ done: true });
      return (await episode.score([...episode.messages, message])).reward;
    });
  expect([await rewardOf(`It is ${right}.`), await rewardOf("It is 77777."), await rewardOf("")]).toEqual([1, 0, 0]);
});

test("demonstrations show right answers, or the form of one without what is right", async () => {
  const shownIn = async (demonstrate: "answers" | "form") => {
    const environment = answersEnvironment({ data: fileOf(sums), demonstrate });
    const tasks = await Promise.all(Array.from({ length: 16 }, (_, i) => environment.task("train", i)));
    return Promise.all(
      tasks.map(async (task) => {
        const shown = (await environment.demonstrate?.(task, 1))?.at(-1)?.content ?? "";
        expect(shown).toMatch(/^\d+$/);
        return task.request.answers.includes(shown);
      }),
    );
  };
  expect(await shownIn("answers")).toEqual(Array(16).fill(true));
  expect((await shownIn("form")).filter(Boolean).length).toBe(0);
});

test.each([
  [[{ prompt: "a", answer: "b" }, "no JSON"], /tasks\.jsonl:2 is "no JSON"; expected JSON/],
  [[{ prompt: "a" }], /tasks\.jsonl:1 is .*answer/s],
  [[{ prompt: "a", answer: " " }], /not blank/],
  [[{ prompt: "a", answer: [] }], /tasks\.jsonl:1/],
  [[{ prompt: "a", answer: "b", anwser: "c" }], /anwser/],
  [[], /is "no line"; expected JSON lines/],
  [
    [
      { prompt: "a", answer: "b" },
      { prompt: "a", answer: "b" },
    ],
    /each task once/,
  ],
])("%j is refused", (lines, message) => {
  const open = () => answersEnvironment({ data: fileOf(lines) });
  expect(open).toThrow(ConfigError);
  expect(open).toThrow(message);
});

test("what cannot be compared as a number, and a file that is not there, are named", () => {
  const data = fileOf([{ prompt: "Capital of France?", answer: "Paris" }]);
  expect(() => answersEnvironment({ data, compare: "number" })).toThrow(/tasks\.jsonl:1 is "Paris"; expected a number/);
  expect(() => answersEnvironment({ data: "nowhere.jsonl" })).toThrow(/environment\.settings\.data is "nowhere\.jsonl"/);
  expect(() => answersEnvironment({ data, comparison: "text" })).toThrow(/comparison/);
});
