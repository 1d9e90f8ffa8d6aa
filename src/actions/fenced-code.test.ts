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

test("a message keeps its text beside the call; the tool, its argument and the languages can be chosen", () => {
  const text = "I add.\n```py\n2 + 2\n```\n";
  const call = { name: "python", arguments: { code: "2 + 2" } };
  expect(fencedCode().read(text, [])).toEqual({
    message: { role: "assistant", content: text, toolCalls: [call] },
    calls: [call],
  });
  expect(fencedCode().read("Four.", [])).toEqual({ message: { role: "assistant", content: "Four." }, calls: [] });
  const shell = fencedCode({ tool: "run", argument: "line", languages: ["sh"] });
  expect(shell.read("```sh\nls\n```", []).calls).toEqual([{ name: "run", arguments: { line: "ls" } }]);
  expect(shell.read("```python\n1\n```", []).calls).toEqual([]);
});

test.each([
  ["two backticks", "``\nx\n``", []],
  ["a fence with spaces around and more words behind its language", "  ```  python  title=a  \nx\n  ```  ", ["x"]],
  ["a fence inside of text", "so ```python\nx\n```", [""]],
  ["backticks behind the fence", "```a`b\nx\n```", [""]],
  ["a shorter fence inside of a longer one", "````\n```\n````", ["```"]],
  ["a longer fence at the end", "```\nx\n`````\ny", ["x"]],
  ["a fence with a word is no end", "```\nx\n```python\n```", ["x\n```python"]],
  ["nothing in it", "```\n```", [""]],
])("%s", (_, text, expected) => {
  expect(codes(text)).toEqual(expected);
});
