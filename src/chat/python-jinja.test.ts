import { expect, test } from "vitest";
import { withGenerationTags } from "./python-jinja.ts";
import { compileTemplate } from "./template.ts";

// The expected texts are those of transformers 5.23 with Jinja2 3.1.6, for the messages a, b, c and no tools.
const messages = ["a", "b", "c"].map((content) => ({ role: "user", content }) as const);
const loop = (body: string) => `{% for m in messages %}${body}{% endfor %}`;

test.each([
  ["keeps the text before continue", loop("[{{ m.content }}{% if m.content == 'b' %}!{% continue %}{% endif %}]"), "[a][b![c]"],
  ["keeps the text before break", loop("[{{ m.content }}{% if m.content == 'b' %}!{% break %}{% endif %}]"), "[a][b!"],
  ["ends the inner loop alone", loop("{% for x in [1, 2] %}{{ x }}{% break %}{% endfor %}{{ m.content }}"), "1a1b1c"],
  [
    "begins each iteration anew",
    loop("{% if m.content == 'a' %}{% set x = 1 %}{% endif %}{{ x is defined }} "),
    "True False False ",
  ],
  ["keeps what was set before it", `{% set x = 0 %}${loop("{{ x }}{% set x = m.content %}{{ x }}")}{{ x }}`, "0a0b0c0"],
  [
    "takes what is undefined as empty",
    "{% for x in y %}{{ x }}{% else %}none{% endfor %}{{ y | length }}{{ y | list }}",
    "none0[]",
  ],
  [
    "selects nothing from nothing",
    "{{ tools | selectattr('a') | list }}{{ y | map('upper') | list }}{{ tools | map('upper') | list }}",
    "[][][]",
  ],
  ["has no tools and no documents", "{{ tools is none }}{{ tools is defined }}{{ documents is none }}", "TrueTrueTrue"],
  [
    "has the least and the greatest",
    "{{ [3, 1, 2] | min }}{{ [3, 1, 2] | max }}{{ messages | count }}{{ {'k': 1} | list }}",
    "133['k']",
  ],
  [
    "finds no member by what is undefined",
    "{{ {'a': 1}[y] is defined }}{{ y is iterable }}{{ [] | first is defined }}",
    "FalseTrueFalse",
  ],
  [
    "takes what is undefined as an empty list in every filter of lists",
    "{{ y | min }}|{{ y | max }}|{{ y | first }}|{{ y | last }}|{{ y | join(',') }}|{{ y | sort }}|{{ y | reverse | list }}|" +
      "{{ y | items | list }}|{{ y | count }}|{{ y | unique | list }}|{{ y | length }}|{{ y | list }}",
    "|||||[]|[]|[]|0|[]|0|[]",
  ],
  [
    "takes neither what is undefined nor None amiss where it selects",
    "{{ y | selectattr('a') | list }}{{ y | rejectattr('a') | list }}{{ none | rejectattr('a') | list }}{{ none | map(attribute='a') | list }}",
    "[][][][]",
  ],
  ["knows what it can iterate over", "{{ y is not iterable }}{{ [1] is iterable }}{{ 1 is not iterable }}", "FalseTrueTrue"],
  ["keeps lines beside generation tags", loop("x\n{% generation %}\n{{- m.content }}{% endgeneration %}\n"), "x\nax\nbx\nc"],
  ["strips at generation tags", loop("x\n{%- generation -%}\n {{ m.content }}\n{%- endgeneration %}\n"), "xaxbxc"],
])("%s", (_, source, text) => {
  expect(compileTemplate(source, {})(messages, [], false)).toBe(text);
});

test("generation tags become blocks with the same signs at their sides", () => {
  expect(withGenerationTags("{% generation %}a{%- endgeneration -%}b{%+generation+%}{%endgeneration%}{% generations %}")).toBe(
    "{% if true %}a{%- endif -%}b{%+ if true +%}{% endif %}{% generations %}",
  );
});

test("the interpreter's own errors stay, but for a member of what has none", () => {
  const render = (source: string) => compileTemplate(source, {})(messages, [], false);
  expect(() => render("{{ 'a' | nonsense }}")).toThrow(/nonsense/);
  expect(() => render("{{ messages[0].content.nonsense() }}")).toThrow();
  expect(render("{{ messages[[1]] is defined }}")).toBe("False");
});
