import { Bytes, Complex } from "./objects.ts";
import { recursionError, repr } from "./text.ts";
import { Dict, isInt, isNumber, PyError, PyObject, PySet, Tuple, typeError, typeName, type Value, valueError } from "./values.ts";

/** Python's truth of a value. */
export function truth(value: Value): boolean {
  if (typeof value === "number") return value !== 0;
  if (value === null || typeof value !== "object") return Boolean(value);
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Tuple) return value.items.length > 0;
  if (value instanceof PyObject) return value.truth();
  return value.size > 0;
}

/** Python's `a == b`: by value, numbers of all types alike, the order of dict keys aside. @throws PyError if values contain themselves */
export function equal(a: Value, b: Value): boolean {
  return equalWithin(a, b, 0);
}

const deepest = 990;

function equalWithin(a: Value, b: Value, depth: number): boolean {
  if (depth > deepest) throw recursionError("maximum recursion depth exceeded in comparison");
  if (isNumber(a)) {
    if (isNumber(b)) return sameNumber(a, b);
    return b instanceof Complex && b.equals(Number(a));
  }
  if (a === null || typeof a === "string") return a === b;
  if (a instanceof PyObject) return a.equals(b);
  if (b instanceof PyObject) return b.equals(a);
  if (Array.isArray(a)) return Array.isArray(b) && sameItems(a, b, depth);
  if (a instanceof Tuple) return b instanceof Tuple && sameItems(a.items, b.items, depth);
  if (a instanceof Dict) {
    if (!(b instanceof Dict) || a.size !== b.size) return false;
    for (let i = 0; i < a.size; i++) {
      const value = a.valueAt(i);
      // Equal dicts mostly have their keys in the same order.
      const other = a.hashAt(i) === b.hashAt(i) ? b.valueAt(i) : b.valueOf(a.hashAt(i));
      if (other === undefined || !(value === other || equalWithin(value, other, depth + 1))) return false;
    }
    return true;
  }
  return b instanceof PySet && a.size === b.size && [...a.entries.keys()].every((key) => b.entries.has(key));
}

/** JavaScript compares bigint and number exactly, as Python does. */
function sameNumber(a: boolean | bigint | number, b: boolean | bigint | number): boolean {
  const left = typeof a === "boolean" ? Number(a) : a;
  // biome-ignore lint/suspicious/noDoubleEquals: of bigint and number, the only exact one
  return left == (typeof b === "boolean" ? Number(b) : b);
}

/** Identity before equality: a NaN equals itself within a container. */
function sameItems(a: readonly Value[], b: readonly Value[], depth: number): boolean {
  return (
    a.length === b.length &&
    a.every((item, i) => {
      const other = b[i];
      return item === other || (other !== undefined && equalWithin(item, other, depth + 1));
    })
  );
}

export type Ordering = "<" | "<=" | ">" | ">=";

/** Python's `a < b` and its kin. @throws PyError for types that have no order */
export function compare(a: Value, operator: Ordering, b: Value): boolean {
  if (isNumber(a) && isNumber(b)) {
    const left = typeof a === "boolean" ? Number(a) : a;
    const right = typeof b === "boolean" ? Number(b) : b;
    return ordered(left < right ? -1 : left > right ? 1 : sameNumber(a, b) ? 0 : Number.NaN, operator);
  }
  if (typeof a === "string" && typeof b === "string") return ordered(compareText(a, b), operator);
  const lists = Array.isArray(a) && Array.isArray(b);
  if (lists || (a instanceof Tuple && b instanceof Tuple)) {
    const left = itemsOf(a);
    const right = itemsOf(b);
    for (const [i, item] of left.entries()) {
      const other = right[i];
      if (other === undefined) break;
      if (item !== other && !equal(item, other)) return compare(item, operator, other);
    }
    return ordered(left.length - right.length, operator);
  }
  if (a instanceof PySet && b instanceof PySet) {
    const within = (inner: PySet, outer: PySet) => [...inner.entries.keys()].every((key) => outer.entries.has(key));
    const [inner, outer] = operator.startsWith("<") ? [a, b] : [b, a];
    return within(inner, outer) && (operator.endsWith("=") || inner.size < outer.size);
  }
  throw typeError(`'${operator}' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`);
}

function itemsOf(value: Value): readonly Value[] {
  return value instanceof Tuple ? value.items : (value as Value[]);
}

function ordered(sign: number, operator: Ordering): boolean {
  switch (operator) {
    case "<":
      return sign < 0;
    case "<=":
      return sign <= 0;
    case ">":
      return sign > 0;
    case ">=":
      return sign >= 0;
  }
}

