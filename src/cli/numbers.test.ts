import { expect, test } from "vitest";
import { numberOf, wholeNumber } from "./numbers.ts";

test("a flag's whole number is digits alone, from its least on", () => {
  expect([wholeNumber("--k", "12"), wholeNumber("--seed", "0", 0), wholeNumber("--k", undefined)]).toEqual([12, 0, undefined]);
  for (const text of ["0", "-1", "1.5", "1e3", "", " 2", "0x10", "9".repeat(16)])
    expect(() => wholeNumber("--k", text)).toThrow(`--k is "${text}"; expected a whole number from 1 on`);
});

test("a flag's number is finite, and above its bound", () => {
  expect([numberOf("--pass", "-0.5"), numberOf("--rate", "1e-4", 0)]).toEqual([-0.5, 1e-4]);
  for (const text of ["", "x", "Infinity"]) expect(() => numberOf("--pass", text)).toThrow("expected a number");
  expect(() => numberOf("--rate", "0", 0)).toThrow("expected a number above 0");
});
