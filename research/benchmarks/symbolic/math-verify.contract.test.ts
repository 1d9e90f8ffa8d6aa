import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { output, withPackage } from "../../../test/environment-sdks/packages.ts";
import { openSymbolicMath } from "./symbolic.ts";

/** Gold answers in the forms of MATH, AIME and NuminaMath, each with an answer. */
const pairs = [
  ["\\frac12", "1/2"],
  ["\\frac3{4}", "0.75"],
  ["\\frac13", "0.333"],
  ["3\\frac{1}{2}", "\\frac{7}{2}"],
  ["1.5\\times10^{3}", "1,500"],
  ["2^{10}", "1024"],
  ["50\\%", "50"],
  ["50\\%", "0.5"],
  ["50\\%", "5"],
  ["\\$1{,}234.50", "1234.5"],
  ["\\pm\\sqrt{2}", "-\\sqrt2, \\sqrt2"],
  ["\\pm 2", "2"],
  ["1, 2, 3", "3, 1, 2"],
  ["1,2", "1,2,3"],
  ["a=4,\\,-8,\\,-10", "-10,-8,4"],
  ["6 \\text{ and } 8", "8,6"],
  ["(1,2),(3,4)", "(3,4),(1,2)"],
  ["(1,2)", "(2,1)"],
  ["(p,q)=(3,2)", "(3,2)"],
  ["[0,\\frac12)", "[0,0.5)"],
  ["(0,1]", "(0,1)"],
  ["(-\\infty,-1)\\cup(1,\\infty)", "(1,\\infty)\\cup(-\\infty,-1)"],
  ["[-2,7]", "x \\in [-2,7]"],
  ["\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "\\begin{bmatrix} 1 & 2 \\\\ 3 & \\frac{8}{2} \\end{bmatrix}"],
  ["\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "\\begin{pmatrix}1&3\\\\2&4\\end{pmatrix}"],
  ["x=5", "5"],
  ["x=5", "y=5"],
  ["2x+y=3", "y=3-2x"],
  ["2x+y=3", "2x+y=4"],
  ["x^2/4 + y^2/3 = 1", "x^2/16 + y^2/12 = 1/4"],
  ["(x+1)(x-2)", "x^2-x-2"],
  ["\\frac{n(n+1)}{2}", "\\frac{n^2+n}{2}"],
  ["5\\text{ cm}", "5"],
  ["90^\\circ", "90"],
  ["\\text{Evelyn}", "Evelyn"],
  ["\\text{(C)}", "(C)"],
  ["\\log_2 8", "3"],
  ["\\sqrt[3]{27}", "3"],
  ["\\binom{5}{2}", "10"],
  ["\\infty", "5"],
  ["10000000001", "10000000000"],
  ["2^{100}", "1267650600228229401496703205377"],
] as const;

/** The differences that research/notes/benchmarks.md names. */
const deviations = [
  ["5\\text{ cm}", "5\\text{ m}", false],
  ["12.5\\%", "12.5", true],
  ["-793 < a < 10", "(-793, 10)", false],
  ["\\{1,2\\}", "(1,2)", false],
  ["0.\\overline{3}", "\\frac13", true],
  ["\\sqrt{x^2}", "x", true],
] as const;

withPackage("verifiers", "math-verify 0.9 gives the same verdicts, but for the differences that the page names", async () => {
  const { equal } = openSymbolicMath("environment.settings.math", { timeoutMs: 60_000 });
  const program = fileURLToPath(new URL("math_verify_verdicts.py", import.meta.url));
  const all = [...pairs, ...deviations];
  const { verdicts } = (await output("verifiers", [program, JSON.stringify(all.map(([gold, answer]) => [gold, answer]))])) as {
    verdicts: boolean[];
  };
  const ours: unknown[] = [];
  for (const [gold, answer] of all) ours.push(await equal(answer, gold));
  const differing = all.filter((_, i) => ours[i] !== verdicts[i]).map(([gold, answer]) => [gold, answer]);
  expect(differing).toEqual(deviations.map(([gold, answer]) => [gold, answer]));
  expect(ours.slice(pairs.length)).toEqual(deviations.map(([, , verdict]) => verdict));
});
