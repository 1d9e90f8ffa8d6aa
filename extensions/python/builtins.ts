import { hasLength } from "../../src/core/present.ts";
import { formatValue } from "./format.ts";
import { Builtin, call, first, Module, needed, noKeywords, only, TypeObject, two } from "./functions.ts";
import { parseJson } from "./json.ts";
import { getAttribute, sorted } from "./methods.ts";
import { absolute, divide, floorDivide, modulo, multiply, power, round, subtract, sum, toFloat, toInt } from "./numbers.ts";
import { Complex } from "./objects.ts";
import { compare, iterate, length, truth } from "./operators.ts";
import { jsonText, repr, str } from "./text.ts";
import {
  Dict,
  hashKey,
  isInt,
  isNumber,
  PyError,
  PyObject,
  PySet,
  Tuple,
  typeError,
  typeName,
  type Value,
  valueError,
} from "./values.ts";

type Body = (positional: Value[], keywords: ReadonlyMap<string, Value>) => Value;

function one(name: string, body: (value: Value) => Value): [string, Value] {
  return [
    name,
    new Builtin(name, (positional, keywords) => {
      noKeywords(name, keywords);
      return body(only(name, positional));
    }),
  ];
}

function built(name: string, body: Body): [string, Value] {
  return [name, new Builtin(name, body)];
}

function type(name: string, body: Body): [string, Value] {
  return [name, new TypeObject(name, body)];
}

/** A type that converts at most one argument, and takes no keywords. */
function conversion(
  name: string,
  empty: () => Value,
  convert: (value: Value) => Value,
  keywordsAllowed = false,
): [string, Value] {
  return type(name, (positional, keywords) => {
    if (!keywordsAllowed) noKeywords(name, keywords);
    if (positional.length > 1) throw typeError(`${name} expected at most 1 argument, got ${positional.length}`);
    const [value] = positional;
    return value === undefined ? empty() : convert(value);
  });
}

/** `max` and `min`. */
function extreme(name: "max" | "min"): [string, Value] {
  return built(name, (positional, keywords) => {
    const given = first(name, positional);
    for (const keyword of keywords.keys())
      if (keyword !== "key" && keyword !== "default")
        throw typeError(`${name}() got an unexpected keyword argument '${keyword}'`);
    const items = positional.length === 1 ? iterate(given) : positional;
    const fallback = keywords.get("default");
    if (items.length === 0 && fallback !== undefined) return fallback;
    return best(name, items, keywords.get("key") ?? null);
  });
}

/** The first of the greatest or least items. @throws PyError ValueError if there is none */
export function best(name: "max" | "min", items: readonly Value[], key: Value = null): Value {
  const by = (item: Value) => (key === null ? item : call(key, [item], new Map()));
  const sign = name === "max" ? ">" : "<";
  let [chosen, ...others] = items;
  if (chosen === undefined) throw valueError(`${name}() arg is an empty sequence`);
  let value = by(chosen);
  for (const item of others) {
    const next = by(item);
    if (!compare(next, sign, value)) continue;
    chosen = item;
    value = next;
  }
  return chosen;
}

function toDict(positional: readonly Value[], keywords: ReadonlyMap<string, Value>): Dict {
  if (positional.length > 1) throw typeError(`dict expected at most 1 argument, got ${positional.length}`);
  const dict = new Dict();
  const [source] = positional;
  if (source instanceof Dict) for (const [key, value] of source.pairs()) dict.set(key, value);
  else if (source !== undefined) {
    iterate(source).forEach((item, i) => {
      let pair: readonly Value[];
      try {
        pair = iterate(item);
      } catch {
        throw typeError(`cannot convert dictionary update sequence element #${i} to a sequence`);
      }
      if (!hasLength(pair, 2))
        throw valueError(`dictionary update sequence element #${i} has length ${pair.length}; 2 is required`);
      dict.set(...pair);
    });
  }
  for (const [key, value] of keywords) dict.set(key, value);
  return dict;
}

/** The value that `range(…)` gives. */
class Range extends PyObject {
  readonly typeName = "range";
  private readonly bounds: readonly [bigint, bigint, bigint];

  constructor(bounds: readonly [bigint, bigint, bigint]) {
    super();
    this.bounds = bounds;
  }

  repr(): string {
    const [start, stop, step] = this.bounds;
    return step === 1n ? `range(${start}, ${stop})` : `range(${start}, ${stop}, ${step})`;
  }

