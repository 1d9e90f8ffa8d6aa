import { exactText, parseJson } from "./json.ts";

/**
 * A value that a format writes without quotes, as its schema has it: text where the schema wants text, else JSON if it is some.
 * @param schema of the argument; undefined if there is none
 * @param untyped what a value without a type in its schema is
 * @returns the JSON text of the value
 */
export function typedJson(text: string, schema: unknown, untyped: "text" | "json"): string {
  const literal = { True: "true", False: "false", None: "null" }[text.trim()] ?? text;
  if (literal.trim() === "null" && hasType(schema, "null")) return "null";
  if (hasType(schema, "string") || (untyped === "text" && !isTyped(schema))) return JSON.stringify(text);
  const json = parseJson(literal);
  if ("error" in json || text.trim() === "") return JSON.stringify(text);
  return "argumentsText" in exactText(literal) ? literal.trim() : JSON.stringify(json.value);
}

function isTyped(schema: unknown): boolean {
  return (
    typeof schema === "object" &&
    schema !== null &&
    ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"].some((key) => key in schema)
  );
}

function hasType(schema: unknown, type: "string" | "null"): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  if ("type" in schema) return schema.type === type || (Array.isArray(schema.type) && schema.type.includes(type));
  if ("enum" in schema && Array.isArray(schema.enum)) {
    return type === "null" ? schema.enum.includes(null) : schema.enum.every((value) => typeof value === "string");
  }
  const options = "anyOf" in schema ? schema.anyOf : "oneOf" in schema ? schema.oneOf : undefined;
  return Array.isArray(options) && options.some((option) => hasType(option, type));
}
