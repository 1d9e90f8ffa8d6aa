import { present } from "../../src/core/present.ts";

/**
 * Python values as TypeScript values. An int is a bigint and a float is a number, so that 5 and 5.0 stay apart and ints have no bound.
 * A list is an array; str, bool and None are string, boolean and null.
 */
export type Value = null | boolean | bigint | number | string | Value[] | Tuple | Dict | PySet | PyObject;

/** A Python exception. Its message is Python's `str(exception)`. */
export class PyError extends Error {
  readonly kind: string;

  constructor(kind: string, message: string) {
    // A call that fails is a result like any other: nobody reads its stack, which would take longer than the call.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
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
  /** The number of its items. Undefined if it has none that are counted. */
  get itemCount(): number | undefined {
    return undefined;
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

/** The map key of a NaN, which is not equal to itself. */
const notANumber = Symbol("nan");

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
      if (Number.isNaN(value)) return notANumber;
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

/** Most entries of a dict that are found by comparing one key after the other. */
const fewEntries = 8;

/** The keys of a dict in the order of insertion. Copies of a dict share them until one of the dicts changes its keys. */
class Keys {
  /** The map keys (see `hashKey`). */
  readonly hashes: unknown[];
  /** The keys themselves. Undefined while each key is its own map key, as texts are. */
  originals: Value[] | undefined;
  /** True from the first copy on: whoever changes them first makes keys of its own. */
  shared = false;
  /** Indices by map key, for dicts of many entries in which several keys were looked up. */
  private indices: Map<unknown, number> | undefined = undefined;
  private lookups = 0;

  constructor(hashes: unknown[], originals: Value[] | undefined) {
    this.hashes = hashes;
    this.originals = originals;
  }

  /** The index of a map key, -1 if it is not there. */
  indexOf(hash: unknown): number {
    const { hashes } = this;
    if (hashes.length > fewEntries && (this.indices !== undefined || ++this.lookups > 2)) {
      this.indices ??= new Map(hashes.map((one, index) => [one, index]));
      return this.indices.get(hash) ?? -1;
    }
    for (let index = 0; index < hashes.length; index++) if (hashes[index] === hash) return index;
    return -1;
  }

  push(key: Value, hash: unknown): void {
    if (hash !== key) this.originals ??= [...(this.hashes as Value[])];
    this.originals?.push(key);
    this.indices?.set(hash, this.hashes.length);
    this.hashes.push(hash);
  }

  delete(index: number): void {
    this.hashes.splice(index, 1);
    this.originals?.splice(index, 1);
    this.indices = undefined;
  }

  copy(): Keys {
    return new Keys(this.hashes.slice(), this.originals?.slice());
  }
}

/** A dict: keys by Python's equality, in the order of insertion. */
export class Dict {
  private keyList: Keys;
  private items: Value[];

  constructor(keys = new Keys([], undefined), items: Value[] = []) {
    this.keyList = keys;
    this.items = items;
  }

  static of(record: Readonly<Record<string, Value>>): Dict {
    return new Dict(new Keys(Object.keys(record), undefined), Object.values(record));
  }

  static from(pairs: Iterable<readonly [Value, Value]>): Dict {
    const dict = new Dict();
    for (const [key, value] of pairs) dict.set(key, value);
    return dict;
  }

  get size(): number {
    return this.items.length;
  }

  has(key: Value): boolean {
    return this.keyList.indexOf(typeof key === "string" ? key : hashKey(key)) >= 0;
  }

  get(key: Value): Value | undefined {
    return this.valueOf(typeof key === "string" ? key : hashKey(key));
  }

  /** The value of a key by its map key. Undefined if there is none. */
  valueOf(hash: unknown): Value | undefined {
    const index = this.keyList.indexOf(hash);
    return index < 0 ? undefined : this.items[index];
  }

  /** Keeps the first of several equal keys, as Python does. */
  set(key: Value, value: Value): void {
    const hash = typeof key === "string" ? key : hashKey(key);
    const index = this.keyList.indexOf(hash);
    if (index >= 0) {
      this.items[index] = value;
      return;
    }
    this.ownKeys().push(key, hash);
    this.items.push(value);
  }

  delete(key: Value): boolean {
    const index = this.keyList.indexOf(hashKey(key));
    if (index < 0) return false;
    this.ownKeys().delete(index);
    this.items.splice(index, 1);
    return true;
  }

  clear(): void {
    this.keyList = new Keys([], undefined);
    this.items = [];
  }

  /** The keys, for a change of them. */
  private ownKeys(): Keys {
    if (this.keyList.shared) this.keyList = this.keyList.copy();
    return this.keyList;
  }

  keyAt(index: number): Value {
    const { originals, hashes } = this.keyList;
    return present((originals ?? (hashes as Value[]))[index], "a key of a dict");
  }

  valueAt(index: number): Value {
    return present(this.items[index], "a value of a dict");
  }

  hashAt(index: number): unknown {
    return this.keyList.hashes[index];
  }

  keys(): Value[] {
    const { originals, hashes } = this.keyList;
    return (originals ?? (hashes as Value[])).slice();
  }

  values(): Value[] {
    return this.items.slice();
  }

  pairs(): [Value, Value][] {
    return this.items.map((value, index) => [this.keyAt(index), value]);
  }

  /** A shallow copy. */
  copy(): Dict {
    this.keyList.shared = true;
    return new Dict(this.keyList, this.items.slice());
  }

  /** Replaces each value by what a function makes of it. */
  replaceValues(replaced: (value: Value) => Value): void {
    this.items = this.items.map(replaced);
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
