import { expect, test } from "vitest";
import { mathEqual } from "../math-equal.ts";
import { plainFormula } from "./plain.ts";
import { openSymbolicMath } from "./symbolic.ts";

const math = openSymbolicMath("environment.settings.math");

test.each([
  // Rules compare strings after a clean-up: they do not calculate.
  ["\\frac{2}{4}", "\\frac{1}{2}", false, true],
  ["0.25", "\\frac{1}{4}", false, true],
  ["\\sqrt{8}", "2\\sqrt{2}", false, true],
  ["\\frac{\\sqrt{3}}{3}", "\\frac{1}{\\sqrt{3}}", false, true],
  ["x^2+2x+1", "(x+1)^2", false, true],
  ["2\\sin(x)\\cos(x)", "\\sin(2x)", false, true],
  ["\\{2,1\\}", "\\{1,2\\}", false, true],
  ["10^3", "1000", false, true],
  ["1,000", "1000", false, true],
  ["\\frac{3}{6}\\pi", "\\frac{\\pi}{2}", false, true],
  // And they drop what means something.
  ["5\\text{ cm}", "5\\text{ m}", true, false],
  ["50\\%", "50", true, false],
  ["x=5", "y=5", true, false],
  // Both agree.
  ["5\\text{ cm}", "5", true, true],
  ["\\dfrac{1}{2}", "\\frac12", true, true],
  ["x=5", "5", true, true],
  ["90^\\circ", "90", true, true],
  ["(1, 2)", "(1,2)", true, true],
  ["\\frac{1}{3}", "0.333", false, false],
  ["(2,1)", "(1,2)", false, false],
  ["x^2", "x^3", false, false],
  ["3", "4", false, false],
])("%s against %s: %s by rules, %s as mathematics", { timeout: 60_000 }, async (answer, gold, byRules, symbolic) => {
  expect(mathEqual(answer, gold)).toBe(byRules);
  expect(await math.equal(answer, gold)).toBe(symbolic);
});

test("a formula that takes too long is ended, and the next one is compared", { timeout: 60_000 }, async () => {
  const quick = openSymbolicMath("environment.settings.math", { timeoutMs: 700 });
  expect(await quick.equal("9999999!", "1")).toBe("timed out");
  expect(await quick.equal("\\frac{2}{2}", "1")).toBe(true);
});

test("what is no formula is not decided", { timeout: 60_000 }, async () => {
  expect(await math.equal("\\frac{1", "2")).toBe("undecided");
  expect(await math.equal("east", "east")).toBe(true);
});

test("typography is removed, names are kept apart", () => {
  expect(plainFormula("$x = \\dfrac{1}{2}.$")).toEqual({ text: "\\frac{1}{2}", name: "x", unit: undefined });
  expect(plainFormula("\\text{east}")).toEqual({ text: "east", name: undefined, unit: undefined });
  expect(plainFormula("12{,}345,678")).toEqual({ text: "12345678", name: undefined, unit: undefined });
  expect(plainFormula("(1,234)").text).toBe("(1234)");
  expect(plainFormula("(1,23)").text).toBe("(1,23)");
});