/** Orders texts by code points; JavaScript's own order is that of UTF-16 units. */
function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left === right) continue;
    const surrogates = Number(left >= 0xd800 && left < 0xe000) - Number(right >= 0xd800 && right < 0xe000);
    return surrogates !== 0 ? surrogates : left - right;
  }
  return a.length - b.length;
}

/** Python's `item in container`. @throws PyError for what is no container, or an unhashable item of a dict or set */
export function contains(container: Value, item: Value): boolean {
  if (container instanceof Dict || container instanceof PySet) return container.has(item);
  if (typeof container === "string") {
    if (typeof item === "string") return container.includes(item);
    throw typeError(`'in <string>' requires string as left operand, not ${typeName(item)}`);
  }
  if (Array.isArray(container) || container instanceof Tuple) {
    for (const member of itemsOf(container)) if (member === item || equal(member, item)) return true;
    return false;
  }
  if (container instanceof Bytes) {
    if (item instanceof Bytes) return container.characters.includes(item.characters);
    if (!isInt(item)) throw typeError(`a bytes-like object is required, not '${typeName(item)}'`);
    if (Number(item) < 0 || Number(item) > 255) throw valueError("byte must be in range(0, 256)");
  }
  const members = container instanceof PyObject ? container.attribute("__iter__") : undefined;
  if (members !== undefined) return contains(members, item);
  throw typeError(`argument of type '${typeName(container)}' is not iterable`);
}

/** The items that iterating over a value gives; of a dict its keys, of a str its code points. @throws PyError for what is not iterable */
export function iterate(value: Value): readonly Value[] {
  if (Array.isArray(value)) return value;
  if (value instanceof Tuple) return value.items;
  if (typeof value === "string") return [...value];
  if (value instanceof Dict) return value.keys();
  if (value instanceof PySet) return value.items();
  if (value instanceof PyObject) {
    const items = value.attribute("__iter__");
    if (items !== undefined) return iterate(items);
  }
  throw typeError(`'${typeName(value)}' object is not iterable`);
}

/** Python's `len(value)`. */
export function length(value: Value): number {
  if (typeof value === "string") return codePoints(value);
  if (Array.isArray(value)) return value.length;
  if (value instanceof Tuple) return value.items.length;
  if (value instanceof Dict || value instanceof PySet) return value.size;
  const count = value instanceof PyObject ? value.itemCount : undefined;
  if (count !== undefined) return count;
  throw typeError(`object of type '${typeName(value)}' has no len()`);
}

function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const code = text.charCodeAt(i);
    if (code < 0xd800 || code > 0xdbff) continue;
    const next = text.charCodeAt(i + 1);
    if (next >= 0xdc00 && next < 0xe000) {
      count--;
      i++;
    }
  }
  return count;
}

/** Python's `container[key]`. @throws PyError KeyError, IndexError or TypeError */
export function getItem(container: Value, key: Value): Value {
  if (container instanceof Dict) {
    const value = container.get(key);
    if (value === undefined) throw new KeyError(key);
    return value;
  }
  if (Array.isArray(container)) return at(container, key, "list");
  if (container instanceof Tuple) return at(container.items, key, "tuple");
  if (typeof container === "string") return at([...container], key, "string");
  if (container instanceof Bytes) return at(iterate(container), key, "byte");
  throw typeError(`'${typeName(container)}' object is not subscriptable`);
}

function at(items: readonly Value[], key: Value, name: "list" | "tuple" | "string" | "byte"): Value {
  if (typeof key !== "bigint" && typeof key !== "boolean") {
    const type = typeName(key);
    throw typeError(
      name === "string"
        ? `string indices must be integers, not '${type}'`
        : `${name} indices must be integers or slices, not ${type}`,
    );
  }
  const index = Number(key);
  const item = items[index < 0 ? items.length + index : index];
  if (item === undefined) throw new PyError("IndexError", name === "byte" ? "index out of range" : `${name} index out of range`);
  return item;
}

/** Python's `container[key] = value`. */
export function setItem(container: Value, key: Value, value: Value): void {
  if (container instanceof Dict) container.set(key, value);
  else if (Array.isArray(container)) {
    if (typeof key !== "bigint" && typeof key !== "boolean")
      throw typeError(`list indices must be integers or slices, not ${typeName(key)}`);
    const index = Number(key) < 0 ? container.length + Number(key) : Number(key);
    if (index < 0 || index >= container.length) throw new PyError("IndexError", "list assignment index out of range");
    container[index] = value;
  } else throw typeError(`'${typeName(container)}' object does not support item assignment`);
}

/** A missing key of a dict: its text is the repr of the key alone. */
export class KeyError extends PyError {
  constructor(key: Value) {
    super("KeyError", repr(key));
  }
}
