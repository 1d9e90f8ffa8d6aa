import { expect, test } from "vitest";
import { mathEqual } from "../math-equal.ts";
import { plainAnswers } from "./plain.ts";
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
  ["2,1", "1,2", false, true],
  ["2,1", "1,2,3", false, false],
  ["8\\text{ and }6", "6, 8", false, true],
  ["(3,4),(1,2)", "(1,2),(3,4)", false, true],
  ["1-\\sqrt2, 1+\\sqrt{2}", "1\\pm\\sqrt{2}", false, true],
  ["2", "\\pm 2", false, false],
  ["[0,0.5)", "[0,\\frac12)", false, true],
  ["[0,1]", "[0,1)", false, false],
  ["(-\\infty,\\frac42)", "(-\\infty,2)", false, true],
  ["(1,\\infty)\\cup(-\\infty,-1)", "(-\\infty,-1)\\cup(1,\\infty)", false, true],
  ["(3,2)", "(p,q)=(3,2)", false, true],
  ["x\\in[1,2]", "[1,2]", false, true],
  ["x^2", "f(x)=x^2", false, true],
  ["4x+2y=6", "2x+y=3", false, true],
  ["y=3-2x", "2x+y=3", false, true],
  ["2x+y=4", "2x+y=3", false, false],
  ["x=x", "2x+y=3", false, false],
  ["\\begin{bmatrix} 1 \\\\ 0.5 \\end{bmatrix}", "\\begin{pmatrix}1\\\\\\frac12\\end{pmatrix}", false, true],
  ["\\begin{pmatrix}1&3\\\\2&4\\end{pmatrix}", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", false, false],
  ["0.75", "\\frac3{4}", false, true],
  ["\\cfrac{1}{3}", "\\frac13", false, true],
  ["2^10", "1024", false, true],
  ["90°", "90^\\circ", false, true],
  ["50%", "\\frac12", false, true],
  ["50%", "5", false, false],
  ["\\binom{5}{2}", "10", false, true],
  // Infinity is no number, and large integers differ.
  ["\\infty", "-\\infty", false, false],
  ["\\infty", "5", false, false],
  ["\\frac{1}{0}", "1", false, false],
  ["10000000001", "10000000000", false, false],
  ["2^{100}", "1267650600228229401496703205377", false, false],
  ["10^3", "1000", false, true],
  ["1,000", "1000", false, true],
  ["\\frac{3}{6}\\pi", "\\frac{\\pi}{2}", false, true],
  // And they drop what means something.
  ["5\\text{ cm}", "5\\text{ m}", true, false],
  ["x=5", "y=5", true, false],
  // Both agree.
  ["5\\text{ cm}", "5", true, true],
  ["\\dfrac{1}{2}", "\\frac12", true, true],
  ["x=5", "5", true, true],
  ["50\\%", "50", true, true],
  ["90^\\circ", "90", true, true],
  ["(1, 2)", "(1,2)", true, true],
  ["\\frac{1}{3}", "0.333", false, false],
  ["(2,1)", "(1,2)", false, false],
  ["x^2", "x^3", false, false],
  ["3", "4", false, false],
])("%s against %s: %s by rules, %s as mathematics", async (answer, gold, byRules, symbolic) => {
  expect(mathEqual(answer, gold)).toBe(byRules);
  expect(await math.equal(answer, gold)).toBe(symbolic);
});

test("a formula that takes too long is ended, and the next one is compared", async () => {
  const quick = openSymbolicMath("environment.settings.math", { timeoutMs: 2000 });
  expect(await quick.equal("\\sum_{k=1}^{100000000}k", "1")).toBe("timed out");
  expect(await quick.equal("\\frac{2}{2}", "1")).toBe(true);
});

test("what is no formula is not decided", async () => {
  expect(await math.equal("\\frac{1", "2")).toBe("undecided");
  expect(await math.equal("east", "east")).toBe(true);
});

test("typography is removed, names and units are kept apart, lists are taken apart", () => {
  const none = { name: undefined, unit: undefined };
  const texts = (formula: string) => plainAnswers(formula).map(({ text }) => text);
  expect(plainAnswers("$x = \\dfrac{1}{2}.$")).toEqual([{ ...none, text: "\\frac{1}{2}", name: "x" }]);
  expect(plainAnswers("\\text{east}")).toEqual([{ ...none, text: "east" }]);
  expect(plainAnswers("(p, q) = (3,2)")).toEqual([{ ...none, text: "(3,2)", name: "(p,q)" }]);
  expect(plainAnswers("12.5\\,\\%")).toEqual([{ ...none, text: "12.5", unit: "%" }]);
  expect(texts("12{,}345,678")).toEqual(["12345678"]);
  expect(texts("(1,234)")).toEqual(["(1234)"]);
  expect(texts("(1,23)")).toEqual(["(1,23)"]);
  expect(texts("1,23")).toEqual(["1", "23"]);
  expect(texts("x=\\pm 3; [0,1)")).toEqual(["+ 3", "- 3", "[0,1)"]);
  expect(texts("]0,1[")).toEqual(["]0,1["]);
});
