import { expect, test } from "vitest";
import { costText, pricesOf } from "./prices.ts";

test.each([
  ["0.4,1.6", { input: 0.4, output: 1.6, currency: "USD" }],
  [" 1 , 10 , EUR ", { input: 1, output: 10, currency: "EUR" }],
  ["0,0", { input: 0, output: 0, currency: "USD" }],
])("the prices %j", (text, expected) => {
  expect(pricesOf(text, "--prices")).toEqual(expected);
});

test.each(["", "1", "1,", "1,x", "-1,2", "1,2,", "1,2,EUR,3", ".5,1"])("%j is no list of prices", (text) => {
  expect(() => pricesOf(text, "--prices")).toThrow(/^--prices is .*"0\.4,1\.6,EUR"/);
});

test("a cost has four decimals below one, and two from there on", () => {
  expect([0.00219, 0.99999, 1, 12.345].map((total) => costText({ total, currency: "EUR" }))).toEqual([
    ...["0.0022 EUR", "1.0000 EUR", "1.00 EUR", "12.35 EUR"],
  ]);
});
