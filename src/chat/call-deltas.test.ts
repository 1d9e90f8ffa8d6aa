import { expect, test } from "vitest";
import { callFormat } from "../actions/formats/registry.ts";
import { type CallDelta, CallDeltas, callSyntax, readArguments } from "./call-deltas.ts";

const syntaxOf = (name: string) => {
  const format = callFormat(name);
  return format && callSyntax(format);
};

/** The deltas of texts that grow, as short lines, and the calls at the end. */
function streamed(name: string, ...parts: readonly string[]) {
  const deltas = new CallDeltas(syntaxOf(name));
  let text = "";
  const given = parts.map((part) => {
    text += part;
    return [...deltas.read(text)].map((delta: CallDelta) =>
      delta.kind === "call" ? `${delta.index} ${delta.name}` : `${delta.index}: ${delta.text}`,
    );
  });
  return { given, calls: deltas.calls() };
}

test("a call begins with its name, its arguments come as they are written, and the next call has the next number", () => {
  expect(
    streamed(
      "hermes",
      '<tool_call>\n{"name": "fi',
      'nd", "arguments": ',
      '{"a": "x',
      " \\",
      '" y", "b": [1,',
      " 2",
      ", ], ",
      '"c": {',
      "}}",
      '}\n</tool_call>\n <tool_call>{"name":"go","arguments":{}}</tool_call>',
    ),
  ).toEqual({
    given: [
      [],
      [],
      ["0 find", '0: {"a": "x'],
      ["0:  "],
      ['0: \\" y", "b": [1'],
      ["0: , 2"],
      ["0:  ]"],
      ['0: , "c": {'],
      ["0: }}"],
      ["1 go", "1: {}"],
    ],
    calls: [
      { name: "find", arguments: { a: 'x " y', b: [1, 2], c: {} }, argumentsText: '{"a": "x \\" y", "b": [1, 2 ], "c": {}}' },
      { name: "go", arguments: {}, argumentsText: "{}" },
    ],
  });
});

test("another spelling than the format's, and a format without JSON, give nothing", () => {
  expect(streamed("hermes", '<tool_call>{"arguments": {}, "name": "f"}</tool_call>')).toEqual({ given: [[]], calls: [] });
  expect(streamed("hermes", '<tool_call>{"name": "a b", "arguments": {}}')).toEqual({ given: [[]], calls: [] });
  expect(syntaxOf("glm")).toBeUndefined();
  expect(streamed("glm", "<tool_call>f</tool_call>")).toEqual({ given: [[]], calls: [] });
  // What stands between two calls is the format's, too.
  expect(streamed("mistral-args", "[TOOL_CALLS]f[ARGS]{} and [TOOL_CALLS]g[ARGS]{}").given).toEqual([["0 f", "0: {}"]]);
  expect(streamed("mistral-args", "[TOOL_CALLS]f[ARGS]{}  [TOOL_CALLS]g[ARGS] {}").given).toEqual([
    ["0 f", "0: {}", "1 g", "1: {}"],
  ]);
});

test("brackets and quotes of texts end nothing", () => {
  const { given, calls } = streamed("llama3", '{"name": "f", "parameters": {"a": "}]{[", "b": "\\\\"}', "}");
  expect(given).toEqual([["0 f", '0: {"a": "}]{[", "b": "\\\\"}'], []]);
  expect(calls).toEqual([{ name: "f", arguments: { a: "}]{[", b: "\\" }, argumentsText: '{"a": "}]{[", "b": "\\\\"}' }]);
});

test.each([
  ['{"a": 1}', { a: 1 }],
  ["", {}],
  [" \n", {}],
  ['{"a": [1,],}', { a: [1] }],
  // A text of JSON, as agents send back what they could not read.
  ['"{\\"a\\": 1}"', { a: 1 }],
  ["[1]", {}],
  ["5", {}],
  ['{"a": ', {}],
  ['{"__proto__": {}, "a": 1}', {}],
])("the arguments of %j", (text, expected) => {
  const inner = text.startsWith('"') ? JSON.parse(text) : text;
  expect(readArguments(text)).toEqual({ arguments: expected, argumentsText: inner });
});
