import { expect, test } from "vitest";
import { computedTokens, lengthsOf } from "./taught-costs.ts";

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
