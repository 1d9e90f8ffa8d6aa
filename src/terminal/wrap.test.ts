import { expect, test } from "vitest";
import { wrap } from "./wrap.ts";

test("lines break at the last space that fits, and a word that is too long is cut", () => {
  expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrap("one two three", 8)).toEqual(["one two", "three"]);
  expect(wrap("one two three", 6)).toEqual(["one", "two", "three"]);
  expect(wrap("abcdefgh ij", 3)).toEqual(["abc", "def", "gh", "ij"]);
  expect(wrap("abc", 3)).toEqual(["abc"]);
});

test("the text's own lines stay, empty ones too", () => {
  expect(wrap("one\n\ntwo three", 5)).toEqual(["one", "", "two", "three"]);
});
