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
  ["1_000 + 1", "1001"],
  ["1e16", "1e+16"],
  ["1 / 100000", "1e-05"],
  ["99999999999999999999 * 99999999999999999999", "9999999999999999999800000000000000000001"],
  ["1e300 * 1e300", "inf"],
  ["9007199254740993 / 3", "3002399751580331.0"],
  ["2810 * -7335 // -2e17", "0.0"],
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
  ["01 + 1", /leading zeros/],
  ["()", /TypeError: \(\) is no number/],
  ["print(() * 2)", /TypeError: \(\) is no number/],
  [`${"9".repeat(400)} * 1.5`, /OverflowError/],
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
      expect(evaluate(code)).toMatch(/^-?(\d+(\.\d+)?(e[+-]\d+)?|inf|nan)$|^[A-Za-z]+Error: ./);
    }),
    { numRuns: 1000 },
  );
});