  override get itemCount(): number {
    const [start, stop, step] = this.bounds;
    return Math.max(0, Math.ceil((Number(stop) - Number(start)) / Number(step)));
  }

  override truth(): boolean {
    return this.itemCount > 0;
  }

  override attribute(name: string): Value | undefined {
    if (name !== "__iter__") return undefined;
    if (this.itemCount > mostItems) throw new PyError("MemoryError", "");
    return Array.from({ length: this.itemCount }, (_, i) => this.bounds[0] + BigInt(i) * this.bounds[2]);
  }
}

/** Most items of a range that are listed. */
const mostItems = 1_000_000;

function range(positional: readonly Value[]): Range {
  const numbers = positional.map((value) => {
    if (!isInt(value)) throw typeError(`'${typeName(value)}' object cannot be interpreted as an integer`);
    return BigInt(value);
  });
  const [start, stop, step = 1n] = numbers;
  if (start === undefined) throw typeError("range expected at least 1 argument, got 0");
  if (step === 0n) throw valueError("range() arg 3 must not be zero");
  return new Range(stop === undefined ? [0n, start, step] : [start, stop, step]);
}

function isInstance(value: Value, types: Value): boolean {
  if (types instanceof Tuple) return types.items.some((item) => isInstance(value, item));
  if (!(types instanceof TypeObject)) throw typeError("isinstance() arg 2 must be a type, a tuple of types, or a union");
  return types.name === typeName(value) || (types.name === "int" && typeof value === "boolean") || types.name === "object";
}

