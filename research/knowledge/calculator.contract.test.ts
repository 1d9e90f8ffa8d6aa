import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { real } from "../../test/reals.ts";
import { pythonTool } from "../arpo-protocol/tools.ts";
import { evaluate } from "./calculator.ts";

const never = new AbortController();

afterAll(() => never.abort());

test("Python answers the same", async () => {
  const number = fc.oneof(
    fc.nat(9999).map(String),
    fc.bigInt({ min: 0n, max: 10n ** 30n }).map(String),
    real(0, 1e20).map((value) => (Number.isInteger(value) ? `${value}.0` : String(value))),
  );
  const { expression } = fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      number,
      fc.tuple(tie("expression"), fc.constantFrom("+", "-", "*", "/", "//", "%"), tie("expression")).map((all) => all.join(" ")),
      tie("expression").map((inner) => `(${inner})`),
      tie("expression").map((inner) => `-${inner}`),
    ),
  }));
  const sampled = fc.sample(expression, { numRuns: 400, seed: 1 }).filter((code) => code.length < 200);
  // One call for all of them: what fails is told by the name of its error.
  const code = `
for code in ${JSON.stringify(sampled)}:
    try:
        print(eval(code))
    except Exception as error:
        print(type(error).__name__)`;
  const python = pythonTool({ limits: {}, python: { interpreters: 1, timeoutMs: 60_000, memoryMb: 256 } });
  const answers = String(await python.execute({ code }, { signal: never.signal })).split("\n");
  const own = sampled.map((expression) => evaluate(expression).replace(/:.*/s, ""));
  const compared = own.map((answer, i) => [sampled[i], answer, answers[i]]).filter(([, answer]) => answer !== "OverflowError");
  expect(compared.length).toBeGreaterThan(250);
  expect(compared.filter(([, answer, pythons]) => answer !== pythons)).toEqual([]);
});
