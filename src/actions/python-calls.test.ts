import { expect, test } from "vitest";
import { parsePythonCalls, pythonCalls, pythonText } from "./python-calls.ts";

/** The arguments of `f(a=…)`, and of further ones. */
const args = (text: string) => {
  const parsed = parsePythonCalls(`f(${text})`);
  return "error" in parsed ? parsed.error : parsed.calls[0]?.arguments;
};

test.each<[string, unknown]>([
  ['a="x", b=\'y\', c="", d=""', { a: "x", b: "y", c: "", d: "" }],
  ['a="""x "y" \'z\'""", b=\'\'\'p "q\'s" \'\'\'', { a: "x \"y\" 'z'", b: 'p "q\'s" ' }],
  [String.raw`a="\n\t\r\b\f\v\a\0"`, { a: "\n\t\r\b\f\v\x07\0" }],
  [String.raw`a="\'\"\\", b="\q\ "`, { a: "'\"\\", b: "\\q\\ " }],
  [String.raw`a="\x41\u00e9\U0001F600\xZ1"`, { a: "Aé😀\\xZ1" }],
  ['a="one \\\ntwo"', { a: "one two" }],
  [
    String.raw`a=r"\n", b=R'\x41', c=b"\n", d=B'z', e=u"\t", f=U'\t'`,
    { a: "\\n", b: "\\x41", c: "\n", d: "z", e: "\t", f: "\t" },
  ],
  ["a=True, b=False, c=None", { a: true, b: false, c: null }],
  ["a=true, b=false, c=null", { a: true, b: false, c: null }],
  ["a=5, b=-5, c=+5, d=1_000", { a: 5, b: -5, c: 5, d: 1000 }],
  ["a=.5, b=-.5, c=+.5, d=2.25", { a: 0.5, b: -0.5, c: 0.5, d: 2.25 }],
  ["a=1e3, b=1E+2, c=25e-2", { a: 1000, b: 100, c: 0.25 }],
  ["a=[], b=(), c={}", { a: [], b: [], c: {} }],
  ["a=[1, (2, [3,]),], b=(4,)", { a: [1, [2, [3]]], b: [4] }],
  [`a={"k": 'v', 1: 2, None: {True: []},}`, { a: { k: "v", 1: 2, null: { true: [] } } }],
  ["  a  =  1  ,  b=\n2 , ", { a: 1, b: 2 }],
  ["ключ=1, größe_2=2, dry-run=3, a.b=4", { ключ: 1, größe_2: 2, "dry-run": 3, "a.b": 4 }],
])("the arguments %s", (text, expected) => {
  expect(args(text)).toEqual(expected);
});

test("numbers keep their text, as JSON has it", () => {
  const parsed = parsePythonCalls("f(a=5., b=-.50, c=2.e3, d=+1_0.0)");
  expect(parsed).toEqual({
    calls: [
      {
        name: "f",
        arguments: { a: 5, b: -0.5, c: 2000, d: 10 },
        argumentsText: '{"a": 5.0, "b": -0.50, "c": 2.0e3, "d": 10.0}',
      },
    ],
    end: 33,
  });
});

test.each<[string, readonly string[], number]>([
  ["[f(), g()]", ["f", "g"], 10],
  [" [ f ( ) , g() , ] tail", ["f", "g"], 18],
  ["[]", [], 2],
  ["f() tail", ["f"], 3],
  ["a.b-c.d()", ["a.b-c.d"], 9],
])("%j has the calls %j and ends at %i", (text, names, end) => {
  expect(parsePythonCalls(text)).toEqual({ calls: names.map((name) => ({ name, arguments: {} })), end });
});

test.each([
  ["", "Expected a function's name, not the end"],
  ["[1]", 'Expected a function\'s name, not "1]"'],
  ["f", 'Expected "(" after f, not the end'],
  ["f(", "Expected an argument of f with its name, not the end"],
  ["f(1)", 'Expected an argument of f with its name, not "1)"'],
  ["f(a", 'Expected "=" after a: arguments need their names, not the end'],
  ["f(a 1)", 'Expected "=" after a: arguments need their names, not "1)"'],
  ["f(a=", "Expected a value, not the end"],
  ["f(a=$)", 'Expected a value, not "$)"'],
  ["f(a=b)", "b is not a literal"],
  ["f(a=open('x'))", "open is not a literal"],
  ['f(a="x', "A string is not closed"],
  ['f(a="x\\', "A string is not closed"],
  ['f(a="""x")', "A string is not closed"],
  [String.raw`f(a="\U00110000")`, "\\U00110000 is no character"],
  ["f(a=[1 2])", 'Expected "," or "]", not "2])"'],
  ["f(a=(1 2))", 'Expected "," or ")", not "2))"'],
  ["f(a={1})", 'Expected ":", not "})"'],
  ["f(a={1: 2 3})", 'Expected "," or "}", not "3})"'],
  ["f(a=1 b=2)", 'Expected "," or ")", not "b=2)"'],
  ["[f() g()]", 'Expected "," or "]", not "g()]"'],
  ["[f() abcdefghijklmnopqrstuvwxyz", 'Expected "," or "]", not "abcdefghijklmnopqrst"'],
  ["f(a=01)", expect.stringMatching(/^The arguments of f are not valid JSON: .*\. Write f\(argument="text"\)\.$/)],
  ["f(__proto__=1)", 'f has no argument "__proto__". Write f(argument="text").'],
])("%j is no list of calls, and says why", (text, error) => {
  expect(parsePythonCalls(text)).toEqual({ error });
});

test("the largest character is one", () => {
  expect(args(String.raw`a="\U0010FFFF"`)).toEqual({ a: "\u{10ffff}" });
});

test("calls are written as Python", () => {
  const first = { name: "f", arguments: { a: 'x"\n', b: [1, -0.5, null, true, false], c: { "k k": [{}], n: undefined } } };
  expect(pythonText([first, { name: "g.h", arguments: {} }])).toBe(
    '[f(a="x\\"\\n", b=[1, -0.5, None, True, False], c={"k k": [{}], "n": None}), g.h()]',
  );
  expect(pythonText([])).toBe("[]");
});

const answer = (text: string) => ({ message: { role: "assistant", content: text }, calls: [] });
test.each([" no calls ", "ls() and more", "see ls()", "The list [1, 2], f(a=1)", "[x]", "(a)", "f (a=1)"])(
  "%j is an answer",
  (text) => {
    expect(pythonCalls().read(text, [])).toEqual(answer(text));
  },
);

test.each([
  ["ls()", "ls"],
  [" \n a_1.b(\n) ", "a_1.b"],
  ["I call [ cd (a=1)] and [rm()]", "cd"],
  ["x [1] [f()]", "f"],
])("%j calls, and stays as it is", (text, name) => {
  const { message, calls } = pythonCalls().read(text, []);
  expect(calls.map((call) => "name" in call && call.name)).toEqual([name]);
  expect(message).toEqual({ role: "assistant", content: text, toolCalls: calls });
});

test("what begins like a list of calls and is none is an error for the model", () => {
  const error = 'Expected an argument of f with its name, not "1)]". Write [f(argument="text", other=1)].';
  expect(pythonCalls().read(" so: [f(1)]", [])).toEqual({ ...answer(" so: [f(1)]"), calls: [{ error }] });
});
