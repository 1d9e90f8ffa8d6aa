import type { ToolCall } from "../../src/core/messages.ts";
import { evaluate } from "../python/evaluate.ts";
import { parseJson } from "../python/json.ts";
import type { Node } from "../python/nodes.ts";
import { negate } from "../python/numbers.ts";
import { ellipsis } from "../python/objects.ts";
import { parseTree } from "../python/syntax.ts";
import { repr, str } from "../python/text.ts";
import { unparse } from "../python/unparse.ts";
import { Dict, PyError, Tuple, type Value } from "../python/values.ts";

/**
 * The text that is executed for a native call: `name(key=value, …)` with Python's repr of the values, read from the arguments as the model
 * wrote them.
 * @throws an error if the arguments are no JSON object
 */
export function callText({ name, arguments: given, argumentsText }: ToolCall): string {
  const values = parseJson(argumentsText ?? JSON.stringify(given));
  if (!(values instanceof Dict)) throw new Error("the arguments are no JSON object");
  const list = values.pairs().map(([key, value]) => `${String(key)}=${repr(value)}`);
  return `${name}(${list.join(",")})`;
}

/**
 * The calls of an answer in Python's text: `[first(a=1), second()]`, with or without the brackets, in backticks or not. Follows
 * `default_decode_execute_prompting` of bfcl-eval, peculiarities included.
 * @returns undefined if it is no list of calls: then the answer ends the turn
 */
export function decodePythonCalls(answer: string): string[] | undefined {
  let text = answer.replace(/^[`\n ]+|[`\n ]+$/g, "");
  if (!text.startsWith("[")) text = `[${text}`;
  if (!text.endsWith("]")) text = `${text}]`;
  try {
    const node = parseTree(text.trim().replace(/^'+|'+$/g, ""));
    const several = node.type === "list" || node.type === "tuple" || node.type === "set";
    const items = node.type === "call" ? [node] : several ? node.items : undefined;
    return items?.map((item) => {
      if (item.type !== "call") throw new Undecodable();
      const { name, values } = decodedCall(item);
      return callOf(name, values);
    });
  } catch (error) {
    if (error instanceof PyError || error instanceof Undecodable || error instanceof RangeError) return undefined;
    throw error;
  }
}

class Undecodable extends Error {}

/** A call with its keyword arguments, the last of equal names. Positional ones are dropped, as the official decoder drops them. */
function decodedCall({ called, keywords }: Extract<Node, { type: "call" }>): { name: string; values: Dict } {
  const values = new Dict();
  for (const { name, value } of keywords) values.set(name ?? null, decoded(value));
  return { name: dottedName(called), values };
}

function dottedName(node: Node): string {
  if (node.type === "name") return node.name;
  if (node.type === "attribute") return [dottedName(node.of), node.name].filter((part) => part !== "").join(".");
  return "";
}

function callOf(name: string, values: Dict): string {
  return `${name}(${values
    .pairs()
    .map(([key, value]) => `${str(key)}=${argumentText(value)}`)
    .join(", ")})`;
}

/** The official decoder keeps a nested call as a dict of dicts, and takes every dict of dicts for one. */
function argumentText(value: Value): string {
  if (!(value instanceof Dict)) return repr(value);
  const items = value.pairs();
  const [first] = items;
  if (items.some(([, item]) => !(item instanceof Dict)))
    return `{${items.map(([key, item]) => `'${str(key)}': ${argumentText(item)}`).join(", ")}}`;
  if (first === undefined) throw new Undecodable();
  const [name, values] = first;
  return callOf(str(name), values as Dict);
}

/** The value of an argument. A bare word counts as a text, and so does what is computed. */
function decoded(node: Node): Value {
  switch (node.type) {
    case "constant":
      return node.value === ellipsis ? "..." : node.value;
    case "name":
      return node.name;
    case "list":
      return node.items.map(decoded);
    case "tuple":
      return new Tuple(node.items.map(decoded));
    case "dict":
      return Dict.from(
        node.items.map(([key, value]) => {
          if (key === undefined) throw new Undecodable();
          return [decoded(key), decoded(value)];
        }),
      );
    case "unary":
      // Every unary operator counts as a minus.
      if (node.operand.type !== "constant") throw new Undecodable();
      return negate(node.operand.value);
    case "binary":
      return evaluate(node, () => undefined);
    case "call": {
      if (node.keywords.length === 0) return unparse(node);
      const { name, values } = decodedCall(node);
      return Dict.from([[name, values]]);
    }
    case "subscript":
      return `${unparse(node.of)}[${unparse(node.key)}]`;
    default:
      throw new Undecodable();
  }
}
