import { present } from "../../src/core/present.ts";
import { arithmetic, builtins } from "./builtins.ts";
import { formatValue } from "./format.ts";
import { bind, call } from "./functions.ts";
import { getAttribute } from "./methods.ts";
import type { Keyword, Loop, Node } from "./nodes.ts";
import { add, negate } from "./numbers.ts";
import { Bytes } from "./objects.ts";
import { compare, contains, equal, getItem, iterate, length, truth } from "./operators.ts";
import { repr, str } from "./text.ts";
import { Dict, isInt, isNumber, PyError, PyObject, PySet, Tuple, typeError, typeName, type Value, valueError } from "./values.ts";

/** Finds the value of a name. Undefined if there is none. */
export type Names = (name: string) => Value | undefined;

/** Evaluates an expression, as Python's `eval`. @throws PyError with Python's sentence */
export function evaluate(node: Node, names: Names): Value {
  switch (node.type) {
    case "constant":
      return node.value;
    case "name": {
      const own = names(node.name);
      const value = own === undefined ? builtins.get(node.name) : own;
      if (value === undefined) throw new PyError("NameError", `name '${node.name}' is not defined`);
      return value;
    }
    case "call":
      return evaluateCall(node, names);
    case "attribute":
      return getAttribute(evaluate(node.of, names), node.name);
    case "list":
      return evaluateItems(node.items, names);
    case "tuple":
      return new Tuple(evaluateItems(node.items, names));
    case "set":
      return new PySet(evaluateItems(node.items, names));
    case "dict":
      return evaluateDict(node.items, names);
    case "unary":
      return unary(node.operator, evaluate(node.operand, names));
    case "binary":
      return binary(node.operator, evaluate(node.left, names), evaluate(node.right, names));
    case "comparison":
      return comparison(node.first, node.rest, names);
    case "both": {
      const left = evaluate(node.left, names);
      return truth(left) ? evaluate(node.right, names) : left;
    }
    case "either": {
      const left = evaluate(node.left, names);
      return truth(left) ? left : evaluate(node.right, names);
    }
    case "choice":
      return evaluate(truth(evaluate(node.test, names)) ? node.yes : node.no, names);
    case "subscript":
      return node.key.type === "slice"
        ? slice(evaluate(node.of, names), node.key, names)
        : getItem(evaluate(node.of, names), evaluate(node.key, names));
    case "lambda":
      return new Lambda(node.parameters, node.body, names);
    case "await":
      throw new PyError("SyntaxError", "'await' outside function (<string>, line 1)");
    case "comprehension":
      return comprehension(node, names);
    case "format":
      return node.parts
        .map((part) => {
          if (typeof part === "string") return part;
          const value = evaluate(part.value, names);
          const plain = part.shown !== "" && part.conversion === "" && part.format === "";
          const converted = part.conversion === "r" || plain ? repr(value) : part.conversion === "s" ? str(value) : value;
          return part.shown + formatValue(converted, part.format);
        })
        .join("");
    case "starred":
    case "slice":
      throw new PyError("SyntaxError", "invalid syntax (<string>, line 1)");
  }
}

function evaluateItems(items: readonly Node[], names: Names): Value[] {
  const values: Value[] = [];
  for (const item of items) {
    if (item.type !== "starred") values.push(evaluate(item, names));
    else {
      const more = evaluate(item.value, names);
      try {
        values.push(...iterate(more));
      } catch {
        throw typeError(`Value after * must be an iterable, not ${typeName(more)}`);
      }
    }
  }
  return values;
}

function evaluateDict(items: readonly (readonly [Node | undefined, Node])[], names: Names): Dict {
  const dict = new Dict();
  for (const [key, node] of items) {
    if (key !== undefined) {
      const hashed = evaluate(key, names);
      dict.set(hashed, evaluate(node, names));
      continue;
    }
    const more = evaluate(node, names);
    if (!(more instanceof Dict)) throw typeError(`'${typeName(more)}' object is not a mapping`);
    for (const [name, value] of more.pairs()) dict.set(name, value);
  }
  return dict;
}

function evaluateCall(node: Extract<Node, { type: "call" }>, names: Names): Value {
  const called = evaluate(node.called, names);
  const positional: Value[] = [];
  for (const argument of node.positional) {
    if (argument.type !== "starred") positional.push(evaluate(argument, names));
    else {
      const more = evaluate(argument.value, names);
      try {
        positional.push(...iterate(more));
      } catch {
        throw typeError(`${qualifiedName(called)} argument after * must be an iterable, not ${typeName(more)}`);
      }
    }
  }
  const keywords = new Map<string, Value>();
  for (const keyword of node.keywords) addKeyword(called, keyword, keywords, names);
  return call(called, positional, keywords);
}

