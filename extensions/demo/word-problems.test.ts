import { expect, test } from "vitest";
import { randomStream } from "../../src/core/random.ts";
import { calculate, drawProblem } from "./word-problems.ts";
import { operations, wordings } from "./wordings.ts";

const draw = (words: "seen" | "unseen") => Array.from({ length: 400 }, (_, i) => drawProblem(randomStream(0, "test", i), words));

test("no calculation with the two numbers gives a problem's answer but the right one", () => {
  for (const { numbers, operation, answer } of [...draw("seen"), ...draw("unseen")]) {
    const [a, b] = numbers;
    expect(calculate(a, operation, b)).toBe(answer);
    expect(Number.isInteger(answer) && answer > 0).toBe(true);
    for (const other of operations.filter((each) => each !== operation))
      expect([calculate(a, other, b), calculate(b, other, a)]).not.toContain(answer);
  }
});

test("a problem's text has its numbers and no empty slot", () => {
  for (const { prompt, numbers } of [...draw("seen"), ...draw("unseen")]) {
    expect(prompt).not.toMatch(/[{}]|undefined/);
    expect((prompt.match(/\d+/g) ?? []).map(Number).toSorted()).toEqual([...numbers].toSorted());
  }
});

test("each operation has at least 60 wordings in training, and no story or question of the challenge is among them", () => {
  for (const { seen, unseen } of Object.values(wordings)) {
    expect(new Set(seen.stories).size * new Set(seen.questions).size).toBeGreaterThanOrEqual(60);
    const sentences = (texts: readonly string[]) => texts.flatMap((text) => text.split(/(?<=[.?!]) /));
    const trained = new Set(Object.values(wordings).flatMap((each) => [...sentences(each.seen.stories), ...each.seen.questions]));
    for (const sentence of [...sentences(unseen.stories), ...unseen.questions]) expect(trained).not.toContain(sentence);
  }
});
