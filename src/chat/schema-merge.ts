import { isRecord } from "../core/record.ts";

/** A JSON schema that is an object. */
export type Keywords = Readonly<Record<string, unknown>>;

/** Keywords that say nothing about a value. */
const remarks = new Set([
  ...["title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"],
  ...["$comment", "$schema", "$id"],
  ...["$anchor", "$dynamicAnchor", "$vocabulary", "$defs", "definitions", "contentMediaType", "contentEncoding", "contentSchema"],
]);

/** The keywords of a schema that decide which values fit. */
export function constraintsOf(schema: Keywords): Keywords {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !remarks.has(keyword) && !keyword.startsWith("x-")));
}

/**
 * One schema for the values that fit two.
 * @param dropped called with each keyword of the second that cannot be merged, and is left out
 */
export function mergeSchemas(a: Keywords, b: Keywords, dropped: (keyword: string) => void): Keywords {
  const merged: Record<string, unknown> = { ...a };
  for (const [keyword, value] of Object.entries(constraintsOf(b))) {
    const own = merged[keyword];
    const both = { own, value };
    if (!Object.hasOwn(merged, keyword)) merged[keyword] = value;
    else if (JSON.stringify(own) === JSON.stringify(value)) continue;
    else if (keyword === "required" && areLists(both)) merged.required = [...new Set([...both.own, ...both.value])];
    else if (keyword === "type") merged.type = commonTypes(own, value);
    else if (keyword === "enum" && areLists(both)) {
      const texts = new Set(both.value.map((each) => JSON.stringify(each)));
      merged.enum = both.own.filter((each) => texts.has(JSON.stringify(each)));
    } else if (/^(min|exclusiveMin)/.test(keyword) && areNumbers(both)) merged[keyword] = Math.max(both.own, both.value);
    else if (/^(max|exclusiveMax)/.test(keyword) && areNumbers(both)) merged[keyword] = Math.min(both.own, both.value);
    else if (keyword === "properties" && isRecord(own) && isRecord(value)) merged.properties = mergedProperties(own, value);
    else if (keyword === "items" && !Array.isArray(own) && !Array.isArray(value)) merged.items = { allOf: [own, value] };
    else if (keyword === "additionalProperties")
      merged[keyword] = own === false || value === false ? false : { allOf: [own, value] };
    else dropped(keyword);
  }
  // The properties that the one names may be closed to the other.
  const closes = (one: Keywords, other: Keywords) =>
    (one.additionalProperties ?? true) !== true && namesOf(other).some((name) => !namesOf(one).includes(name));
  if (closes(a, b) || closes(b, a)) dropped("additionalProperties");
  return merged;
}

function namesOf({ properties }: Keywords): readonly string[] {
  return isRecord(properties) ? Object.keys(properties) : [];
}

function mergedProperties(own: Keywords, others: Keywords): Keywords {
  const added = Object.entries(others).map(([name, schema]) => [
    name,
    Object.hasOwn(own, name) ? { allOf: [own[name], schema] } : schema,
  ]);
  return { ...own, ...Object.fromEntries(added) };
}

function commonTypes(a: unknown, b: unknown): unknown[] {
  const [own, others] = [[a].flat(), [b].flat()];
  const narrowed = own.map((type) =>
    type === "number" && others.includes("integer") && !others.includes("number") ? "integer" : type,
  );
  return narrowed.filter((type) => others.includes(type) || (type === "integer" && others.includes("number")));
}

function areLists(both: { readonly own: unknown; readonly value: unknown }): both is { own: unknown[]; value: unknown[] } {
  return Array.isArray(both.own) && Array.isArray(both.value);
}

function areNumbers(both: { readonly own: unknown; readonly value: unknown }): both is { own: number; value: number } {
  return typeof both.own === "number" && typeof both.value === "number";
}
