import { expect, test } from "vitest";
import { bar, duration, interval, number, plural, sparkline, table } from "./format.ts";

test.each([
  [3.14, "3.1 s"],
  [9.96, "10 s"],
  [59.4, "59 s"],
  [59.6, "1 min 00 s"],
  [250, "4 min 10 s"],
  [3720, "1 h 02 min"],
])("%d seconds read as %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

test.each([
  [0, "0"],
  [12345, "12,345"],
  [0.123456, "0.123"],
  [1.5e-6, "1.50e-6"],
  [null, "–"],
])("the number %s reads as %s", (value, text) => {
  expect(number(value)).toBe(text);
});

test("an interval is in percent, with its bounds", () => {
  expect(interval({ mean: 0.4123, low: 0.38, high: 0.445 })).toBe("41.2 %  [38.0, 44.5]");
});

test("one of a thing has no s", () => {
  expect([plural(1, "step"), plural(1200, "step")]).toEqual(["1 step", "1,200 steps"]);
});

test("a bar is full at 1 and never longer", () => {
  expect([bar(0, 4), bar(0.5, 4), bar(1, 4), bar(1.2, 4)]).toEqual(["░░░░", "██░░", "████", "████"]);
});

test("a sparkline goes from its lowest to its highest value and leaves gaps", () => {
  expect(sparkline([0, 1, null, 0.5])).toBe("▁█ ▅");
  expect(sparkline([2, 2])).toBe("▄▄");
  expect(sparkline(Array.from({ length: 100 }, (_, i) => i))).toHaveLength(40);
});

test("columns are as wide as their widest cell", () => {
  expect(
    table([
      ["", "before"],
      ["one", "1"],
    ]),
  ).toEqual(["     before", "one       1"]);
});
