import { present } from "../../src/core/present.ts";
import type { Loop, Node } from "./nodes.ts";
import { repr } from "./text.ts";
import { syntaxError } from "./tokens.ts";

/** Ranks of expressions, the loosest first, as in CPython's `ast.py`. */
const rank = { tuple: 1, test: 3, or: 4, and: 5, not: 6, comparison: 7, operation: 8, factor: 14, power: 15, atom: 17 } as const;
const rankOfOperator: Readonly<Record<string, number>> = {
  "|": 8,
  "^": 9,
  "&": 10,
  "<<": 11,
  ">>": 11,
  "+": 12,
  "-": 12,
  "*": 13,
  "/": 13,
  "//": 13,
  "%": 13,
  "@": 13,
  "**": rank.power,
};

/**
 * Python's `ast.unparse` of an expression, as CPython 3.11 writes it.
 * @param least the rank below which the expression needs parentheses
 * @throws PyError for f-strings, whose text is not kept
 */
export function unparse(node: Node, least: number = rank.test): string {
  const within = (own: number, text: string) => (least > own ? `(${text})` : text);
  switch (node.type) {
    case "constant":
      // An infinite number has no literal but one that is too large.
      return typeof node.value === "number" ? repr(node.value).replace("inf", "1e309") : constantText(node);
    case "name":
      return node.name;
    case "attribute":
      return `${unparse(node.of, rank.atom)}${node.of.type === "constant" && typeof node.of.value === "bigint" ? " " : ""}.${node.name}`;
    case "call":
      return `${unparse(node.called, rank.atom)}(${callArguments(node)})`;
    case "subscript":
      return `${unparse(node.of, rank.atom)}[${node.key.type === "tuple" ? listed(node.key.items) : unparse(node.key)}]`;
    case "slice": {
      const bound = (one: Node | undefined) => (one === undefined ? "" : unparse(one));
      return `${bound(node.from)}:${bound(node.to)}${node.step === undefined ? "" : `:${unparse(node.step)}`}`;
    }
    case "list":
      return `[${node.items.map((item) => unparse(item)).join(", ")}]`;
    case "set":
      return `{${node.items.map((item) => unparse(item)).join(", ")}}`;
    case "tuple":
      return `(${listed(node.items)})`;
    case "dict":
      return `{${node.items.map(([key, value]) => (key === undefined ? `**${unparse(value, rank.operation)}` : `${unparse(key)}: ${unparse(value)}`)).join(", ")}}`;
    case "starred":
      return `*${unparse(node.value, rank.operation)}`;
    case "unary": {
      const own = node.operator === "not" ? rank.not : rank.factor;
      return within(own, `${node.operator}${node.operator === "not" ? " " : ""}${unparse(node.operand, own)}`);
    }
    case "binary": {
      const own = present(rankOfOperator[node.operator], "the rank of an operator");
      const [left, right] = node.operator === "**" ? [own + 1, own] : [own, own + 1];
      return within(own, `${unparse(node.left, left)} ${node.operator} ${unparse(node.right, right)}`);
    }
    case "both":
    case "either": {
      const [own, word] = node.type === "both" ? [rank.and, "and"] : [rank.or, "or"];
      return within(own, `${unparse(node.left, own)} ${word} ${unparse(node.right, own + 1)}`);
    }
    case "comparison": {
      const rest = node.rest.map(([operator, right]) => ` ${operator} ${unparse(right, rank.operation)}`).join("");
      return within(rank.comparison, unparse(node.first, rank.operation) + rest);
    }
    case "choice":
      return within(rank.test, `${unparse(node.yes, rank.or)} if ${unparse(node.test, rank.or)} else ${unparse(node.no)}`);
    case "lambda":
      return within(
        rank.test,
        `lambda${node.parameters.length > 0 ? " " : ""}${node.parameters.join(", ")}: ${unparse(node.body)}`,
      );
    case "comprehension": {
      const item = node.value === undefined ? unparse(node.item) : `${unparse(node.item)}: ${unparse(node.value)}`;
      const [open, close] = { list: "[]", set: "{}", dict: "{}", generator: "()" }[node.of];
      return `${open}${item}${node.loops.map(loopText).join("")}${close}`;
    }
    case "await":
    case "format":
      throw syntaxError("neither an f-string nor an await is written back");
  }
}

function constantText({ value }: Extract<Node, { type: "constant" }>): string {
  const text = repr(value);
  return text === "Ellipsis" ? "..." : text;
}

function listed(items: readonly Node[]): string {
  return items.map((item) => unparse(item)).join(", ") + (items.length === 1 ? "," : "");
}

function callArguments({ positional, keywords }: Extract<Node, { type: "call" }>): string {
  const named = keywords.map(({ name, value }) => (name === undefined ? `**${unparse(value)}` : `${name}=${unparse(value)}`));
  return [...positional.map((value) => unparse(value)), ...named].join(", ");
}

function loopText({ target, over, conditions }: Loop): string {
  const tests = conditions.map((condition) => ` if ${unparse(condition, rank.or)}`).join("");
  return ` for ${target.type === "tuple" ? listed(target.items) : unparse(target)} in ${unparse(over, rank.or)}${tests}`;
}