/** The everyday functions of Python. Others raise a NameError here. */
const everyday: readonly (readonly [string, Value])[] = [
  one("abs", absolute),
  one("len", (value) => BigInt(length(value))),
  one("repr", repr),
  one("all", (value) => iterate(value).every(truth)),
  one("any", (value) => iterate(value).some(truth)),
  one("callable", (value) => value instanceof PyObject && value.call !== PyObject.prototype.call),
  one("chr", (value) => {
    if (!isInt(value)) throw typeError(`'${typeName(value)}' object cannot be interpreted as an integer`);
    if (BigInt(value) < 0n || BigInt(value) > 0x10ffffn) throw valueError("chr() arg not in range(0x110000)");
    return String.fromCodePoint(Number(value));
  }),
  one("ord", (value) => {
    if (typeof value !== "string") throw typeError(`ord() expected string of length 1, but ${typeName(value)} found`);
    if (length(value) !== 1) throw typeError(`ord() expected a character, but string of length ${length(value)} found`);
    return BigInt(value.codePointAt(0) ?? 0);
  }),
  one("hash", (value) => {
    hashKey(value);
    return isInt(value) ? BigInt(value) : 1n;
  }),
  one("iter", (value) => [...iterate(value)]),
  extreme("max"),
  extreme("min"),
  built("sum", (positional, keywords) => {
    const items = needed(positional[0], "sum() takes at least 1 positional argument (0 given)");
    for (const keyword of keywords.keys())
      if (keyword !== "start") throw typeError(`'${keyword}' is an invalid keyword argument for sum()`);
    const start = positional[1] ?? keywords.get("start") ?? 0n;
    if (typeof start === "string") throw typeError("sum() can't sum strings [use ''.join(seq) instead]");
    return sum(iterate(items), start);
  }),
  built("round", (positional, keywords) => {
    const number = positional[0] ?? keywords.get("number");
    for (const keyword of keywords.keys())
      if (keyword !== "number" && keyword !== "ndigits")
        throw typeError(
          number === undefined
            ? "round() missing required argument 'number' (pos 1)"
            : `'${keyword}' is an invalid keyword argument for round()`,
        );
    if (number === undefined) throw typeError("round() missing required argument 'number' (pos 1)");
    return round(number, positional[1] ?? keywords.get("ndigits") ?? null);
  }),
  built("pow", (positional, keywords) => {
    const base = positional[0] ?? keywords.get("base");
    const exponent = positional[1] ?? keywords.get("exp");
    if (base === undefined) throw typeError("pow() missing required argument 'base' (pos 1)");
    if (exponent === undefined) throw typeError("pow() missing required argument 'exp' (pos 2)");
    const raised = power(base, exponent);
    const modulus = positional[2] ?? keywords.get("mod") ?? null;
    return modulus === null ? raised : modulo(raised, modulus);
  }),
  built("divmod", (positional) => {
    const [a, b] = two("divmod", positional);
    return new Tuple([floorDivide(a, b), modulo(a, b)]);
  }),
  built("sorted", (positional, keywords) => {
    if (!hasLength(positional, 1)) throw typeError(`sorted expected 1 argument, got ${positional.length}`);
    for (const keyword of keywords.keys())
      if (keyword !== "key" && keyword !== "reverse") throw typeError(`'${keyword}' is an invalid keyword argument for sort()`);
    const key = keywords.get("key") ?? null;
    return sorted(
      positional[0],
      key === null ? undefined : (item) => call(key, [item], new Map()),
      truth(keywords.get("reverse") ?? false),
    );
  }),
  built("print", (_, keywords) => {
    for (const keyword of keywords.keys())
      if (!["sep", "end", "file", "flush"].includes(keyword))
        throw typeError(`'${keyword}' is an invalid keyword argument for print()`);
    return null;
  }),
  built("format", (positional) => formatValue(first("format", positional), String(positional[1] ?? ""))),
  built("isinstance", (positional) => isInstance(...two("isinstance", positional))),
  built("getattr", (positional) => {
    const [value, name, fallback] = positional;
    if (value === undefined || name === undefined)
      throw typeError(`getattr expected at least 2 arguments, got ${positional.length}`);
    try {
      return getAttribute(value, String(name));
    } catch (error) {
      if (fallback === undefined) throw error;
      return fallback;
    }
  }),
  conversion("str", () => "", str, true),
  type("int", (positional, keywords) => {
    if (positional.length + keywords.size === 0) return 0n;
    for (const keyword of keywords.keys())
      if (keyword !== "base") throw typeError(`'${keyword}' is an invalid keyword argument for int()`);
    return toInt(needed(positional[0], "int() missing string argument"));
  }),
  conversion("float", () => 0, toFloat),
  conversion("bool", () => false, truth),
  conversion(
    "list",
    () => [],
    (value) => [...iterate(value)],
  ),
  conversion(
    "tuple",
    () => new Tuple([]),
    (value) => new Tuple([...iterate(value)]),
  ),
  conversion(
    "set",
    () => new PySet(),
    (value) => new PySet(iterate(value)),
  ),
  type("dict", toDict),
  type("complex", (positional) => {
    const [real = 0n, imaginary = 0n] = positional;
    if (!isNumber(real) || !isNumber(imaginary)) throw typeError("complex() first argument must be a string or a number");
    return new Complex(toFloat(real), toFloat(imaginary));
  }),
  type("type", (positional) => {
    if (!hasLength(positional, 1)) throw typeError("type() takes 1 or 3 arguments");
    const name = typeName(positional[0]);
    return everyday.find(([known]) => known === name)?.[1] ?? new TypeObject(name, () => null);
  }),
  type("range", (positional, keywords) => {
    noKeywords("range", keywords);
    return range(positional);
  }),
  type("enumerate", ([items]) =>
    iterate(needed(items, "enumerate() missing required argument 'iterable'")).map((item, i) => new Tuple([BigInt(i), item])),
  ),
  type("zip", (positional) => {
    const lists = positional.map(iterate);
    const count = lists.length === 0 ? 0 : Math.min(...lists.map((items) => items.length));
    return Array.from({ length: count }, (_, i) => new Tuple(lists.flatMap((items) => items.slice(i, i + 1))));
  }),
  type("map", ([by, items]) => {
    if (by === undefined || items === undefined) throw typeError("map() must have at least two arguments.");
    return iterate(items).map((item) => call(by, [item], new Map()));
  }),
  type("filter", (positional) => {
    const [by, items] = two("filter", positional);
    return iterate(items).filter((item) => truth(by === null ? item : call(by, [item], new Map())));
  }),
  type("reversed", ([items]) => [...iterate(needed(items, "reversed expected 1 argument, got 0"))].reverse()),
  ["json", new Module("json", Object.fromEntries([one("dumps", jsonText), one("loads", (value) => parseJson(String(value)))]))],
  ["re", new Module("re", {})],
  ["copy", new Module("copy", Object.fromEntries([one("copy", (value) => value), one("deepcopy", (value) => value)]))],
  ["inspect", new Module("inspect", {})],
  ["importlib", new Module("importlib", {})],
];

export const builtins: ReadonlyMap<string, Value> = new Map(everyday);

/** Binary operators by their signs. */
export const arithmetic: Readonly<Record<string, (a: Value, b: Value) => Value>> = {
  "-": subtract,
  "*": multiply,
  "/": divide,
  "//": floorDivide,
  "%": modulo,
  "**": power,
};
