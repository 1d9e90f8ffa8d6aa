import { hasLength } from "../../src/core/present.ts";
import { PyError, PyObject, typeError, typeName, type Value } from "./values.ts";

type Body = (positional: Value[], keywords: ReadonlyMap<string, Value>) => Value;

/** A function that is part of Python: a builtin, a method of a value, a function of a module. */
export class Builtin extends PyObject {
  readonly typeName: string = "builtin_function_or_method";
  readonly name: string;
  private readonly body: Body;

  constructor(name: string, body: Body) {
    super();
    this.name = name;
    this.body = body;
  }

  repr(): string {
    return `<built-in function ${this.name}>`;
  }

  override call(positional: Value[], keywords: Map<string, Value>): Value {
    return this.body(positional, keywords);
  }
}

/** A type that is called to convert a value. */
export class TypeObject extends Builtin {
  override readonly typeName = "type";

  override repr(): string {
    return `<class '${this.name}'>`;
  }
}

/** A module, with the few functions that are known of it. */
export class Module extends PyObject {
  readonly typeName = "module";
  private readonly name: string;
  private readonly members: Readonly<Record<string, Value>>;

  constructor(name: string, members: Readonly<Record<string, Value>>) {
    super();
    this.name = name;
    this.members = members;
  }

  repr(): string {
    return `<module '${this.name}'>`;
  }

  override attribute(name: string): Value | undefined {
    return Object.hasOwn(this.members, name) ? this.members[name] : undefined;
  }

  missing(name: string): PyError {
    return new PyError("AttributeError", `module '${this.name}' has no attribute '${name}'`);
  }
}

/** The parameters of a function of Python's own code. */
export interface Signature {
  /** The name in error sentences, with its class: "TicketAPI.get_ticket". */
  readonly name: string;
  readonly parameters: readonly { readonly name: string; readonly default?: () => Value }[];
  /** True if the first parameter is `self`, which counts in error sentences. */
  readonly method: boolean;
}

/**
 * Binds arguments to parameters in the order of CPython 3.11: wrong keywords, then too many positional arguments, then missing ones.
 * @throws PyError TypeError in CPython's words
 */
export function bind(
  { name, parameters, method }: Signature,
  positional: readonly Value[],
  keywords: Iterable<readonly [string, Value]>,
): Value[] {
  const bound: (Value | undefined)[] = positional.slice(0, parameters.length);
  for (const [keyword, value] of keywords) {
    const index = parameters.findLastIndex((parameter) => parameter.name === keyword);
    if (method && keyword === "self") throw typeError(`${name}() got multiple values for argument 'self'`);
    if (index < 0) throw typeError(`${name}() got an unexpected keyword argument '${keyword}'`);
    if (bound[index] !== undefined) throw typeError(`${name}() got multiple values for argument '${keyword}'`);
    bound[index] = value;
  }
  if (positional.length > parameters.length) throw tooMany(name, parameters, method, positional.length);
  return parameters.map(({ default: fallback }, i) => {
    const value = bound[i] === undefined ? fallback?.() : bound[i];
    if (value !== undefined) return value;
    throw tooFew(
      name,
      parameters.filter((parameter, index) => bound[index] === undefined && parameter.default === undefined),
    );
  });
}

function tooMany(name: string, parameters: Signature["parameters"], method: boolean, given: number): PyError {
  const self = method ? 1 : 0;
  const most = parameters.length + self;
  const least = parameters.filter((parameter) => parameter.default === undefined).length + self;
  const takes =
    least < most ? `from ${least} to ${most} positional arguments` : `${most} positional argument${most === 1 ? "" : "s"}`;
  return typeError(`${name}() takes ${takes} but ${given + self} ${given + self === 1 ? "was" : "were"} given`);
}

function tooFew(name: string, missing: Signature["parameters"]): PyError {
  const names = missing.map((parameter) => `'${parameter.name}'`);
  const last = names.at(-1);
  const list =
    names.length === 1 ? last : names.length === 2 ? names.join(" and ") : `${names.slice(0, -1).join(", ")}, and ${last}`;
  return typeError(`${name}() missing ${names.length} required positional argument${names.length === 1 ? "" : "s"}: ${list}`);
}

/** Calls a value. @throws PyError TypeError if it is none that can be called */
export function call(called: Value, positional: Value[], keywords: Map<string, Value>): Value {
  if (called instanceof PyObject) return called.call(positional, keywords);
  throw typeError(`'${typeName(called)}' object is not callable`);
}

/** An argument that a function needs. @throws PyError TypeError, with what CPython says without one */
export function needed(argument: Value | undefined, missing: string): Value {
  if (argument !== undefined) return argument;
  throw typeError(missing);
}

/** The argument of a function that takes one. @param name as CPython has it: with the type for methods */
export function only(name: string, positional: readonly Value[]): Value {
  if (hasLength(positional, 1)) return positional[0];
  throw typeError(`${name}() takes exactly one argument (${positional.length} given)`);
}

/** The arguments of a function that takes two. */
export function two(name: string, positional: readonly Value[]): readonly [Value, Value] {
  if (hasLength(positional, 2)) return positional;
  throw typeError(`${name} expected 2 arguments, got ${positional.length}`);
}

/** The first argument of a function that takes one or more. */
export function first(name: string, positional: readonly Value[]): Value {
  return needed(positional[0], `${name} expected at least 1 argument, got 0`);
}

/** The error of an attribute that a value does not have. */
export function attributeError(value: Value, name: string): PyError {
  return new PyError("AttributeError", `'${typeName(value)}' object has no attribute '${name}'`);
}

export function noKeywords(name: string, keywords: ReadonlyMap<string, Value>): void {
  if (keywords.size > 0) throw typeError(`${name}() takes no keyword arguments`);
}
