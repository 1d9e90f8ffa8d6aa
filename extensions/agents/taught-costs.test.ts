import { expect, test } from "vitest";
import { answerLimit, computedTokens, firstLine, lengthsOf } from "./taught-costs.ts";

test("a step's time counts once what its conversations share", () => {
  const tools = [{ type: "function", function: { name: "lookup", description: "x".repeat(1500) } }];
  const row = (prompt: string) => ({
    messages: [
      { role: "system", content: "y".repeat(400) },
      { role: "user", content: prompt },
      { role: "assistant", content: "It is done." },
    ],
    tools,
  });
  const lengths = lengthsOf([row("z".repeat(300)), row("z".repeat(340))].map((each) => JSON.stringify(each)).join("\n"));
  expect(Math.round(lengths.shared)).toBe(500);
  expect(Math.round(lengths.whole)).toBe(99);
  expect(lengths.said).toBeLessThan(lengths.whole / 2);

  // 2,000 tokens are four conversations of 599, of which each but the first costs 99.
  expect(computedTokens(lengths, 2000)).toBeCloseTo(lengths.shared + 4 * lengths.whole, 9);
});

test("an answer may have four times its longest demonstration, in steps of 64 tokens", () => {
  const row = (...said: readonly string[]) =>
    JSON.stringify({ messages: said.map((content) => ({ role: "assistant", content })) });
  // {"role":"assistant","content":""} has 33 characters.
  expect(answerLimit(`${row("x".repeat(31))}\n`)).toBe(64);
  expect(answerLimit(`${row("x".repeat(32))}\n`)).toBe(128);
  expect(answerLimit(`${row("", "x".repeat(100))}\n${row("y")}\n`)).toBe(192);
  expect(answerLimit(JSON.stringify({ messages: [{ role: "user", content: "x".repeat(500) }] }))).toBe(64);
});

test("the cost of all attempts is that of the first, scaled; a script has none", () => {
  const usage = { requests: 6, promptTokens: 1000, completionTokens: 100, unreported: 0 };
  const first = { attempts: 2, usage, cost: { total: 0.5, currency: "EUR" } } as never;
  expect(firstLine(first, 10)).toBe(
    "By its first 2 attempts, all 10 take about 30 calls, 5,000 prompt and 500 completion tokens, 2.50 EUR",
  );
  expect(firstLine({ attempts: 2, usage } as never, 10)).toMatch(/completion tokens; --prices says the money$/);
  expect(firstLine({ attempts: 2, usage: { ...usage, promptTokens: 0, completionTokens: 0 } } as never, 10)).toBeUndefined();
});
