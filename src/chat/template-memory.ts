import { Interpreter } from "@huggingface/jinja";

/** Expressions whose value is a new one. */
const creating = ["BinaryExpression", "FilterExpression", "CallExpression"];
/** Items of a list. A conversation has thousands of messages at most. */
const longestList = 100_000;
/** The runtime itself ends where a text eight times as long is searched and replaced. */
const longestText = 2 ** 24;
/** Characters, and eight for each item of a list, of what one rendering creates. Texts that are joined share their parts, and do not count. */
const maxCreated = 2 ** 29;

/** Characters of the rendering that runs. Others in the process may use the interpreter, too: theirs do not count. */
let created: number | undefined;

/**
 * Bounds what a chat template makes while it runs: one that doubles a list sixty times would fill the memory before any time is over. The
 * interpreter has no place for it, so that its `evaluate` is replaced, once.
 * @throws Error, from the work, beyond the bounds
 */
export function withinMemory<T>(work: () => T): T {
  created = 0;
  try {
    return work();
  } finally {
    created = undefined;
  }
}

/**
 * Counts a text that the rendering creates outside of the interpreter's own expressions.
 * @throws Error beyond the bound
 */
export function countCreated(size: number): void {
  if (created === undefined) return;
  created += size;
  if (created > maxCreated) throw new Error(`it makes more than ${maxCreated} characters`);
}

interface Statement {
  readonly type: string;
  /** True for a call that counts what it creates: mostly it gives back the text that it was given. */
  readonly counts?: boolean;
}

/** The package's own types of it do not resolve. */
type Evaluate = (this: unknown, statement: Statement | undefined, scope: unknown) => { readonly value: unknown };
const evaluate: Evaluate = Interpreter.prototype.evaluate;
const bounded: Evaluate = function (statement, scope) {
  const result = evaluate.call(this, statement, scope);
  if (created !== undefined && statement !== undefined && creating.includes(statement.type) && statement.counts !== true)
    countCreated(sizeOf(result.value, statement.type));
  return result;
};
Interpreter.prototype.evaluate = bounded;

/** Characters that an expression created. @throws Error if it is too long by itself */
function sizeOf(value: unknown, by: string): number {
  const isList = Array.isArray(value);
  if (!isList && typeof value !== "string") return 0;
  const [what, most] = isList ? ["a list", longestList] : ["a text", longestText];
  if (value.length > most) throw new Error(`${what} of length ${value.length}, more than ${most}`);
  if (isList) return 8 * value.length;
  return by === "BinaryExpression" ? 0 : value.length;
}
