import { expect, test } from "vitest";
import { environment, question, read, scores, valueIn, written } from "../research/recipes/calculator-questions.ts";
import { randomStream } from "../src/core/random.ts";

const play = async (index: number, disturb: boolean) => {
  const task = await environment.task("test", index);
  const episode = await environment.start(task, index);
  const { expression } = task.request;
  const messages = disturb
    ? ((await environment.demonstrate?.(task, index)) ?? []).filter(({ role }) => role === "assistant")
    : [`<calculator>\n${written(expression)}\n</calculator>`, `Answer: ${valueIn(expression)}`].map((content) => ({
        role: "assistant" as const,
        content,
      }));
  const conversation = [...episode.messages];
  let ended = false;
  for (const message of messages) {
    expect(ended).toBe(false);
    const reply = await episode.reply(message as { role: "assistant"; content: string });
    conversation.push(message, ...(reply.messages ?? []));
    ended = reply.done === true;
  }
  expect(ended).toBe(true);
  return { conversation, score: await episode.score(conversation), expression };
};

test("the right expression earns both scorings, and random operations rarely do", async () => {
  const right = await Promise.all(Array.from({ length: 100 }, (_, i) => play(i, false)));
  expect(right.map(({ score }) => score.reward)).toEqual(right.map(() => 1));
  expect(right.map(({ score }) => score.scores?.corrected)).toEqual(right.map(() => 1));
  const outputs = right.map(({ conversation, expression }) => [
    conversation.at(-2)?.content,
    `<output>${valueIn(expression)}</output>`,
  ]);
  expect(outputs.filter(([said, expected]) => said !== expected)).toEqual([]);
  const drawn = await Promise.all(Array.from({ length: 100 }, (_, i) => play(i, true)));
  const share = drawn.filter(({ score }) => score.reward === 1).length / 100;
  expect(share).toBeGreaterThan(0.03);
  expect(share).toBeLessThan(0.4);
});

test("expressions are read back as written, and what is none is refused", () => {
  const random = randomStream(1, "questions");
  const nested = Array.from({ length: 200 }, () => question(random).expression);
  for (const expression of nested) expect(read(written(expression))).toEqual(expression);
  expect(read("operation: add\noperands:\n  - 5\n  - operation: multiply\n    operands:\n      - 3\n      - 4\n")).toEqual({
    operation: "add",
    operands: [5, { operation: "multiply", operands: [3, 4] }],
  });
  for (const text of [
    "",
    "5",
    "operation: power\noperands:\n  - 2\n  - 3",
    "operation: add\noperands:\n",
    "operation: add\noperands:\n  - 2\n  - x",
    "operation: add\noperands:\n  - 2\n- 3",
  ])
    expect(read(text)).toBeUndefined();
});

test("the published scoring takes what is within 0.1 of the last number, the corrected one does not", () => {
  const tenth = { operation: "divide", operands: [1, 20] } as const; // 0.05
  expect(scores("Answer: 0", tenth)).toEqual({ success: 1, corrected: 0 });
  expect(scores("5%", tenth)).toEqual({ success: 1, corrected: 1 });
  const product = { operation: "multiply", operands: [12345, 6789] } as const;
  expect(scores("It is 83,810,205.", product)).toEqual({ success: 1, corrected: 1 });
  expect(scores("It is 83,810,210.", product)).toEqual({ success: 0, corrected: 1 });
  expect(scores("First 83810205, then 7", product)).toEqual({ success: 0, corrected: 0 });
  expect(scores("no number", product)).toEqual({ success: 0, corrected: 0 });
});
