import { z } from "zod";
import { reasonOf } from "../core/errors.ts";
import type { ToolCall } from "../core/messages.ts";
import type { UnreadableCall } from "./action.ts";

/** A string, or a number outside of strings. */
const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/** Reads JSON; code fences around it and a comma too many before a closing bracket are forgiven. */
export function parseJson(text: string): { readonly value: unknown } | { readonly error: string } {
  const unfenced = text.trim().replace(/^```\w*\s*|\s*```$/g, "");
  try {
    return { value: JSON.parse(unfenced) };
  } catch (problem) {
    try {
      return { value: JSON.parse(withoutTrailingCommas(unfenced)) };
    } catch {
      return { error: reasonOf(problem) };
    }
  }
}

/** Strings are matched whole, so that commas inside of them stay. */
function withoutTrailingCommas(json: string): string {
  return json.replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (_, string: string | undefined) => string ?? "");
}

/** Returns where the JSON object or array that begins at `start` ends, behind its last bracket; undefined if it does not end. */
export function jsonEnd(text: string, start: number): number | undefined {
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const char = text[i];
    if (char === '"') {
      for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === "\\") i++;
    } else if (char === "{" || char === "[") depth++;
    else if ((char === "}" || char === "]") && --depth === 0) return i + 1;
  }
  return undefined;
}

const argumentsSchema = z.record(z.string(), z.unknown());

/**
 * A call of a name and the JSON text of its arguments.
 * @param example how to write it, for the model to read
 */
export function callOf(name: string, argumentsJson: string, example: string): ToolCall | UnreadableCall {
  const text = argumentsJson.trim() === "" ? "{}" : argumentsJson;
  const json = parseJson(text);
  if ("error" in json) return { error: `The arguments of ${name} are not valid JSON: ${json.error}. Write ${example}.` };
  return callWith(name, json.value, text, example);
}

/** A call with arguments that are read. No argument is left out silently: the record of zod would drop `__proto__`. */
function callWith(name: string, given: unknown, text: string, example: string): ToolCall | UnreadableCall {
  const args = argumentsSchema.safeParse(given);
  if (!args.success) return { error: `The arguments of ${name} are not a JSON object. Write ${example}.` };
  if (Object.hasOwn(given as object, "__proto__")) return { error: `${name} has no argument "__proto__". Write ${example}.` };
  return { name, arguments: args.data, ...exactText(text) };
}

/** The arguments' text where reading it as JavaScript values loses a number: 5.0, 1e3, integers beyond 2^53. */
export function exactText(json: string): { argumentsText?: string } {
  const lossy = json.match(stringOrNumber)?.some((token) => token[0] !== '"' && losesText(token)) ?? false;
  return lossy ? { argumentsText: json.trim().replace(/^```\w*\s*|\s*```$/g, "") } : {};
}

function losesText(number: string): boolean {
  return String(Number(number)) !== number;
}

const nameSchema = z.looseObject({
  name: z.string().min(1),
  arguments: z.unknown().optional(),
  parameters: z.unknown().optional(),
  id: z.string().optional(),
});

/**
 * A call written as one JSON object: `{"name": …, "arguments": {…}}`, with "parameters" for "arguments" too, arguments as a JSON string, or
 * none. A list of such objects is as many calls.
 */
export function callsOfJson(text: string, example: string): (ToolCall | UnreadableCall)[] {
  const json = parseJson(text);
  if ("error" in json) return [{ error: `This tool call is not valid JSON: ${json.error}. Write ${example}.` }];
  const items = Array.isArray(json.value) ? json.value : [json.value];
  return items.map((item, i) => callOfObject(item, Array.isArray(json.value) ? elementText(text, i) : text, example));
}

function callOfObject(item: unknown, text: string, example: string): ToolCall | UnreadableCall {
  const call = nameSchema.safeParse(item);
  if (!call.success) return { error: `This tool call has no "name". Write ${example}.` };
  const { name, arguments: given = call.data.parameters ?? {} } = call.data;
  if (typeof given === "string") {
    const inner = callOf(name, given, example);
    return "error" in inner ? { error: `The arguments of ${name} are not a JSON object. Write ${example}.` } : inner;
  }
  return callWith(name, given, memberText(text, ["arguments", "parameters"]) ?? "", example);
}

/** The text of the i-th object of a list. */
function elementText(list: string, index: number): string {
  let at = list.indexOf("{", list.indexOf("["));
  for (let i = 0; at !== -1; i++) {
    const end = jsonEnd(list, at) ?? list.length;
    if (i === index) return list.slice(at, end);
    at = list.indexOf("{", end);
  }
  return "";
}

/** The text of an object's member that is an object itself. */
function memberText(object: string, names: readonly string[]): string | undefined {
  for (const { 0: key, index } of object.matchAll(/"(?:[^"\\]|\\.)*"\s*:\s*(?=\{)/g)) {
    if (!names.some((name) => key.startsWith(`"${name}"`))) continue;
    const start = index + key.length;
    return object.slice(start, jsonEnd(object, start));
  }
  return undefined;
}

const [before, after] = ["\ue000", "\ue001"];
const marked = new RegExp(`["']?${before}(-?\\d[\\d.eE+-]*)${after}["']?`, "g");

/** Arguments for a template: numbers that would lose their text are marked strings, which `unmarked` puts back. */
export function markedArguments({ arguments: args, argumentsText }: ToolCall): Readonly<Record<string, unknown>> {
  if (argumentsText === undefined) return args;
  const quoted = argumentsText.replace(stringOrNumber, (token) =>
    token[0] === '"' || !losesText(token) ? token : `"${before}${token}${after}"`,
  );
  const json = parseJson(quoted);
  const exact = argumentsSchema.safeParse("value" in json ? json.value : undefined);
  return exact.success ? exact.data : args;
}

/** A rendered text with the numbers as the model wrote them. */
export function unmarked(text: string): string {
  return text.includes(before) ? text.replace(marked, "$1") : text;
}

/** Arguments as JSON text, numbers as the model wrote them, with the spaces of Python's json.dumps. */
export function jsonText(call: ToolCall): string {
  return unmarked(dumps(markedArguments(call)));
}

/** A call as one JSON object. */
export function callJson(call: ToolCall, key: "arguments" | "parameters" = "arguments"): string {
  return `{"name": ${JSON.stringify(call.name)}, "${key}": ${jsonText(call)}}`;
}

/** JSON with ", " and ": ", as chat templates write it. */
export function dumps(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(dumps).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${dumps(item)}`)
    .join(", ")}}`;
}
