import { Interpreter } from "@huggingface/jinja";

/** Expressions whose value is a new one. */
const creating = ["BinaryExpression", "FilterExpression", "CallExpression"];
/** Items of a list. A conversation has thousands of messages at most. */
const longestList = 100_000;
/** The runtime itself ends where a text eight times as long is searched and replaced. */
const longestText = 2 ** 24;
/** Characters, and eight for each item of a list, of what one rendering creates. Texts that are joined share their parts, and do not count. */
const mostCreated = 2 ** 29;

let created = 0;

/**
 * Bounds what a chat template makes while it runs: one that doubles a list sixty times would fill the memory before any time is over. The
 * interpreter has no place for it, so that its `evaluate` is replaced, once.
 * @throws Error, from the work, beyond the bounds
 */
export function withinMemory<T>(work: () => T): T {
  created = 0;
  return work();
}

/** The package's own types of it do not resolve. */
type Evaluate = (this: unknown, statement: { readonly type: string } | undefined, scope: unknown) => { readonly value: unknown };
const evaluate: Evaluate = Interpreter.prototype.evaluate;
const bounded: Evaluate = function (statement, scope) {
  const result = evaluate.call(this, statement, scope);
  if (statement !== undefined && creating.includes(statement.type)) count(result.value, statement.type);
  return result;
};
Interpreter.prototype.evaluate = bounded;

function count(value: unknown, by: string): void {
  const isList = Array.isArray(value);
  if (!isList && typeof value !== "string") return;
  const [what, most] = isList ? ["a list", longestList] : ["a text", longestText];
  if (value.length > most) throw new Error(`${what} of length ${value.length}, more than ${most}`);
  if (isList || by !== "BinaryExpression") created += isList ? 8 * value.length : value.length;
  if (created > mostCreated) throw new Error(`it makes more than ${mostCreated} characters`);
}
