import { expect, test } from "vitest";
import { closingBrace, lastBox } from "./box.ts";

test.each([
  ["\\boxed{a {b} c} d", "a {b} c"],
  ["\\boxed{a} \\boxed{b{", undefined],
  ["x \\boxed 7 $ and more $", "7 "],
  ["\\boxed 7", "7"],
  ["\\boxed a$ \\boxed b$", "b"],
  ["\\boxed[a]", undefined],
  ["no box {a}", undefined],
  ["", undefined],
])("the last box of %j is %j", (text, box) => {
  expect(lastBox(text)).toBe(box);
});

test("a brace is closed where as many close as opened, from a place on", () => {
  expect(closingBrace("{a{b}c}", 0)).toBe(6);
  expect(closingBrace("{a{b}c}", 1)).toBe(4);
  expect(closingBrace("{a", 0)).toBeUndefined();
  expect(closingBrace("}{a}", 0)).toBeUndefined();
});
