import { bytesMethods } from "./bytes-methods.ts";
import { isDigit, splitLines, splitWords, strip } from "./characters.ts";
import { formatValue } from "./format.ts";
import { attributeError, Builtin, first, Module, only, two } from "./functions.ts";
import type { Method, Methods } from "./method.ts";
import { compare, contains, equal, iterate, KeyError, length } from "./operators.ts";
import { repr, str } from "./text.ts";
import { Dict, isInt, isNumber, PyError, PyObject, PySet, Tuple, typeError, typeName, type Value, valueError } from "./values.ts";

const none: ReadonlyMap<string, Value> = new Map();

/** Calls a method of a value as Python does: `value.name(*positional)`. @throws PyError AttributeError if its type has none */
export function callMethod(value: Value, name: string, ...positional: Value[]): Value {
  const method = methodOf(value, name);
  if (method !== undefined) return method(value, positional, none);
  throw attributeError(value, name);
}

/** Python's `value.name`. @throws PyError AttributeError */
export function getAttribute(value: Value, name: string): Value {
  if (value instanceof PyObject) {
    const attribute = value.attribute(name);
    if (attribute !== undefined) return attribute;
    if (value instanceof Module) throw value.missing(name);
  }
  if (isNumber(value) && (name === "real" || name === "imag")) return partOf(value, name);
  const method = methodOf(value, name);
  if (method !== undefined) return new Builtin(name, (positional, keywords) => method(value, positional, keywords));
  throw attributeError(value, name);
}

/** The real or imaginary part of a real number. */
function partOf(value: boolean | bigint | number, name: "real" | "imag"): Value {
  if (typeof value === "number") return name === "real" ? value : 0;
  return name === "real" ? BigInt(value) : 0n;
}

function methodOf(value: Value, name: string): Method<Value> | undefined {
  const table = tables[typeName(value)] as Methods<Value> | undefined;
  return table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;
}

function noArguments<T>(type: string, name: string, body: (self: T) => Value): Method<T> {
  return (self, positional) => {
    if (positional.length > 0) throw typeError(`${type}.${name}() takes no arguments (${positional.length} given)`);
    return body(self);
  };
}

/** A method of a text that looks for a part of it. */
function ofPart(name: string, body: (self: string, part: string) => Value): Method<string> {
  return (self, [part]) => {
    if (typeof part === "string") return body(self, part);
    throw typeError(part === undefined ? `${name}() takes at least 1 argument (0 given)` : `must be str, not ${typeName(part)}`);
  };
}

function stripped(name: string, side: "both" | "left" | "right"): Method<string> {
  return (self, positional) => {
    const [characters = null] = positional;
    if (characters !== null && typeof characters !== "string") throw typeError(`${name} arg must be None or str`);
    return strip(self, characters, side);
  };
}

function affix(name: "startswith" | "endswith"): Method<string> {
  return (self, [wanted]) => {
    const test = (part: string) => (name === "startswith" ? self.startsWith(part) : self.endsWith(part));
    if (typeof wanted === "string") return test(wanted);
    if (wanted instanceof Tuple) {
      return wanted.items.some((part) => {
        if (typeof part === "string") return test(part);
        throw typeError(`tuple for ${name} must only contain str, not ${typeName(part)}`);
      });
    }
    if (wanted === undefined) throw typeError(`${name}() takes at least 1 argument (0 given)`);
    throw typeError(`${name} first arg must be str or a tuple of str, not ${typeName(wanted)}`);
  };
}

function everyCharacter(pattern: RegExp): Method<string> {
  return (self) => self !== "" && [...self].every((character) => pattern.test(character));
}

