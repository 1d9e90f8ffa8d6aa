import { expect, test } from "vitest";
import { fencedCode } from "./fenced-code.ts";

const codes = (text: string, options = {}) =>
  fencedCode(options)
    .read(text, [])
    .calls.map((call) => ("arguments" in call ? call.arguments.code : call.error));

test("the first block of a message is the call", () => {
  expect(codes("a\n```python\nx = 1\nprint(x)\n```\nb\n```python\ny\n```")).toEqual(["x = 1\nprint(x)"]);
  expect(codes("```\nx\n```\n```py\ny\n```", { block: "last" })).toEqual(["y"]);
});

test("other languages, inline code and text call nothing; a block that is never closed is one", () => {
  expect(codes("```json\n{}\n```")).toEqual([]);
  expect(codes("Use ```x``` or `y`.")).toEqual([]);
  expect(codes("```json\n{}\n```\n```PYTHON\nx")).toEqual(["x"]);
  expect(codes("````python\n```\nx\n````")).toEqual(["```\nx"]);
});
