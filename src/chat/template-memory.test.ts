import { Template } from "@huggingface/jinja";
import { expect, test } from "vitest";
import { compileTemplate } from "./template.ts";

const words = "{% set ns = namespace(x=START) %}{% for i in range(60) %}{% set ns.x = STEP %}{% endfor %}{{ ns.x | length }}";
const templateOf = (start: string, step: string) => words.replace("START", start).replace("STEP", step);
test.each([
  ["a list that doubles", templateOf("[1]", "ns.x + ns.x"), /a list of length 131072, more than 100000/],
  ["text that doubles", templateOf('"a"', "ns.x ~ ns.x"), /a text of length 33554432, more than 16777216/],
  [
    "text that is replaced by more",
    templateOf('"a"', 'ns.x | replace("a", "aa")'),
    /a text of length 33554432, more than 16777216/,
  ],
  [
    "a long text that is made again and again",
    "{% for i in range(600) %}{{ (messages[0].content | upper | length) }}{% endfor %}",
    /it makes more than 536870912 characters/,
  ],
  [
    "a list with a long text that is printed again and again",
    "{% for i in range(600) %}{{ ([messages[0].content] | string) | length }}{% endfor %}",
    /it makes more than 536870912 characters/,
  ],
])("%s is refused before the memory is full", (_, template, message) => {
  const before = process.memoryUsage().rss;
  const render = compileTemplate(template, {});
  expect(() => render([{ role: "user", content: "a".repeat(2 ** 20) }], [], true)).toThrow(message);
  expect(process.memoryUsage().rss - before).toBeLessThan(1500 * 2 ** 20);
});

test("a conversation of two thousand long messages is no such thing: texts that are joined share their parts", () => {
  const all = "{% set ns = namespace(x='') %}{% for m in messages %}{% set ns.x = ns.x ~ m.content %}{% endfor %}{{ ns.x }}";
  const messages = Array.from({ length: 2000 }, () => ({ role: "user", content: "word ".repeat(200) }) as const);
  expect(compileTemplate(all, {})(messages, [], true)).toHaveLength(2_000_000);
});

test("who uses the interpreter by himself is not bounded", () => {
  const long = new Template(
    "{% set ns = namespace(x=[1]) %}{% for i in range(17) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x | length }}",
  );
  expect(long.render({})).toBe("131072");
});
