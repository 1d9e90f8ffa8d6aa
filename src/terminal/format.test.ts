import { expect, test } from "vitest";
import {
  bar,
  count,
  detectable,
  duration,
  interval,
  number,
  percent,
  plural,
  points,
  pText,
  shrink,
  sparkline,
  table,
} from "./format.ts";

test.each([
  [0, "0.0 s"],
  [3.14, "3.1 s"],
  [9.94, "9.9 s"],
  [9.95, "10 s"],
  [9.96, "10 s"],
  [59.4, "59 s"],
  [59.6, "1 min 00 s"],
  [60, "1 min 00 s"],
  [250, "4 min 10 s"],
  [3599, "59 min 59 s"],
  [3600, "1 h 00 min"],
  [3720, "1 h 02 min"],
  [90_061, "25 h 01 min"],
])("%d seconds read as %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

test.each([
  [0, "0"],
  [12345, "12,345"],
  [0.123456, "0.123"],
  [1.5e-6, "1.50e-6"],
  [0.001, "0.001"],
  [0.0009996, "1.00e-3"],
  [-0.001, "-0.001"],
  [-0.00099, "-9.90e-4"],
  [999_999, "999,999"],
  [-12345, "-12,345"],
  [1e6, "1.00e6"],
  [-1e6, "-1.00e6"],
  [999_999.5, "1000000"],
  [1e6 + 0.5, "1.00e6"],
  [-2e6 - 0.5, "-2.00e6"],
  [undefined, "–"],
  [Number.NaN, "–"],
  [null, "–"],
])("the number %s reads as %s", (value, text) => {
  expect(number(value)).toBe(text);
});

test("an interval is in percent, with its bounds", () => {
  expect(interval({ mean: 0.4123, low: 0.38, high: 0.445 })).toBe("41.2 %  [38.0, 44.5]");
});

test("a share that does not exist is a dash, and 0 is none", () => {
  expect([0, 1, null, undefined, Number.NaN].map(percent)).toEqual(["0.0 %", "100.0 %", "–", "–", "–"]);
});

test("a difference of shares has its sign, and its bounds rounded outwards", () => {
  expect(points({ mean: 0.125, low: 0.0811, high: 0.1699 })).toBe("+12.5 points  [8.1, 17.0]");
  expect(points({ mean: -0.02, low: -0.05, high: 0.01 })).toMatch(/^−2\.0 points {2}\[/);
  expect(points({ mean: 0, low: 0, high: 0 })).toMatch(/^\+0\.0 points/);
});

test("the chance of no difference is never said to be 0", () => {
  expect([0.0321, 0.0001, 0.00009, 1].map(pText)).toEqual(["p = 0.032", "p = 0.00010", "p < 0.0001", "p = 1.0"]);
});

test("shares cannot differ by more than 100 points, rewards by any amount", () => {
  expect(detectable(0.051, true)).toBe("5.1 points would have been seen");
  expect(detectable(1, true)).toBe("100.0 points would have been seen");
  expect(detectable(1.2, true)).toBe("too few tasks to see any difference");
  expect(detectable(1.2, false)).toBe("1.200 would have been seen");
});

test("many values are shrunk to the means of neighbours, without those that do not exist", () => {
  expect(shrink([1, 3, null, 5, null, null], 3)).toEqual([2, 5, null]);
  expect(shrink([1, 2, 6], 2)).toEqual([1, 4]);
  expect(shrink([1, null], 2)).toEqual([1, null]);
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

test("digits may be asked for, and a count is a whole number", () => {
  expect([number(0.123456, 2), number(1.26e-7, 2), number(1234.5, 2)]).toEqual(["0.12", "1.3e-7", "1200"]);
  expect([count(1234.5), count(0.4), count(-1)]).toEqual(["1,235", "0", "-1"]);
});

test("a bar is empty below 0; a sparkline has eight levels, and the width that it is given", () => {
  expect([bar(-1, 2), bar(0.24, 2), bar(0.25, 2)]).toEqual(["░░", "░░", "█░"]);
  expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7])).toBe("▁▂▃▄▅▆▇█");
  expect(sparkline([1, 3, 5, 7], 2)).toBe("▁█");
  expect(sparkline([null, null])).toBe("  ");
  expect(sparkline(Array.from({ length: 41 }, () => 1))).toBe("▄".repeat(40));
  expect(shrink([1, 2], 2)).toEqual([1, 2]);
});

test("the first column of a table is to the left; missing cells are empty, and no line ends with spaces", () => {
  expect(table([["name", "a", ""], ["x"], ["longer name", "12", ""]])).toEqual(["name          a", "x", "longer name  12"]);
  expect(table([])).toEqual([]);
});
