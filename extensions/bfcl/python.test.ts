import fc from "fast-check";
import { expect, test } from "vitest";
import { evaluate } from "../python/evaluate.ts";
import { JsonSyntaxError, parseJson } from "../python/json.ts";
import { PythonRandom } from "../python/random.ts";
import { parseExpression } from "../python/syntax.ts";
import { jsonText, repr, str } from "../python/text.ts";
import type { PyError } from "../python/values.ts";
import { harbourTask } from "./fixtures/tasks.fixture.ts";
import { Session } from "./session.ts";

/** The text of an expression's value, or of its error. */
function run(source: string): string {
  try {
    return repr(evaluate(parseExpression(source), () => undefined));
  } catch (error) {
    return `${(error as PyError).kind}: ${(error as Error).message}`;
  }
}

// Recorded with CPython 3.11.
test.each([
  ["b'\\xe9A'.lower()", "b'\\xe9a'"],
  ["b'x/'.rstrip('/')", "TypeError: a bytes-like object is required, not 'str'"],
  ["b'x/'.rstrip(b'/')", "b'x'"],
  ["b'/x'.startswith('/')", "TypeError: startswith first arg must be bytes or a tuple of bytes, not str"],
  ["b'/x'.startswith((b'a', '/'))", "TypeError: a bytes-like object is required, not 'str'"],
  ["b'a b  c'.split()", "[b'a', b'b', b'c']"],
  ["b'a/b'.split(b'')", "ValueError: empty separator"],
  ["b'a\\nb\\r\\nc\\n'.splitlines()", "[b'a', b'b', b'c']"],
  ["b'12'.isdigit()", "True"],
  ["[*b'ab']", "[97, 98]"],
  ["b'abc'[-1]", "99"],
  ["b'abc'[5]", "IndexError: index out of range"],
  ["b'abc'[::-1]", "b'cba'"],
  ["b'b' in b'abc'", "True"],
  ["'b' in b'abc'", "TypeError: a bytes-like object is required, not 'str'"],
  ["256 in b'abc'", "ValueError: byte must be in range(0, 256)"],
  ["\n\n1", "1"],
  ["[0.1, 0.1 + 0.2, 1e16, 1e-5, -0.0, 750.0]", "[0.1, 0.30000000000000004, 1e+16, 1e-05, -0.0, 750.0]"],
  ["[1e22, 5e-324, 0.0001, 9999999999999998.0, 1.5e-7]", "[1e+22, 5e-324, 0.0001, 9999999999999998.0, 1.5e-07]"],
  ["[round(2.5, 0), round(2.675, 2), round(0.125, 2), round(1234.5, -2)]", "[2.0, 2.67, 0.12, 1200.0]"],
  ["[round(2.5), round(3.5), round(-0.4, 0), round(1250, -2)]", "[2, 4, -0.0, 1200]"],
  ["1.1 ** 10", "2.5937424601000023"],
  ["(-8) ** (1 / 3)", "(1.0000000000000002+1.7320508075688772j)"],
  ["2 ** 100", "1267650600228229401496703205376"],
  ["10 ** 30 / 7", "1.4285714285714285e+29"],
  ["[7 // 2, -7 // 2, 7 % -3, -7.5 % 2, 7.5 // 2]", "[3, -4, -2, 0.5, 3.0]"],
  ["{True: 'a', 1: 'b', 1.0: 'c'}", "{True: 'c'}"],
  ["[1 == 1.0, [1] == [True], 2 ** 53 + 1 == 2.0 ** 53]", "[True, True, False]"],
  ["sorted(['b', 'a', 'é', '😀', '\\uffff'])", "['a', 'b', 'é', '\\uffff', '😀']"],
  ['"it\'s"', '"it\'s"'],
  ["'both \\' and \"'", "'both \\' and \"'"],
  ["'\\x85\\u2028\\u200b\\x7f é日本'", "'\\x85\\u2028\\u200b\\x7f é日本'"],
  ["(1,), (), {1}, set()", "((1,), (), {1}, set())"],
  ["f'{1 + 1:.2f} {\"a\"!r}'", "\"2.00 'a'\""],
  ["[x * 2 for x in range(4) if x % 2]", "[2, 6]"],
  ["'a' + 1", 'TypeError: can only concatenate str (not "int") to str'],
  ["1 + 'a'", "TypeError: unsupported operand type(s) for +: 'int' and 'str'"],
  ["'a' < 1", "TypeError: '<' not supported between instances of 'str' and 'int'"],
  ["{}['a']", "KeyError: 'a'"],
  ["{[]: 1}", "TypeError: unhashable type: 'list'"],
  ["5 in 5", "TypeError: argument of type 'int' is not iterable"],
  ["int('x')", "ValueError: invalid literal for int() with base 10: 'x'"],
  ["foo(", "SyntaxError: '(' was never closed (<string>, line 1)"],
  ["f(a b)", "SyntaxError: invalid syntax. Perhaps you forgot a comma? (<string>, line 1)"],
  ["f(x=1, x=2)", "SyntaxError: keyword argument repeated: x (<string>, line 1)"],
  ["'open", "SyntaxError: unterminated string literal (detected at line 1) (<string>, line 1)"],
  ["[].append()", "TypeError: list.append() takes exactly one argument (0 given)"],
  ["[].append(1,2)", "TypeError: list.append() takes exactly one argument (2 given)"],
  ["[].extend()", "TypeError: list.extend() takes exactly one argument (0 given)"],
  ["[].insert(1)", "TypeError: insert expected 2 arguments, got 1"],
  ["[].remove()", "TypeError: list.remove() takes exactly one argument (0 given)"],
  ["[].count()", "TypeError: list.count() takes exactly one argument (0 given)"],
  ["[].index()", "TypeError: index expected at least 1 argument, got 0"],
  ["().count()", "TypeError: tuple.count() takes exactly one argument (0 given)"],
  ["().index()", "TypeError: index expected at least 1 argument, got 0"],
  ["{}.pop()", "TypeError: pop expected at least 1 argument, got 0"],
  ["{}.setdefault()", "TypeError: setdefault expected at least 1 argument, got 0"],
  ["{}.get()", "TypeError: get expected at least 1 argument, got 0"],
  ["set().add()", "TypeError: set.add() takes exactly one argument (0 given)"],
  ["{1,2,3}.difference([1],[2])", "{3}"],
  ["{1}.intersection([1],[2])", "set()"],
  ["''.find()", "TypeError: find() takes at least 1 argument (0 given)"],
  ["''.count(1)", "TypeError: must be str, not int"],
  ["''.zfill()", "TypeError: str.zfill() takes exactly one argument (0 given)"],
  ["''.join()", "TypeError: str.join() takes exactly one argument (0 given)"],
  ["''.replace('a')", "TypeError: replace expected at least 2 arguments, got 1"],
  ["enumerate()", "TypeError: enumerate() missing required argument 'iterable'"],
  ["map(1)", "TypeError: map() must have at least two arguments."],
  ["filter()", "TypeError: filter expected 2 arguments, got 0"],
  ["reversed()", "TypeError: reversed expected 1 argument, got 0"],
  ["format()", "TypeError: format expected at least 1 argument, got 0"],
  ["int(base=10)", "TypeError: int() missing string argument"],
  ["isinstance(1)", "TypeError: isinstance expected 2 arguments, got 1"],
  ["getattr(1)", "TypeError: getattr expected at least 2 arguments, got 1"],
  ["sorted()", "TypeError: sorted expected 1 argument, got 0"],
  ["max()", "TypeError: max expected at least 1 argument, got 0"],
  ["max([])", "ValueError: max() arg is an empty sequence"],
  ["range()", "TypeError: range expected at least 1 argument, got 0"],
  ["type()", "TypeError: type() takes 1 or 3 arguments"],
  ["divmod(1)", "TypeError: divmod expected 2 arguments, got 1"],
  ["true", "NameError: name 'true' is not defined"],
  ["sum(x for x in [1, 2])", "3"],
  ["len(x for x in [1, 2])", "TypeError: object of type 'generator' has no len()"],
  ["len(range(1, 10, 3)) + len({'a': 1}.keys())", "4"],
  ["f'{len('a')}'", "SyntaxError: f-string: unmatched '(' (<string>, line 1)"],
  ["f'{(1]}'", "SyntaxError: f-string: closing parenthesis ']' does not match opening parenthesis '(' (<string>, line 1)"],
  ["await len('a')", "SyntaxError: 'await' outside function (<string>, line 1)"],
  ["print(sep=1, des tination={})", "SyntaxError: invalid syntax. Perhaps you forgot a comma? (<string>, line 1)"],
  ["print(sep=1, ma tch={})", "SyntaxError: positional argument follows keyword argument (<string>, line 1)"],
  [
    "10 ** 5000",
    "ValueError: Exceeds the limit (4300 digits) for integer string conversion; use sys.set_int_max_str_digits() to increase the limit",
  ],
])("%s", (source, expected) => {
  expect(run(source)).toBe(expected);
});

