import { Interpreter } from "@huggingface/jinja";

interface Node {
  readonly type: string;
  readonly value?: unknown;
  // of a filter with arguments
  readonly callee?: Node;
  // of a test
  readonly operand?: Node;
  readonly test?: Node;
  readonly negate?: boolean;
}

interface Scope {
  readonly variables: Map<string, unknown>;
}

interface Value {
  readonly type: string;
  // of an object
  keys?(): Value;
}

/** The parts of the interpreter that are replaced. The package's own types of them do not resolve. */
interface Evaluating {
  evaluate(node: Node | undefined, scope: Scope): Value;
  evaluateBlock(nodes: readonly Node[], scope: Scope): Value;
  applyFilter(operand: Value, filter: Node, scope: Scope): Value;
}

/** Filters that take an undefined value as an empty list. */
const ofUndefined = ["length", "count", "list", "items", "join", "sort", "unique", "reverse", "first", "last", "min", "max"];
/** Filters that take None so too. */
const ofNothing = ["map", "selectattr", "rejectattr"];
/** Filters that the interpreter lacks, by those that it has. */
const composed: Readonly<Record<string, readonly string[]>> = {
  count: ["length"],
  min: ["sort", "first"],
  max: ["sort", "last"],
};

/** An iteration that ends early, and what it has rendered up to there. */
class EarlyEnd extends Error {
  text = "";
  readonly by: string;
  constructor(by: string) {
    super(by);
    this.by = by;
  }
}

/** Scopes of loops that a `break` has ended. */
const ended = new WeakSet<Scope>();

/**
 * The source of a template, in which the tags of `{% generation %}` keep their place among white space: the interpreter removes them first,
 * and then what is stripped on one side of them reaches the other.
 */
export function withGenerationTags(source: string): string {
  return source
    .replace(/\{%([-+]?)\s*generation\s*([-+]?)%\}/g, "{%$1 if true $2%}")
    .replace(/\{%([-+]?)\s*endgeneration\s*([-+]?)%\}/g, "{%$1 endif $2%}");
}

/**
 * Changes a parsed template so that its loops run as Python's Jinja runs them. The interpreter loses the text of an iteration before its
 * `continue` or `break`, such as the system message of EXAONE's templates. It keeps what an iteration sets for the next one, such as an
 * earlier thought in GLM's. And it throws at lists that are undefined.
 */
export function loopAsPython(node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  for (const child of node instanceof Map ? [...node].flat() : Object.values(node)) loopAsPython(child);
  if ("type" in node && (node.type === "Break" || node.type === "Continue"))
    Object.assign(node, { type: "EarlyEnd", value: node.type });
  if (!("body" in node && "iterable" in node)) return;
  const iterable = node.iterable as Node & { readonly lhs?: Node };
  const list = (value: unknown) => ({ type: "Iterable", value });
  node.body = [{ type: "Iteration", value: node.body }];
  node.iterable = iterable.type === "SelectExpression" ? { ...iterable, lhs: list(iterable.lhs) } : list(iterable);
}

const original = { ...methodsOf(Interpreter.prototype as Evaluating) };

function methodsOf({ evaluate, evaluateBlock, applyFilter }: Evaluating): Evaluating {
  return { evaluate, evaluateBlock, applyFilter };
}

const replaced: Evaluating & ThisType<Evaluating> = {
  evaluate(node, scope) {
    if (node?.type === "EarlyEnd") throw new EarlyEnd(String(node.value));
    if (node?.type === "Iteration") return iteration(this, node.value as readonly Node[], scope);
    if (node?.type === "Iterable") {
      const value = this.evaluate(node.value as Node, scope);
      return value.type === "UndefinedValue" ? emptyList(this, scope) : value;
    }
    // Python iterates over an undefined value: a test of templates for lists of types.
    if (
      node?.type === "TestExpression" &&
      node.test?.value === "iterable" &&
      this.evaluate(node.operand, scope).type === "UndefinedValue"
    )
      return this.evaluate({ type: "Identifier", value: node.negate === true ? "false" : "true" }, scope);
    try {
      return original.evaluate.call(this, node, scope);
    } catch (error) {
      // In Python a value without such a member gives an undefined one, whatever was asked for.
      if (node?.type !== "MemberExpression" || !String(error).includes("Cannot access property with non-string")) throw error;
      return this.evaluate(undefined, scope);
    }
  },
  evaluateBlock(nodes, scope) {
    let text = "";
    try {
      for (const node of nodes) {
        const value = this.evaluate(node, scope);
        if (value.type !== "UndefinedValue" && value.type !== "NullValue") text += String(value);
      }
    } catch (error) {
      if (error instanceof EarlyEnd) error.text = text + error.text;
      throw error;
    }
    return textValue(this, text, scope);
  },
  applyFilter(operand, filter, scope) {
    const name = String((filter.callee ?? filter).value);
    const isUndefined = operand.type === "UndefinedValue";
    const isEmpty = isUndefined && ofUndefined.includes(name);
    if (isEmpty || ((isUndefined || operand.type === "NullValue") && ofNothing.includes(name))) operand = emptyList(this, scope);
    if (name === "items" && isEmpty) return operand;
    if (name === "list" && operand.keys !== undefined) return operand.keys();
    const steps = (composed[name] ?? []).map((value) => ({ type: "Identifier", value }));
    return (steps.length === 0 ? [filter] : steps).reduce(
      (value, step) => original.applyFilter.call(this, value, step, scope) ?? this.evaluate(undefined, scope),
      operand,
    );
  },
};
Object.assign(Interpreter.prototype, replaced);

const emptyList = (self: Evaluating, scope: Scope) => self.evaluate({ type: "ArrayLiteral", value: [] }, scope);
const textValue = (self: Evaluating, value: string, scope: Scope) => self.evaluate({ type: "StringLiteral", value }, scope);

/**
 * The interpreter's loop keeps the text of an iteration that returns, so that what ends the loop is thrown in the next one. It has one
 * scope for all iterations: what one sets is removed behind it.
 */
function iteration(self: Evaluating, nodes: readonly Node[], scope: Scope): Value {
  if (ended.has(scope)) return original.evaluate.call(self, { type: "Break" }, scope);
  const given = new Set(scope.variables.keys());
  try {
    return self.evaluateBlock(nodes, scope);
  } catch (error) {
    if (!(error instanceof EarlyEnd)) throw error;
    if (error.by === "Break") ended.add(scope);
    return textValue(self, error.text, scope);
  } finally {
    for (const name of scope.variables.keys()) if (!given.has(name)) scope.variables.delete(name);
  }
}
