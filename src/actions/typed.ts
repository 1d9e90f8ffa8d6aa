import type { SchemaOf } from "./action.ts";
import { exactText, parseJson } from "./json.ts";

/**
 * A value that a format writes without quotes, as its schema has it: text where the schema wants text, else JSON if it is some.
 * @returns the JSON text of the value
 */
export function typedJson(text: string, tool: string, argument: string, schemaOf: SchemaOf | undefined): string {
  const properties = schemaOf?.(tool)?.properties;
  const schema: unknown =
    typeof properties === "object" && properties !== null ? (properties as Record<string, unknown>)[argument] : undefined;
  if (wantsText(schema)) return JSON.stringify(text);
  const literal = { True: "true", False: "false", None: "null" }[text.trim()] ?? text;
  const json = parseJson(literal);
  if ("error" in json || text.trim() === "") return JSON.stringify(text);
  return "argumentsText" in exactText(literal) ? literal.trim() : JSON.stringify(json.value);
}

function wantsText(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  if ("type" in schema) return schema.type === "string" || (Array.isArray(schema.type) && schema.type.includes("string"));
  if ("enum" in schema && Array.isArray(schema.enum)) return schema.enum.every((value) => typeof value === "string");
  const options = "anyOf" in schema ? schema.anyOf : "oneOf" in schema ? schema.oneOf : undefined;
  return Array.isArray(options) && options.some(wantsText);
}
