import type { ToolCall } from "../../core/messages.ts";
import { evaluate } from "./python/evaluate.ts";
import { parseJson } from "./python/json.ts";
import { type Node, parseExpression } from "./python/syntax.ts";
import { repr } from "./python/text.ts";
import { Dict, PyError, Tuple, type Value } from "./python/values.ts";

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
 * The calls of an answer in Python's text: `[first(a=1), second()]`, with or without the brackets, in backticks or not.
 * @returns undefined if it is no list of calls: then the answer ends the turn
 */
export function decodePythonCalls(answer: string): string[] | undefined {
  let text = answer.replace(/^[`\n ]+|[`\n ]+$/g, "");
  if (!text.startsWith("[")) text = `[${text}`;
  if (!text.endsWith("]")) text = `${text}]`;
  try {
    const node = parseExpression(text.trim().replace(/^'+|'+$/g, ""));
    const items = node.type === "call" ? [node] : node.type === "list" || node.type === "tuple" ? node.items : undefined;
    return items?.map(decodedCall);
  } catch (error) {
    if (error instanceof PyError || error instanceof Undecodable || error instanceof RangeError) return undefined;
    throw error;
  }
}

class Undecodable extends Error {}

/** A call with its keyword arguments. Positional ones are dropped, as the official decoder drops them. */
function decodedCall(node: Node): string {
  if (node.type !== "call") throw new Undecodable();
  const list = node.keywords.map(({ name, value }) => `${name ?? "None"}=${argumentText(value)}`);
  return `${dottedName(node.called)}(${list.join(", ")})`;
}

function dottedName(node: Node): string {
  if (node.type === "name") return node.name;
  if (node.type === "attribute") return [dottedName(node.of), node.name].filter((part) => part !== "").join(".");
  return "";
}

function argumentText(node: Node): string {
  return node.type === "call" && node.keywords.length > 0 ? decodedCall(node) : repr(literal(node));
}

/** The value of an argument. A bare word counts as a text. */
function literal(node: Node): Value {
  switch (node.type) {
    case "name":
      return node.name;
    case "list":
      return node.items.map(literal);
    case "tuple":
      return new Tuple(node.items.map(literal));
    case "dict":
      return Dict.from(
        node.items.map(([key, value]) => {
          if (key === undefined) throw new Undecodable();
          return [literal(key), literal(value)];
        }),
      );
    case "call":
      return `${dottedName(node.called)}()`;
    case "constant":
    case "unary":
    case "binary":
      return evaluate(node, () => undefined);
    default:
      throw new Undecodable();
  }
}
