import { Dict, PyError, PyObject, PySet, Tuple, typeError, typeName, type Value, valueError } from "./values.ts";

/** Python's `str(value)`. */
export function str(value: Value): string {
  if (typeof value === "string") return value;
  if (value instanceof PyObject && "plain" in value) return String(value.plain);
  return repr(value);
}

/** Python's `repr(value)`. */
export function repr(value: Value): string {
  return reprWithin(value, []);
}

/** The texts of lists that never change, which are written again and again. */
const constantTexts = new WeakMap<object, { json?: string; repr?: string }>();

/** Declares that a list and all within it never change, so that its texts are computed once. */
export function neverChanges(list: Value[]): void {
  if (!constantTexts.has(list)) constantTexts.set(Object.freeze(list), {});
}

function constantText(list: Value[], kind: "json" | "repr", compute: () => string): string {
  if (!Object.isFrozen(list)) return compute();
  const known = constantTexts.get(list);
  if (known === undefined) return compute();
  known[kind] ??= compute();
  return known[kind];
}

/** @param parents the containers around the value, which are put back as they were */
function reprWithin(value: Value, parents: Value[]): string {
  switch (typeof value) {
    case "string":
      return reprText(value);
    case "boolean":
      return value ? "True" : "False";
    case "bigint":
      return intText(value);
    case "number":
      return floatText(value);
  }
  if (value === null) return "None";
  if (value instanceof PyObject) return value.repr();
  if (parents.length > 900) throw recursionError("maximum recursion depth exceeded while getting the repr of an object");
  if (parents.includes(value) && (Array.isArray(value) || value instanceof Dict)) return Array.isArray(value) ? "[...]" : "{...}";
  parents.push(value);
  const text = containerRepr(value, parents);
  parents.pop();
  return text;
}

function containerRepr(value: Value[] | Tuple | PySet | Dict, parents: Value[]): string {
  if (Array.isArray(value)) return constantText(value, "repr", () => `[${reprItems(value, parents)}]`);
  if (value instanceof Tuple) return `(${reprItems(value.items, parents)}${value.items.length === 1 ? "," : ""})`;
  if (value instanceof PySet) return value.size === 0 ? "set()" : `{${reprItems(value.items(), parents)}}`;
  let out = "";
  for (let i = 0; i < value.size; i++)
    out += `${i === 0 ? "" : ", "}${reprWithin(value.keyAt(i), parents)}: ${reprWithin(value.valueAt(i), parents)}`;
  return `{${out}}`;
}

function reprItems(items: readonly Value[], parents: Value[]): string {
  return items.map((item) => reprWithin(item, parents)).join(", ");
}

/** Most decimal digits of an int that CPython 3.11 turns into text. */
const maxIntDigits = 4300;

/** @throws PyError for ints of more than 4,300 digits, as CPython does */
export function intText(value: bigint): string {
  const text = value.toString();
  if (text.length > maxIntDigits && text.length - (value < 0n ? 1 : 0) > maxIntDigits)
    throw valueError(
      "Exceeds the limit (4300 digits) for integer string conversion; use sys.set_int_max_str_digits() to increase the limit",
    );
  return text;
}

/** Python's text of a float: the shortest digits that read back as it, an exponent below -4 and from 16, and ".0" for whole numbers. */
export function floatText(x: number): string {
  if (Number.isInteger(x)) {
    if (Math.abs(x) < 1e16) return Object.is(x, -0) ? "-0.0" : `${x}.0`;
  } else if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
  else if (Math.abs(x) >= 1e-4) return String(x);
  const [mantissa, exponent] = x.toExponential().split("e");
  const power = Number(exponent);
  return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

const doubleQuote = 0x22;
const apostrophe = 0x27;
const backslash = 0x5c;

/** True if a text is printable ASCII without a quote and backslashes. Texts are mostly short, where a loop is faster than a pattern. */
function isPlain(text: string, quote: number): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code > 0x7e || code === quote || code === backslash) return false;
  }
  return true;
}

/** Characters that Python escapes: control, format, surrogate, private, unassigned and separators, except for the space. */
const unprintable = /[\p{C}\p{Z}]/u;
const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Python's `repr` of a str. */
export function reprText(text: string): string {
  if (isPlain(text, apostrophe)) return `'${text}'`;
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = quote;
  for (const character of text) {
    if (character === quote) out += `\\${quote}`;
    else if (escapes[character] !== undefined) out += escapes[character];
    else if (character === " " || !unprintable.test(character)) out += character;
    else {
      const code = character.codePointAt(0) ?? 0;
      const hex = code.toString(16);
      out +=
        code < 0x100
          ? `\\x${hex.padStart(2, "0")}`
          : code < 0x10000
            ? `\\u${hex.padStart(4, "0")}`
            : `\\U${hex.padStart(8, "0")}`;
    }
  }
  return out + quote;
}

/**
 * Python's `json.dumps(value)` with its defaults: ", " and ": ", ASCII alone, NaN and Infinity by name.
 * @throws PyError TypeError for what JSON does not have
 */
export function jsonText(value: Value): string {
  return jsonWithin(value, []);
}

/** @param parents the containers around the value, which are put back as they were */
function jsonWithin(value: Value, parents: Value[]): string {
  switch (typeof value) {
    case "string":
      return jsonString(value);
    case "boolean":
      return value ? "true" : "false";
    case "bigint":
      return intText(value);
    case "number":
      return jsonFloat(value);
  }
  if (value === null) return "null";
  if (value instanceof PyObject || value instanceof PySet)
    throw typeError(`Object of type ${typeName(value)} is not JSON serializable`);
  if (parents.includes(value)) throw valueError("Circular reference detected");
  parents.push(value);
  const text = containerJson(value, parents);
  parents.pop();
  return text;
}

function containerJson(value: Value[] | Tuple | Dict, parents: Value[]): string {
  if (Array.isArray(value)) return constantText(value, "json", () => `[${jsonItems(value, parents)}]`);
  if (value instanceof Tuple) return `[${jsonItems(value.items, parents)}]`;
  let out = "";
  for (let i = 0; i < value.size; i++) {
    const key = value.keyAt(i);
    const name = typeof key === "string" ? key : jsonKey(key);
    out += `${i === 0 ? "" : ", "}${jsonString(name)}: ${jsonWithin(value.valueAt(i), parents)}`;
  }
  return `{${out}}`;
}

function jsonItems(items: readonly Value[], parents: Value[]): string {
  return items.map((item) => jsonWithin(item, parents)).join(", ");
}

function jsonFloat(x: number): string {
  return Number.isFinite(x) ? floatText(x) : Number.isNaN(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity";
}

function jsonKey(key: Value): string {
  if (typeof key === "string") return key;
  if (typeof key === "number") return jsonFloat(key);
  if (typeof key === "boolean") return key ? "true" : "false";
  if (typeof key === "bigint") return intText(key);
  if (key === null) return "null";
  throw typeError(`keys must be str, int, float, bool or None, not ${typeName(key)}`);
}

const needsEscape = /[^\x20-\x21\x23-\x5b\x5d-\x7e]/g;
const jsonEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\f": "\\f",
  "\b": "\\b",
};

function jsonString(text: string): string {
  if (isPlain(text, doubleQuote)) return `"${text}"`;
  return `"${text.replace(needsEscape, (c) => jsonEscapes[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;
}

export function recursionError(message: string): PyError {
  return new PyError("RecursionError", message);
}
