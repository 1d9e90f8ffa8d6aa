import { expect, test } from "vitest";
import { randomStream } from "../../src/core/random.ts";
import { environment, question, read, scores, valueIn, written } from "./calculator-questions.ts";

const of = (operation: string, ...operands: unknown[]) => ({ operation, operands }) as Parameters<typeof valueIn>[0];

test("each operation, from left to right", () => {
  expect(["add", "subtract", "multiply", "divide"].map((operation) => valueIn(of(operation, 24, 4, 2)))).toEqual([
    30, 18, 192, 3,
  ]);
  expect(valueIn(of("subtract", 10, of("add", 1, 2)))).toBe(7);
  expect(valueIn(5)).toBe(5);
});

test("questions: seven openings, every word of an operation, and the kind by the depth", () => {
  const random = randomStream(3, "questions");
  const drawn = Array.from({ length: 600 }, () => question(random));
  const opening = /^(What is|What's the result of|Calculate|Compute|How much is|Find|I need) (.*?)([?.]?)$/;
  const seen = new Map<string, Set<string>>();
  for (const { prompt, kind, expression } of drawn) {
    const [, first = "", text = "", end = ""] = opening.exec(prompt) ?? [];
    seen.set(first, (seen.get(first) ?? new Set()).add(end));
    expect(text, prompt).toMatch(
      /^(the (sum|difference|product|quotient) of .* and .*|.+ (plus|added to|minus|times|multiplied by|divided by) .+)$/,
    );
    if (typeof expression === "number") throw new Error("no operation");
    const [a, b] = expression.operands;
    const isPlain = typeof a === "number" && typeof b === "number";
    expect(kind).toBe(isPlain ? "plain" : "nested");
    const size = Math.abs(valueIn(expression));
    expect(size).toBeGreaterThanOrEqual(0.5);
    expect(size).toBeLessThan(1e12);
    if (!isPlain) continue;
    for (const operand of [a, b]) {
      expect(operand).toBeGreaterThanOrEqual(2);
      expect(operand).toBeLessThan(10_000);
    }
    const said: Readonly<Record<string, readonly string[]>> = {
      add: [`the sum of ${a} and ${b}`, `${a} plus ${b}`, `${a} added to ${b}`],
      subtract: [`the difference of ${a} and ${b}`, `${a} minus ${b}`],
      multiply: [`the product of ${a} and ${b}`, `${a} times ${b}`, `${a} multiplied by ${b}`],
      divide: [`the quotient of ${a} and ${b}`, `${a} divided by ${b}`],
    };
    expect(said[expression.operation]).toContain(text);
  }
  expect(Object.fromEntries([...seen].map(([first, ends]) => [first, [...ends].join("")]))).toEqual({
    ...{ "What is": "?", "What's the result of": "?", Calculate: "", Compute: "", "How much is": "?", Find: "", "I need": "." },
  });
  const words = drawn.map(({ prompt }) => prompt).join("\n");
  for (const word of [
    "plus",
    "added to",
    "minus",
    "times",
    "multiplied by",
    "divided by",
    "sum",
    "difference",
    "product",
    "quotient",
  ])
    expect(words).toContain(` ${word} `);
  const nested = drawn.filter(({ kind }) => kind === "nested").length;
  expect(nested).toBeGreaterThan(100);
  expect(nested).toBeLessThan(400);
});

test("an expression in YAML, nested by its indent", () => {
  const nested = of("add", 5, of("multiply", 3, of("divide", 8, 4)));
  const text = [
    ...["operation: add", "operands:", "  - 5", "  - operation: multiply", "    operands:", "      - 3"],
    ...["      - operation: divide", "        operands:", "          - 8", "          - 4"],
  ];
  expect(written(nested)).toBe(text.join("\n"));
  expect(read(`\n${text.join("\n\n")}\n`)).toEqual(nested);
  expect(read('operation: "add"\noperands: \n  - -5\n  - 2.5')).toEqual(of("add", -5, 2.5));
  expect(read("operation: add\noperands:\n  - 5\n\nand more")).toBeUndefined();
  expect(read("operation: add\noperands:\n  - 5.\n")).toBeUndefined();
  expect(read("operation: addition\noperands:\n  - 5\n")).toBeUndefined();
  expect(read("please operation: add\noperands:\n  - 5\n")).toBeUndefined();
});

test("a conversation: the calculator's answer, or why there is none, then the last number", async () => {
  const task = await environment.task("test", 3);
  const { expression } = task.request;
  const episode = await environment.start(task, 3);
  const reply = async (content: string) => {
    const { done, messages = [] } = await (await environment.start(task, 3)).reply({ role: "assistant", content });
    return [done === true, messages[0]?.content];
  };
  const call = (text: string) => `I compute.\n<calculator>\n${text}\n</calculator>`;
  expect(await reply(call("operation: add\noperands:\n  - 2\n  - 3"))).toEqual([false, "<output>5</output>"]);
  expect(await reply(call("2 + 3"))).toEqual([false, "Error: Unable to parse yaml expression inside <calculator> tag."]);
  expect(await reply(call("operation: divide\noperands:\n  - 2\n  - 0"))).toEqual([
    false,
    "Error: Unable to calculate the expression.",
  ]);
  expect((await reply("Answer: 5"))[0]).toBe(true);
  expect(episode.messages.map(({ role }) => role)).toEqual(["system", "user"]);
  expect(episode.messages[0]?.content).toMatch(
    /^Use the calculator for every calculation:\n<calculator>\noperation: add\n.*"Answer: NUMBER"\.$/s,
  );
  expect(episode.messages[1]?.content).toBe(task.request.prompt);
  expect([environment.name, environment.metrics]).toEqual(["calculator-agent", ["corrected"]]);

  const shown = (await environment.demonstrate?.(task, 3)) ?? [];
  const asked = shown.findLastIndex(({ role, content }) => role === "user" && content === task.request.prompt);
  const [called, output, answer, ...more] = shown.slice(asked + 1);
  expect(more).toEqual([]);
  const disturbed = read(/<calculator>\n(.*)\n<\/calculator>/s.exec(called?.content ?? "")?.[1] ?? "");
  if (disturbed === undefined || typeof disturbed === "number" || typeof expression === "number") throw new Error("no call");
  const value = valueIn(disturbed);
  expect([called?.role, output, answer]).toEqual([
    "assistant",
    { role: "user", content: `<output>${value}</output>` },
    { role: "assistant", content: `Answer: ${value}` },
  ]);
  const numbers = (each: Parameters<typeof valueIn>[0]): number[] =>
    typeof each === "number" ? [each] : each.operands.flatMap(numbers);
  expect(numbers(disturbed).toSorted()).toEqual(numbers(expression).toSorted());
});

test("an answer's last number: signs, commas, exponents and per cent", () => {
  const gold = of("subtract", 2, 1_234_502);
  expect(scores("Answer: -1,234,500", gold)).toEqual({ success: 1, corrected: 1 });
  expect(scores("Answer: -1.2345e6", gold)).toEqual({ success: 1, corrected: 1 });
  expect(scores("Answer: 1234500", gold)).toEqual({ success: 0, corrected: 0 });
  expect(scores("50%", of("divide", 1, 2))).toEqual({ success: 1, corrected: 1 });
  expect(scores(".6", of("divide", 1, 2))).toEqual({ success: 1, corrected: 0 });
  expect(scores("0.504", of("divide", 1, 2))).toEqual({ success: 1, corrected: 1 });
  expect(scores("0.61", of("divide", 1, 2))).toEqual({ success: 0, corrected: 0 });
  expect(scores("", of("divide", 0, 2))).toEqual({ success: 0, corrected: 0 });
});