function addKeyword(called: Value, { name, value: node }: Keyword, keywords: Map<string, Value>, names: Names): void {
  const value = evaluate(node, names);
  if (name !== undefined) {
    keywords.set(name, value);
    return;
  }
  if (!(value instanceof Dict))
    throw typeError(`${qualifiedName(called)} argument after ** must be a mapping, not ${typeName(value)}`);
  for (const [key, item] of value.pairs()) {
    if (typeof key !== "string") throw typeError("keywords must be strings");
    if (keywords.has(key)) throw typeError(`${qualifiedName(called)} got multiple values for keyword argument '${key}'`);
    keywords.set(key, item);
  }
}

/** The name of a function in sentences about its arguments. */
function qualifiedName(called: Value): string {
  return called instanceof PyObject && "qualifiedName" in called ? `${called.qualifiedName}()` : "function";
}

function unary(operator: string, value: Value): Value {
  if (operator === "not") return !truth(value);
  if (operator === "-") return negate(value);
  if (operator === "+" && isNumber(value)) return typeof value === "boolean" ? BigInt(value) : value;
  if (operator === "~" && isInt(value)) return -BigInt(value) - 1n;
  throw typeError(`bad operand type for unary ${operator}: '${typeName(value)}'`);
}

function binary(operator: string, a: Value, b: Value): Value {
  if (operator === "+") return add(a, b);
  const operation = arithmetic[operator];
  if (operation !== undefined) return operation(a, b);
  if (isInt(a) && isInt(b)) return bitwise(operator, a, b);
  if (a instanceof PySet && b instanceof PySet) {
    if (operator === "&") return new PySet(a.items().filter((item) => b.has(item)));
    if (operator === "|") return new PySet([...a.items(), ...b.items()]);
    if (operator === "^")
      return new PySet([...a.items().filter((item) => !b.has(item)), ...b.items().filter((item) => !a.has(item))]);
  }
  if (operator === "|" && a instanceof Dict && b instanceof Dict) return Dict.from([...a.pairs(), ...b.pairs()]);
  throw typeError(`unsupported operand type(s) for ${operator}: '${typeName(a)}' and '${typeName(b)}'`);
}

function bitwise(operator: string, a: boolean | bigint, b: boolean | bigint): Value {
  const left = BigInt(a);
  const right = BigInt(b);
  const bools = typeof a === "boolean" && typeof b === "boolean";
  const result = (value: bigint) => (bools ? value !== 0n : value);
  switch (operator) {
    case "&":
      return result(left & right);
    case "|":
      return result(left | right);
    case "^":
      return result(left ^ right);
    case "<<":
    case ">>":
      if (right < 0n) throw valueError("negative shift count");
      if (operator === "<<" && right > 100_000n) throw new PyError("MemoryError", "");
      return operator === "<<" ? left << right : left >> right;
    default:
      throw typeError(`unsupported operand type(s) for ${operator}: '${typeName(a)}' and '${typeName(b)}'`);
  }
}

function comparison(first: Node, rest: readonly (readonly [string, Node])[], names: Names): Value {
  let left = evaluate(first, names);
  for (const [operator, node] of rest) {
    const right = evaluate(node, names);
    if (!holds(left, operator, right)) return false;
    left = right;
  }
  return true;
}

function holds(a: Value, operator: string, b: Value): boolean {
  switch (operator) {
    case "==":
      return equal(a, b);
    case "!=":
      return !equal(a, b);
    case "in":
      return contains(b, a);
    case "not in":
      return !contains(b, a);
    case "is":
      return a === b;
    case "is not":
      return a !== b;
    case "<":
    case "<=":
    case ">":
    case ">=":
      return compare(a, operator, b);
    default:
      throw new PyError("SyntaxError", "invalid syntax (<string>, line 1)");
  }
}

