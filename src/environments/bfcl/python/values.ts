/**
 * Python values as TypeScript values. An int is a bigint and a float is a number, so that 5 and 5.0 stay apart and ints have no bound.
 * A list is an array; str, bool and None are string, boolean and null.
 */
export type Value = null | boolean | bigint | number | string | Value[] | Tuple | Dict | PySet | PyObject;

/** A Python exception. Its message is Python's `str(exception)`. */
export class PyError extends Error {
  readonly kind: string;

  constructor(kind: string, message: string) {
    super(message);
    this.name = kind;
    this.kind = kind;
  }
}

export function typeError(message: string): PyError {
  return new PyError("TypeError", message);
}

export function valueError(message: string): PyError {
  return new PyError("ValueError", message);
}

/** A value of another type: Decimal, complex, functions, a backend's own objects. */
export abstract class PyObject {
  /** The name that error sentences use. */
  abstract readonly typeName: string;
  abstract repr(): string;
  /** True if the value counts as true. */
  truth(): boolean {
    return true;
  }
  /** Equality with a value of any type. Identity by default. */
  equals(other: Value): boolean {
    return this === other;
  }
  /** The key under which dicts keep it. Undefined if it is unhashable. */
  hash(): unknown {
    return this;
  }
  attribute(_name: string): Value | undefined {
    return undefined;
  }
  call(_positional: Value[], _keywords: Map<string, Value>): Value {
    throw typeError(`'${this.typeName}' object is not callable`);
  }
}

export class Tuple {
  readonly items: readonly Value[];

  constructor(items: readonly Value[]) {
    this.items = items;
  }
}

/** The map key of a value. Equal values have equal keys: True, 1 and 1.0 are one key. @throws PyError if it is unhashable */
export function hashKey(value: Value): unknown {
  switch (typeof value) {
    case "string":
      return value;
    case "boolean":
      return value ? 1 : 0;
    case "bigint":
      return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
    case "number":
      return Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value) : value;
  }
  if (value === null) return null;
  if (value instanceof Tuple) return `\0(${value.items.map(tupleKey).join(",")})`;
  const key = value instanceof PyObject ? value.hash() : undefined;
  if (key === undefined) throw typeError(`unhashable type: '${typeName(value)}'`);
  return key;
}

const identities = new WeakMap<object, number>();
let identityCount = 0;

function tupleKey(item: Value): string {
  const key = hashKey(item);
  if (typeof key !== "object" || key === null)
    return `${typeof key === "bigint" ? "number" : typeof key}:${JSON.stringify(String(key))}`;
  let identity = identities.get(key);
  if (identity === undefined) identities.set(key, (identity = ++identityCount));
  return `object:${identity}`;
}

/** A dict: keys by Python's equality, in the order of insertion. */
export class Dict {
  readonly entries = new Map<unknown, [Value, Value]>();

  static of(record: Readonly<Record<string, Value>>): Dict {
    const dict = new Dict();
    for (const key of Object.keys(record)) dict.entries.set(key, [key, record[key]]);
    return dict;
  }

  static from(pairs: Iterable<readonly [Value, Value]>): Dict {
    const dict = new Dict();
    for (const [key, value] of pairs) dict.set(key, value);
    return dict;
  }

  get size(): number {
    return this.entries.size;
  }

  has(key: Value): boolean {
    return this.entries.has(hashKey(key));
  }

  get(key: Value): Value | undefined {
    return this.entries.get(hashKey(key))?.[1];
  }

  /** Keeps the first of several equal keys, as Python does. */
  set(key: Value, value: Value): void {
    const hashed = hashKey(key);
    const entry = this.entries.get(hashed);
    if (entry === undefined) this.entries.set(hashed, [key, value]);
    else entry[1] = value;
  }

  delete(key: Value): boolean {
    return this.entries.delete(hashKey(key));
  }

  keys(): Value[] {
    return Array.from(this.entries.values(), ([key]) => key);
  }

  values(): Value[] {
    return Array.from(this.entries.values(), ([, value]) => value);
  }

  pairs(): [Value, Value][] {
    return Array.from(this.entries.values(), ([key, value]) => [key, value]);
  }

  /** A shallow copy. */
  copy(): Dict {
    const copy = new Dict();
    for (const [hashed, [key, value]] of this.entries) copy.entries.set(hashed, [key, value]);
    return copy;
  }
}

/** A set, in the order of insertion (Python's own order is arbitrary). */
export class PySet {
  readonly entries = new Map<unknown, Value>();

  constructor(items: Iterable<Value> = []) {
    for (const item of items) this.add(item);
  }

  get size(): number {
    return this.entries.size;
  }

  has(item: Value): boolean {
    return this.entries.has(hashKey(item));
  }

  add(item: Value): void {
    const hashed = hashKey(item);
    if (!this.entries.has(hashed)) this.entries.set(hashed, item);
  }

  items(): Value[] {
    return [...this.entries.values()];
  }
}

/** Python's name of a value's type. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case "string":
      return "str";
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "float";
  }
  if (value === null) return "NoneType";
  if (Array.isArray(value)) return "list";
  if (value instanceof Dict) return "dict";
  if (value instanceof Tuple) return "tuple";
  if (value instanceof PySet) return "set";
  return value.typeName;
}

/** True for what `isinstance(value, (int, float))` accepts; bools are ints. */
export function isNumber(value: Value): value is boolean | bigint | number {
  return typeof value === "bigint" || typeof value === "number" || typeof value === "boolean";
}

/** True for ints and bools. */
export function isInt(value: Value): value is boolean | bigint {
  return typeof value === "bigint" || typeof value === "boolean";
}