test("json.dumps: ASCII alone, ints and floats apart, keys as texts", () => {
  expect(jsonText(parseJson('{"é😀": [5, 5.0, 1e-7, NaN, null, true], "\\u007f": 12345678901234567890}'))).toBe(
    '{"\\u00e9\\ud83d\\ude00": [5, 5.0, 1e-07, NaN, null, true], "\\u007f": 12345678901234567890}',
  );
});

test("JSON that Python refuses is refused, with its position", () => {
  for (const text of ["{", "[1,]", "{'a': 1}", "01", '"a\nb"', "1 2", "", "nul"])
    expect(() => parseJson(text), text).toThrow(JsonSyntaxError);
  expect(() => parseJson('{"a" 1}')).toThrow('expected ":" at character 6');
});

test("JSON and repr read back as they were", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
      const parsed = parseJson(JSON.stringify(value));
      expect(JSON.parse(jsonText(parsed))).toEqual(JSON.parse(JSON.stringify(value)));
      expect(repr(evaluate(parseExpression(repr(parsed)), () => undefined))).toBe(repr(parsed));
    }),
    { numRuns: 200 },
  );
});

test("the generator draws CPython's numbers", () => {
  const ids = new PythonRandom(200191n);
  expect([1, 2, 3].map(() => ids.randint(10000, 99999))).toEqual([67410n, 41772n, 24547n]);
  const travel = new PythonRandom(141053n);
  expect(str(travel.uniform(-10, 40))).toBe("36.63485703790535");
  const copy = travel.clone();
  expect(travel.randint(100000000000, 999999999999)).toBe(391310425148n);
  expect(copy.randint(100000000000, 999999999999)).toBe(391310425148n);
});

test("no call reaches the interpreter, its host, or the evaluator", () => {
  const session = new Session(harbourTask);
  for (const call of [
    "__import__('os')",
    "globals()",
    "setattr(cat, 'x', 1)",
    "().__class__.__bases__",
    "open('x')",
    "eval('1')",
    "exec('1')",
    "vars()",
    "(lambda: 1).__globals__",
    "cat.__self__",
    "pwd().__class__",
    "'{0.__class__}'.format(1)",
    "print.__self__",
    "importlib.import_module('os')",
    "type(1).__subclasses__()",
    "getattr(1, '__class__')",
  ])
    expect(session.execute([call])).toEqual([expect.stringMatching(/^Error during execution: /)]);
});