function slice(value: Value, { from, to, step }: Extract<Node, { type: "slice" }>, names: Names): Value {
  const bound = (node: Node | undefined) => (node === undefined ? null : evaluate(node, names));
  const bounds = [bound(from), bound(to), bound(step)] as const;
  if (value instanceof Bytes) return new Bytes(sliceItems([...value.characters], ...bounds).join(""));
  if (!(typeof value === "string" || Array.isArray(value) || value instanceof Tuple)) {
    if (value instanceof Dict) throw typeError("unhashable type: 'slice'");
    throw typeError(`'${typeName(value)}' object is not subscriptable`);
  }
  const items = typeof value === "string" ? [...value] : value instanceof Tuple ? value.items : value;
  const taken = sliceItems(items, ...bounds);
  if (typeof value === "string") return taken.join("");
  return value instanceof Tuple ? new Tuple(taken) : taken;
}

/** Python's `items[from:to:step]`. */
export function sliceItems(items: readonly Value[], from: Value, to: Value, step: Value): Value[] {
  for (const bound of [from, to, step])
    if (bound !== null && !isInt(bound)) throw typeError("slice indices must be integers or None or have an __index__ method");
  const stride = step === null ? 1 : Number(step);
  if (stride === 0) throw valueError("slice step cannot be zero");
  const count = items.length;
  const clamp = (bound: Value, fallback: number) => {
    if (bound === null) return fallback;
    const index = Number(bound) < 0 ? count + Number(bound) : Number(bound);
    return stride > 0 ? Math.min(Math.max(index, 0), count) : Math.min(Math.max(index, -1), count - 1);
  };
  const start = clamp(from, stride > 0 ? 0 : count - 1);
  const end = clamp(to, stride > 0 ? count : -1);
  const between = stride > 0 ? items.slice(start, end) : items.slice(end + 1, start + 1).reverse();
  return between.filter((_, i) => i % stride === 0);
}

class Lambda extends PyObject {
  readonly typeName = "function";
  readonly qualifiedName = "<lambda>";
  private readonly parameters: readonly string[];
  private readonly body: Node;
  private readonly names: Names;

  constructor(parameters: readonly string[], body: Node, names: Names) {
    super();
    this.parameters = parameters;
    this.body = body;
    this.names = names;
  }

  repr(): string {
    return "<function <lambda>>";
  }

  override call(positional: Value[], keywords: Map<string, Value>): Value {
    const parameters = this.parameters.map((name) => ({ name }));
    const bound = bind({ name: this.qualifiedName, parameters, method: false }, positional, keywords);
    const local = new Map(this.parameters.map((name, i) => [name, bound[i]]));
    return evaluate(this.body, (name) => (local.has(name) ? local.get(name) : this.names(name)));
  }
}

function comprehension(node: Extract<Node, { type: "comprehension" }>, names: Names): Value {
  const results: [Value, Value][] = [];
  const run = (loops: readonly Loop[], scope: Names) => {
    const [loop, ...inner] = loops;
    if (loop === undefined) {
      results.push([evaluate(node.item, scope), node.value === undefined ? null : evaluate(node.value, scope)]);
      return;
    }
    for (const item of iterate(evaluate(loop.over, scope))) {
      const local = new Map<string, Value>();
      assign(loop.target, item, local);
      const within: Names = (name) => (local.has(name) ? local.get(name) : scope(name));
      if (loop.conditions.every((condition) => truth(evaluate(condition, within)))) run(inner, within);
    }
  };
  run(node.loops, names);
  if (node.of === "dict") return Dict.from(results);
  const items = results.map(([item]) => item);
  if (node.of === "generator") return new Generator(items);
  return node.of === "set" ? new PySet(items) : items;
}

/** A generator: its items are given once. They are computed when it is made, not one by one as Python does. */
class Generator extends PyObject {
  readonly typeName = "generator";
  private items: readonly Value[];

  constructor(items: readonly Value[]) {
    super();
    this.items = items;
  }

  repr(): string {
    return "<generator object <genexpr>>";
  }

  override attribute(name: string): Value | undefined {
    if (name !== "__iter__") return undefined;
    const { items } = this;
    this.items = [];
    return [...items];
  }
}

function assign(target: Node, value: Value, names: Map<string, Value>): void {
  if (target.type === "name") names.set(target.name, value);
  else if (target.type === "tuple" || target.type === "list") {
    const items = iterate(value);
    if (items.length > target.items.length) throw valueError(`too many values to unpack (expected ${target.items.length})`);
    if (items.length < target.items.length)
      throw valueError(`not enough values to unpack (expected ${target.items.length}, got ${length(value)})`);
    for (const [i, item] of target.items.entries()) assign(item, present(items[i], "an item to unpack"), names);
  }
}
