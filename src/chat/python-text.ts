import { countCreated } from "./template-memory.ts";

type Node = Readonly<Record<string, unknown>> & { readonly type: string };

/** A value of the interpreter. Its null has no value either. */
interface RuntimeValue {
  readonly type: string;
  readonly value: unknown;
}

/** Statements whose value is not printed, and text, which needs no conversion. */
const silent = ["Set", "If", "For", "Macro", "CallStatement", "FilterStatement", "Break", "Continue", "Comment", "StringLiteral"];
const blocks = ["body", "alternate", "defaultBlock"];
/** Filters that Jinja applies to the text of any value. */
const textFilters: Readonly<Record<string, (text: string) => string>> = {
  string: (text) => text,
  trim: (text) => text.trim(),
  upper: (text) => text.toUpperCase(),
  lower: (text) => text.toLowerCase(),
};

/** The functions that `printAsPython` calls, as variables of the template. */
export const pythonFunctions = {
  "python str": ([value]: readonly [RuntimeValue]) => pythonString(value),
  "python map": (items: readonly RuntimeValue[] | null | undefined, filter: string) =>
    (items ?? []).map((item) => textFilters[filter]?.(pythonString(item))),
};

/**
 * Changes a parsed template so that values are printed as Python's Jinja prints them: `None`, `True`, `['a', 1]`. The interpreter
 * prints null as nothing and the others as JSON, and its filters for text throw at most of them. Values are converted where the
 * template prints them, joins them with `~`, or applies a filter for text.
 */
export function printAsPython(node: unknown): void {
  if (Array.isArray(node) || node instanceof Map) {
    for (const inner of node) printAsPython(inner);
    return;
  }
  if (typeof node !== "object" || node === null) return;
  const parts = node as Record<string, unknown>;
  for (const inner of Object.values(parts)) printAsPython(inner);
  for (const name of blocks) {
    const block = parts[name];
    if (Array.isArray(block)) parts[name] = block.map((item: Node) => (silent.includes(item.type) ? item : textOf(item)));
  }
  if (parts.type === "BinaryExpression" && (parts.operator as Node).value === "~") {
    parts.left = textOf(parts.left);
    parts.right = textOf(parts.right);
  }
  if (parts.type === "FilterExpression") convertFilter(parts);
}

function convertFilter(expression: Record<string, unknown>): void {
  const filter = expression.filter as Node;
  if (filter.type === "Identifier" && isTextFilter(filter)) expression.operand = textOf(expression.operand);
  if (filter.type !== "CallExpression" || (filter.callee as Node).value !== "map") return;
  const [name] = filter.args as Node[];
  if (name?.type === "StringLiteral" && isTextFilter(name))
    Object.assign(expression, call("python map", expression.operand, name));
}

function isTextFilter({ value }: Node): boolean {
  return typeof value === "string" && Object.hasOwn(textFilters, value);
}

/** The value is given inside of a list: functions of a template get bare values, whose types are lost, but the items of lists keep them. */
function textOf(value: unknown): Node {
  return { ...call("python str", { type: "ArrayLiteral", value: [value] }), counts: true };
}

function call(name: keyof typeof pythonFunctions, ...args: unknown[]): Node {
  return { type: "CallExpression", callee: { type: "Identifier", value: name }, args };
}

/** A value as Python's `str` has it. What is undefined is empty, as Jinja prints it. */
function pythonString(item: RuntimeValue): string {
  if (item.type === "UndefinedValue") return "";
  if (typeof item.value === "string") return item.value;
  const text = pythonLiteral(item);
  countCreated(text.length);
  return text;
}

/** A value as Python's `repr` has it. */
function pythonLiteral(item: RuntimeValue): string {
  const { type, value } = item;
  if (type === "NullValue") return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (!(value instanceof Map)) return String(item);
  return `{${[...value].map(([key, inner]) => `${quoted(key)}: ${pythonLiteral(inner)}`).join(", ")}}`;
}

const escapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };
/** The characters that Python does not print. Private use and noncharacters are left: they are this project's marks (json.ts, control-tokens.ts). */
const unprinted = /[\\\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** Quotes are single ones, unless the text has single and no double ones. */
function quoted(text: string): string {
  const body = text.replace(unprinted, (char) => escapes[char] ?? hexadecimal(char.codePointAt(0) ?? 0));
  return text.includes("'") && !text.includes('"') ? `"${body}"` : `'${body.replaceAll("'", "\\'")}'`;
}

function hexadecimal(code: number): string {
  const [letter, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return `\\${letter}${code.toString(16).padStart(Number(digits), "0")}`;
}
