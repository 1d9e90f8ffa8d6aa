import { evaluate } from "../python/evaluate.ts";
import { equal } from "../python/operators.ts";
import { parseExpression } from "../python/syntax.ts";
import { Dict, type Value } from "../python/values.ts";
import type { FunctionDocument } from "./documents.ts";

/** A call as its name and its arguments by their names. */
export interface ReadCall {
  readonly name: string;
  readonly arguments: Dict;
}

/**
 * Reads a call of a function with arguments that are values, `name(1, key=2)`.
 * @param parametersOf names of a function's parameters in their order, for arguments without a name
 * @throws an error if the text is anything else
 */
export function readCall(text: string, parametersOf: (name: string) => readonly Value[]): ReadCall {
  const node = parseExpression(text);
  if (node.type !== "call" || node.called.type !== "name") throw new Error(`${text} is no call of a function by its name`);
  const { name } = node.called;
  const names = parametersOf(name);
  const values = new Dict();
  const noNames = () => undefined;
  for (const [i, value] of node.positional.entries()) values.set(names[i] ?? null, evaluate(value, noNames));
  for (const { name: key, value } of node.keywords) values.set(key ?? null, evaluate(value, noNames));
  return { name, arguments: values };
}

/**
 * The share of the published answer's calls that a model made in the same turn, in any order: same name, equal arguments. Each of
 * its calls counts for one. Stricter than the verdict, which takes any calls with the same effects.
 * @param turns calls of each turn, as texts
 */
export function rightCalls(
  groundTruth: readonly (readonly string[])[],
  turns: readonly (readonly string[])[],
  documents: readonly FunctionDocument[],
): number {
  const parametersOf = (name: string) => {
    const properties = documents.find((each) => each.name === name)?.parameters.get("properties");
    return properties instanceof Dict ? properties.pairs().map(([key]) => key) : [];
  };
  const attempt = (text: string): ReadCall[] => {
    try {
      return [readCall(text, parametersOf)];
    } catch {
      return []; // what a model writes may be no call
    }
  };
  const total = groundTruth.flat().length;
  const right = groundTruth.map((wanted, turn) => {
    const made = (turns[turn] ?? []).flatMap(attempt);
    return wanted.filter((text) => {
      const call = readCall(text, parametersOf);
      const index = made.findIndex((each) => each.name === call.name && equal(each.arguments, call.arguments));
      if (index !== -1) made.splice(index, 1);
      return index !== -1;
    }).length;
  });
  return right.reduce((sum, count) => sum + count, 0) / total;
}