/** Python's lower case: as JavaScript's without a locale. */
const text: Methods<string> = {
  lower: noArguments("str", "lower", (self) => self.toLowerCase()),
  upper: noArguments("str", "upper", (self) => self.toUpperCase()),
  casefold: noArguments("str", "casefold", (self) => self.toLowerCase().replaceAll("ß", "ss")),
  capitalize: noArguments("str", "capitalize", (self) => self.slice(0, 1).toUpperCase() + self.slice(1).toLowerCase()),
  title: noArguments("str", "title", (self) =>
    self.replace(/\p{L}+/gu, (word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase()),
  ),
  swapcase: noArguments("str", "swapcase", (self) =>
    [...self].map((c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join(""),
  ),
  strip: stripped("strip", "both"),
  lstrip: stripped("lstrip", "left"),
  rstrip: stripped("rstrip", "right"),
  startswith: affix("startswith"),
  endswith: affix("endswith"),
  isdigit: (self) => self !== "" && [...self].every(isDigit),
  isalpha: everyCharacter(/^\p{L}$/u),
  isalnum: everyCharacter(/^[\p{L}\p{N}]$/u),
  isspace: (self) => self !== "" && splitWords(self).length === 0,
  isnumeric: everyCharacter(/^\p{N}$/u),
  isupper: (self) => self !== self.toLowerCase() && self === self.toUpperCase(),
  islower: (self) => self !== self.toUpperCase() && self === self.toLowerCase(),
  split: (self, positional, keywords) => {
    const separator = positional[0] ?? keywords.get("sep") ?? null;
    const most = Number(positional[1] ?? keywords.get("maxsplit") ?? -1);
    if (separator === null) return most < 0 ? splitWords(self) : splitSome(splitWords(self), self, most);
    if (typeof separator !== "string") throw typeError(`must be str or None, not ${typeName(separator)}`);
    if (separator === "") throw valueError("empty separator");
    const parts = self.split(separator);
    return most < 0 || parts.length <= most + 1 ? parts : [...parts.slice(0, most), parts.slice(most).join(separator)];
  },
  splitlines: (self) => splitLines(self),
  join: (self, positional) => joinTexts(self, only("str.join", positional)),
  replace: (self, positional) => {
    const [old, replacement, count = -1n, ...more] = positional;
    if (old === undefined || replacement === undefined || more.length > 0)
      throw typeError(`replace expected at ${more.length > 0 ? "most 3" : "least 2"} arguments, got ${positional.length}`);
    for (const [i, part] of [old, replacement].entries())
      if (typeof part !== "string") throw typeError(`replace() argument ${i + 1} must be str, not ${typeName(part)}`);
    const parts = old === "" ? ["", ...self, ""] : self.split(String(old));
    const times = Number(count) < 0 ? parts.length : Number(count);
    return parts.reduce<string>(
      (sum, part, i) => (i === 0 ? String(part) : `${sum}${i <= times ? replacement : old}${part}`),
      "",
    );
  },
  find: ofPart("find", indexOf),
  index: ofPart("index", (self, part) => {
    const index = indexOf(self, part);
    if (index < 0n) throw valueError("substring not found");
    return index;
  }),
  count: ofPart("count", (self, part) => BigInt(part === "" ? length(self) + 1 : self.split(part).length - 1)),
  zfill: (self, positional) => {
    const width = only("str.zfill", positional);
    if (!isInt(width)) throw typeError(`'${typeName(width)}' object cannot be interpreted as an integer`);
    const sign = /^[-+]/.exec(self)?.[0] ?? "";
    return sign + self.slice(sign.length).padStart(Number(width) - sign.length, "0");
  },
  format: (self, positional, keywords) => formatTemplate(self, positional, keywords),
};

function splitSome(words: readonly string[], whole: string, most: number): Value[] {
  if (words.length <= most) return [...words];
  let rest = strip(whole, null, "left");
  for (const word of words.slice(0, most)) rest = strip(rest.slice(word.length), null, "left");
  return [...words.slice(0, most), rest];
}

function indexOf(whole: string, part: string): bigint {
  const unit = whole.indexOf(part);
  return unit < 0 ? -1n : BigInt(length(whole.slice(0, unit)));
}

/** Python's `separator.join(items)`. */
export function joinTexts(separator: string, items: Value): string {
  let parts: readonly Value[];
  try {
    parts = iterate(items);
  } catch {
    throw typeError("can only join an iterable");
  }
  return parts
    .map((part, i) => {
      if (typeof part === "string") return part;
      throw typeError(`sequence item ${i}: expected str instance, ${typeName(part)} found`);
    })
    .join(separator);
}

function formatTemplate(template: string, positional: readonly Value[], keywords: ReadonlyMap<string, Value>): string {
  let automatic = 0;
  return template.replace(
    /\{\{|\}\}|\{([^{}:!]*)(?:!([rsa]))?(?::([^{}]*))?\}/g,
    (whole: string, field?: string, conversion?: string, spec?: string) => {
      if (field === undefined) return whole.slice(0, 1);
      const key = field === "" ? String(automatic++) : field;
      const value = /^\d+$/.test(key) ? positional[Number(key)] : keywords.get(key);
      if (value === undefined) {
        if (/^\d+$/.test(key)) throw new PyError("IndexError", `Replacement index ${key} out of range for positional args tuple`);
        throw new KeyError(key);
      }
      return formatValue(conversion === "r" ? repr(value) : conversion === "s" ? str(value) : value, spec ?? "");
    },
  );
}

function indexIn(items: readonly Value[], item: Value): number {
  return items.findIndex((member) => member === item || equal(member, item));
}

function countIn(items: readonly Value[], item: Value): bigint {
  return BigInt(items.filter((member) => equal(member, item)).length);
}

const list: Methods<Value[]> = {
  append: (self, positional) => {
    self.push(only("list.append", positional));
    return null;
  },
  extend: (self, positional) => {
    self.push(...iterate(only("list.extend", positional)));
    return null;
  },
  insert: (self, positional) => {
    const [index, item] = two("insert", positional);
    self.splice(Number(index), 0, item);
    return null;
  },
  remove: (self, positional) => {
    const index = indexIn(self, only("list.remove", positional));
    if (index < 0) throw valueError("list.remove(x): x not in list");
    self.splice(index, 1);
    return null;
  },
  pop: (self, [index = -1n]) => {
    if (self.length === 0) throw new PyError("IndexError", "pop from empty list");
    const at = Number(index) < 0 ? self.length + Number(index) : Number(index);
    const [item] = at < 0 ? [] : self.splice(at, 1);
    if (item === undefined) throw new PyError("IndexError", "pop index out of range");
    return item;
  },
  clear: (self) => {
    self.length = 0;
    return null;
  },
  reverse: (self) => {
    self.reverse();
    return null;
  },
  copy: (self) => [...self],
  count: (self, positional) => countIn(self, only("list.count", positional)),
  index: (self, positional) => {
    const item = first("index", positional);
    const index = indexIn(self, item);
    if (index < 0) throw valueError(`${repr(item)} is not in list`);
    return BigInt(index);
  },
};

const tuple: Methods<Tuple> = {
  count: ({ items }, positional) => countIn(items, only("tuple.count", positional)),
  index: ({ items }, positional) => {
    const index = indexIn(items, first("index", positional));
    if (index < 0) throw valueError("tuple.index(x): x not in tuple");
    return BigInt(index);
  },
};

/** The view that `dict.keys()`, `.values()` and `.items()` give. */
class DictView extends PyObject {
  readonly typeName: string;
  private readonly items: () => Value[];

  constructor(name: string, items: () => Value[]) {
    super();
    this.typeName = name;
    this.items = items;
  }

  repr(): string {
    return `${this.typeName}(${repr(this.items())})`;
  }

  override truth(): boolean {
    return this.items().length > 0;
  }

  override get itemCount(): number {
    return this.items().length;
  }

  override hash(): unknown {
    return this.typeName === "dict_values" ? this : undefined;
  }

  override attribute(name: string): Value | undefined {
    return name === "__iter__" ? this.items() : undefined;
  }
}

const dict: Methods<Dict> = {
  keys: noArguments("dict", "keys", (self) => new DictView("dict_keys", () => self.keys())),
  values: noArguments("dict", "values", (self) => new DictView("dict_values", () => self.values())),
  items: noArguments("dict", "items", (self) => new DictView("dict_items", () => self.pairs().map((pair) => new Tuple(pair)))),
  get: (self, positional) => {
    const value = self.get(first("get", positional));
    return value === undefined ? (positional[1] ?? null) : value;
  },
  pop: (self, positional) => {
    const key = first("pop", positional);
    const value = self.has(key) ? self.get(key) : positional[1];
    if (value === undefined) throw new KeyError(key);
    self.delete(key);
    return value;
  },
  setdefault: (self, positional) => {
    const key = first("setdefault", positional);
    if (!self.has(key)) self.set(key, positional[1] ?? null);
    return self.get(key) ?? null;
  },
  update: (self, [other], keywords) => {
    if (other instanceof Dict) for (const [key, value] of other.pairs()) self.set(key, value);
    for (const [key, value] of keywords) self.set(key, value);
    return null;
  },
  copy: noArguments("dict", "copy", (self) => self.copy()),
  clear: (self) => {
    self.clear();
    return null;
  },
};

const set: Methods<PySet> = {
  add: (self, positional) => {
    self.add(only("set.add", positional));
    return null;
  },
  copy: (self) => new PySet(self.items()),
  union: (self, others) => new PySet([...self.items(), ...others.flatMap((other) => [...iterate(other)])]),
  intersection: (self, others) => new PySet(self.items().filter((item) => others.every((other) => contains(other, item)))),
  difference: (self, others) => new PySet(self.items().filter((item) => !others.some((other) => contains(other, item)))),
};

const float: Methods<number> = {
  is_integer: (self) => Number.isInteger(self),
};

const int: Methods<bigint | boolean> = {
  bit_length: (self) => BigInt(BigInt(self) === 0n ? 0 : (BigInt(self) < 0n ? -BigInt(self) : BigInt(self)).toString(2).length),
};

const tables: Readonly<Record<string, unknown>> = {
  str: text,
  bytes: bytesMethods,
  list,
  tuple,
  dict,
  set,
  float,
  int,
  bool: int,
};

/** Python's `sorted(items)`. */
export function sorted(items: Value, key: ((item: Value) => Value) | undefined, reverse: boolean): Value[] {
  const keyed = iterate(items).map((item) => ({ item, by: key === undefined ? item : key(item) }));
  // A stable order, where equal items keep theirs even if reversed.
  keyed.sort((a, b) => (compare(a.by, "<", b.by) ? -1 : compare(b.by, "<", a.by) ? 1 : 0) * (reverse ? -1 : 1));
  return keyed.map(({ item }) => item);
}
