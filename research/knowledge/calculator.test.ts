import fc from "fast-check";
import { expect, test } from "vitest";
import { evaluate } from "./calculator.ts";

test.each([
  ["1 + 2 * 3", "7"],
  ["(1 + 2) * 3", "9"],
  ["10 - 4 - 3", "3"],
  ["2 * -3", "-6"],
  ["print(12 * 12)", "144"],
  ["7 / 2", "3.5"],
  ["8 / 4", "2.0"],
  ["-7 // 2", "-4"],
  ["-7 % 3", "2"],
  ["7 % -3", "-2"],
  ["99999999999999999999 * 99999999999999999999", "9999999999999999999800000000000000000001"],
  ["7.5 // 2", "3.0"],
  ["-7.5 % 2", "0.5"],
])("%s is %s, as in Python", (code, result) => {
  expect(evaluate(code)).toBe(result);
});

test.each([
  ["", /nothing to calculate/],
  ["1 +", /not complete/],
  ["(1 + 2", /not complete/],
  ["1 2", /invalid syntax/],
  ["1 + )", /unmatched '\)'/],
  ["2 ** 3", /cannot calculate "\*\*": write numbers, \+ - \* \/ \/\/ % and \( \)/],
  ["coins + 1", /cannot calculate "c"/],
  ["1 / 0", /ZeroDivisionError: division by zero/],
  ["1 // 0", /ZeroDivisionError/],
  ["1 % 0.0", /ZeroDivisionError/],
  ["()", /unmatched/],
  ["(".repeat(400), /not complete/],
  ["1 + ".repeat(400), /at most 1000 characters/],
])("what is no calculation is answered in words: %s", (code, message) => {
  expect(evaluate(code)).toMatch(message);
});

test("whatever is written, there is an answer", () => {
  const text = fc.oneof(
    fc.string(),
    fc.array(fc.constantFrom(..."0123456789.+-*/%() e_")).map((all) => all.join("")),
  );
  fc.assert(
    fc.property(text, (code) => {
      expect(evaluate(code)).toMatch(/^-?(\d+(\.\d+)?(e[+-]\d+)?|Infinity|NaN)$|^[A-Za-z]+Error: ./);
    }),
    { numRuns: 1000 },
  );
});
