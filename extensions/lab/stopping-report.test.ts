import { expect, test } from "vitest";
import { stoppingFindings, stoppingRows, stoppingSentence } from "./stopping-report.ts";

const findings = stoppingFindings(0);

test("the examples are those that docs/lab.md works out by hand", () => {
  const [always, once, end] = findings.cases;
  expect(always).toMatchObject({ gradient: [3 / 8, 1 / 8], perTurnIndex: [0, 0], bias: [-3 / 8, -1 / 8] });
  expect(once.gradient[0]).toBeCloseTo(0.15, 12);
  expect(once.perTurnIndex[0]).toBeCloseTo(-0.1, 12);
  expect(end.perTurnIndex).toEqual(end.gradient); // nothing to centre, no bias
  expect(stoppingRows(findings)[1]).toEqual([
    "going on is always right",
    "0.5, 0.5",
    "1, 1",
    "0, 0, 0",
    "0.375, 0.125",
    "0, 0",
    "-0.375, -0.125",
    "0.375, 0.125",
  ]);
});

test("in random problems the closed form holds, the whole return has no bias, and wrong signs are pushes towards stopping", () => {
  const { problems, wrongWay, towardsStopping, closedFormError, wholeReturnError } = findings.random;
  expect(closedFormError).toBeLessThan(1e-12);
  expect(wholeReturnError).toBeLessThan(1e-12);
  // With rewards that are not negative the bias is never towards going on.
  expect(towardsStopping).toBe(wrongWay);
  expect(wrongWay).toBeGreaterThan(problems / 10);
  expect(stoppingSentence(findings)).toContain(`in some turn of ${wrongWay}`);
  expect(stoppingFindings(1).random.wrongWay).not.toBe(wrongWay);
});
