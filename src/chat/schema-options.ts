import { isRecord } from "../core/record.ts";
import type { Keywords } from "./schema-merge.ts";

/** Whether no value fits two of some schemas, as far as their types, values or a required property with given values show. */
export function areDisjoint(options: readonly Keywords[]): boolean {
  const types = options.map(({ type }) => (type === "integer" ? "number" : type));
  if (types.every((type) => typeof type === "string") && areDifferent(types)) return true;
  const values = options.map((option) => valuesOf(option));
  if (values.every((each) => each !== undefined)) return areDifferent(values.flat());
  const [first, ...others] = options.map(tagsOf);
  return [...(first ?? [])].some(([name, own]) => {
    const rest = others.map((tags) => tags.get(name));
    return rest.every((each) => each !== undefined) && areDifferent([own, ...rest].flat());
  });
}

function tagsOf({ properties, required }: Keywords): Map<string, readonly string[]> {
  const given = isRecord(properties) ? properties : {};
  const names = Array.isArray(required) ? required : [];
  return new Map(
    Object.entries(given).flatMap(([name, schema]) => {
      const values = names.includes(name) && isRecord(schema) ? valuesOf(schema) : undefined;
      return values === undefined ? [] : [[name, values]];
    }),
  );
}

function valuesOf(schema: Keywords): readonly string[] | undefined {
  if (Object.hasOwn(schema, "const")) return [JSON.stringify(schema.const)];
  return Array.isArray(schema.enum) ? [...new Set(schema.enum.map((value) => JSON.stringify(value)))] : undefined;
}

function areDifferent(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length;
}
