import { atPointer } from "../core/json-pointer.ts";
import { isRecord } from "../core/record.ts";
import { exactText, parseJson } from "./json.ts";

type Keywords = Readonly<Record<string, unknown>>;

/** The schema of a value within the schema of a tool, which references in it point into. */
interface Within {
  readonly root: unknown;
  /** Undefined if the tool's schema does not name the value. */
  readonly schema: unknown;
}

/**
 * An argument that a format writes without quotes, as its tool's schema has it: text where the schema wants text, else JSON if it is some.
 * @param tool the schema of the tool's arguments; undefined if there is none
 * @param untyped what a value without a type in its schema is
 * @returns the JSON text of the value
 */
export function typedJson(text: string, tool: unknown, argument: string, untyped: "text" | "json"): string {
  const literal = { True: "true", False: "false", None: "null" }[text.trim()] ?? text;
  const types = typesOf(argumentOf(tool, argument));
  if (literal.trim() === "null" && types.has("null")) return "null";
  if (types.has("string") || (untyped === "text" && types.size === 0)) return JSON.stringify(text);
  const json = parseJson(literal);
  if ("error" in json || text.trim() === "") return JSON.stringify(text);
  return "argumentsText" in exactText(literal) ? literal.trim() : JSON.stringify(json.value);
}

function argumentOf(root: unknown, argument: string): Within {
  const parts = partsOf({ root, schema: root }).flatMap((part) => [part, ...optionsOf(part).filter(isRecord)]);
  const named = parts.flatMap(({ properties }) =>
    isRecord(properties) && Object.hasOwn(properties, argument) ? [properties[argument]] : [],
  );
  const others = parts.flatMap(({ additionalProperties: schema }) => (isRecord(schema) ? [schema] : []));
  return { root, schema: { allOf: named.length > 0 ? named : others } };
}

/** The types of a schema's values, as far as it names some: those that all its parts have. */
function typesOf({ root, schema }: Within, depth = 0): ReadonlySet<string> {
  if (depth > 16) return new Set();
  const [first = [], ...others] = partsOf({ root, schema })
    .map((part) => {
      const own = ownTypes(part);
      return own.length > 0 ? own : optionsOf(part).flatMap((option) => [...typesOf({ root, schema: option }, depth + 1)]);
    })
    .filter((types) => types.length > 0);
  return new Set(first.filter((type) => others.every((types) => types.includes(type))));
}

function ownTypes(schema: Keywords): string[] {
  const values = Object.hasOwn(schema, "const") ? [schema.const] : Array.isArray(schema.enum) ? schema.enum : undefined;
  const ofValues = values?.map((value): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value));
  if (schema.type === undefined) return ofValues ?? [];
  const types = [schema.type, schema.nullable === true ? "null" : []].flat().map(String);
  return ofValues === undefined ? types : types.filter((type) => ofValues.includes(type === "integer" ? "number" : type));
}

function optionsOf({ anyOf, oneOf }: Keywords): readonly unknown[] {
  return Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
}

/** A schema, and those that its values have to fit as well. */
function partsOf({ root, schema }: Within, seen: ReadonlySet<unknown> = new Set()): Keywords[] {
  if (!isRecord(schema) || seen.has(schema)) return [];
  const inside = new Set([...seen, schema]);
  const referred = typeof schema.$ref === "string" ? [atPointer(root, schema.$ref)] : [];
  const all = Array.isArray(schema.allOf) ? schema.allOf : [];
  return [schema, ...[...referred, ...all].flatMap((each) => partsOf({ root, schema: each }, inside))];
}
