import { expect, test } from "vitest";
import { compileTemplate } from "./template.ts";

/** Renders a template whose message has a call with this argument. */
function rendered(template: string, value: unknown): string {
  const call = { name: "f", arguments: { value } };
  const source = `{%- set v = messages[0].tool_calls[0].function.arguments.value %}${template}`;
  return compileTemplate(source, {})([{ role: "assistant", content: "", toolCalls: [call] }], [], false);
}

// The expected texts are those of Jinja2 3.1.6; the Python is str(value).
test.each([
  [null, "None"],
  [true, "True"],
  [false, "False"],
  [5, "5"],
  [2.5, "2.5"],
  ["it's", "it's"],
  [[], "[]"],
  [["a", 1, null, true, [2.5]], "['a', 1, None, True, [2.5]]"],
  [{ a: { b: [false] }, "c d": null }, "{'a': {'b': [False]}, 'c d': None}"],
  [["it's", 'so "x"', `it's "y"`], `["it's", 'so "x"', 'it\\'s "y"']`],
  [["\\ \n\t\r\u0000\u001b\u00a0\u2028é😀"], "['\\\\ \\n\\t\\r\\x00\\x1b\\xa0\\u2028é😀']"],
  [["\x7f\x80\xad\u200b\u2029\u3000\u{e0001} \x1f'"], `["\\x7f\\x80\\xad\\u200b\\u2029\\u3000\\U000e0001 \\x1f'"]`],
])("%j is printed as Python's Jinja prints it", (value, text) => {
  for (const template of [
    "{{ v }}",
    "{{ v | string }}",
    "{{ '' ~ v }}",
    "{% if true %}{{ v }}{% endif %}",
    "{% for x in [v] %}{{ x }}{% endfor %}",
  ])
    expect({ template, text: rendered(template, value) }).toEqual({ template, text });
  const macro = "{% macro shown(x) %}{{ x | string }}{% endmacro %}{{ shown(v) }}{% set y %}{{ v }}{% endset %}{{ y }}";
  expect(rendered(macro, value)).toBe(text + text);
  expect(rendered("{{ v | upper | lower | trim }}", value)).toBe(text.toLowerCase());
});

test("undefined values are empty, numbers keep their text, and JSON is as before", () => {
  expect(rendered("{{ nothing }}{{ nothing | upper }}{{ v.nothing | string }}", {})).toBe("");
  expect(rendered("{{ v | map('upper') | list }}", ["a", null])).toBe("['A', 'NONE']");
  expect(rendered("{{ v | map('trim') | list }}{{ v | map('lower') | list }}{{ v | map('string') | list }}", [" A ", 1])).toBe(
    "['A', '1'][' a ', '1'][' A ', '1']",
  );
  expect(rendered("{% filter upper %}a{{ v }}{% endfilter %}{# none #}", [true])).toBe("A[TRUE]");
  expect(rendered("{{ 'x' ~ none ~ true ~ 1.5 ~ [1] ~ nothing }}", 0)).toBe("xNoneTrue1.5[1]");
  expect(rendered("{{ v | tojson }}", { a: [null, true] })).toBe('{"a": [null, true]}');
  const exact = { name: "f", arguments: { value: [5, 1e3] }, argumentsText: '{"value": [5.0, 1e3]}' };
  const template = "{{ messages[0].tool_calls[0].function.arguments.value | string }}";
  expect(compileTemplate(template, {})([{ role: "assistant", content: "", toolCalls: [exact] }], [], false)).toBe("[5.0, 1e3]");
});
