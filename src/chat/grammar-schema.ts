import { ModelError } from "../core/errors.ts";
import { atPointer } from "../core/json-pointer.ts";
import { isRecord } from "../core/record.ts";
import { constraintsOf, type Keywords, mergeSchemas } from "./schema-merge.ts";
import { areDisjoint } from "./schema-options.ts";

/** A schema in the keywords that grammars hold. */
export interface HeldSchema {
  readonly schema: Keywords;
  /** The keywords of the given schema that no grammar holds: a text of the grammar has to be checked by them. Empty if it is enough. */
  readonly loose: readonly string[];
}

/** xgrammar recurses in a stack of 64 kB, and is quadratic in the properties of an object. */
const most = { depth: 32, schemas: 500, values: 5000, items: 1000, length: 2000 } as const;

/** A character of a text in JSON. An escape by number may be half of one. */
const character = '(?:[^"\\\\\\u0000-\\u001f]|\\\\["\\\\/bfnrt])';
/** Formats that xgrammar has expressions for. Those of ajv are stricter: 30 February is no date. */
const formats = ["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "uri", "uuid"];
/** Formats that leave every value of their type free. */
const freeFormats = ["int64", "float", "double", "password", "binary"];

const keywordsOf: Readonly<Record<string, readonly string[]>> = {
  string: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"],
  integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"],
  array: [
    ...["items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"],
    ...["contains", "minContains", "maxContains", "unevaluatedItems"],
  ],
  object: [
    ...["properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties"],
    ...["dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties"],
  ],
  boolean: [],
  null: [],
};
/** Keywords for values of any type that no grammar holds. */
const general = ["not", "if", "$dynamicRef", "$recursiveRef"];

/**
 * Writes a schema in the keywords that xgrammar truly holds: its grammar gives no text that they forbid. It forbids some that a schema allows:
 * properties that are not named where `additionalProperties` is absent, and another order of those that are.
 * @throws ModelError for a schema that no value fits, and one that is too large for a grammar
 */
export function heldSchema(schema: Keywords): HeldSchema {
  const conversion = new Conversion(schema);
  const root = conversion.convert(schema, { depth: 0, within: new Set() });
  return { schema: { ...root, ...conversion.definitions() }, loose: [...conversion.loose] };
}

/** Where a schema is: how deep, and the references whose value it is itself. */
interface Place {
  readonly depth: number;
  readonly within: ReadonlySet<string>;
}

class Conversion {
  readonly loose = new Set<string>();
  readonly #root: Keywords;
  readonly #names = new Map<string, string>();
  readonly #definitions: Record<string, unknown> = {};
  #schemas = 0;
  #values = 0;

  constructor(root: Keywords) {
    this.#root = root;
  }

  definitions(): Keywords {
    return this.#names.size === 0 ? {} : { $defs: this.#definitions };
  }

  convert(schema: unknown, place: Place): Keywords {
    if (schema === true) return {};
    if (!isRecord(schema)) throw refused(`a schema that is ${JSON.stringify(schema)}`);
    if (++this.#schemas > most.schemas) throw refused(`a schema of more than ${most.schemas} schemas`);
    if (place.depth > most.depth) return this.#free("its depth");
    const only = constraintsOf(schema);
    const keywords = Object.keys(only);
    if (keywords.length === 1 && typeof only.$ref === "string") return this.#reference(only.$ref, place);
    // Pydantic and others write a description beside a reference so.
    if (keywords.length === 1 && Array.isArray(only.allOf) && only.allOf.length === 1) return this.convert(only.allOf[0], place);
    return this.#flat(this.#merged(only, new Set()), place);
  }

  /** A schema without `$ref` and `allOf`. */
  #merged(schema: Keywords, within: ReadonlySet<string>): Keywords {
    const { $ref: reference, allOf = [], nullable, ...own } = constraintsOf(schema);
    let merged: Keywords = own;
    const add = (other: unknown, inside: ReadonlySet<string>) => {
      if (other === true) return;
      if (!isRecord(other)) throw refused("allOf with false");
      merged = mergeSchemas(merged, this.#merged(other, inside), (keyword) => this.loose.add(keyword));
    };
    if (typeof reference === "string") {
      const target = this.#target(reference);
      if (within.has(reference)) throw refused(`$ref ${JSON.stringify(reference)}, which refers to itself`);
      if (target === undefined) this.loose.add("$ref");
      else add(target, new Set([...within, reference]));
    }
    if (Array.isArray(allOf)) for (const each of allOf) add(each, within);
    if (nullable === true && merged.type !== undefined) return { ...merged, type: [...new Set([merged.type, "null"].flat())] };
    return merged;
  }

  #target(reference: string): unknown {
    return atPointer(this.#root, reference);
  }

  #reference(reference: string, { depth, within }: Place): Keywords {
    if (within.has(reference)) throw refused(`$ref ${JSON.stringify(reference)}, which refers to itself`);
    const target = this.#target(reference);
    if (target === undefined) return this.#free("$ref");
    const known = this.#names.get(reference);
    const name = known ?? `d${this.#names.size}`;
    if (known === undefined) {
      this.#names.set(reference, name);
      this.#definitions[name] = this.convert(target, { depth: depth + 1, within: new Set([...within, reference]) });
    }
    return { $ref: `#/$defs/${name}` };
  }

  #flat(schema: Keywords, place: Place): Keywords {
    for (const keyword of general) if (Object.hasOwn(schema, keyword)) this.loose.add(keyword);
    const listed = valuesOf(schema);
    if (listed !== undefined) return this.#listed(listed, schema);
    const { anyOf, oneOf, ...rest } = schema;
    const [options, keyword] = anyOf === undefined ? [oneOf, "oneOf"] : [anyOf, "anyOf"];
    if (Array.isArray(options)) {
      if (anyOf !== undefined && oneOf !== undefined) this.loose.add("oneOf");
      return this.#options(options, keyword, rest, place);
    }
    const types = typesOf(rest);
    if (types.length === 0) throw noValue("type");
    if (types.length > 1) return { anyOf: types.map((type) => this.#typed({ ...rest, type }, place)) };
    return this.#typed({ ...rest, type: types[0] }, place);
  }

  #options(options: readonly unknown[], keyword: string, rest: Keywords, place: Place): Keywords {
    const isAlone = Object.keys(rest).length === 0;
    const possible = options.filter((option) => option !== false);
    if (possible.length === 0) throw noValue(keyword);
    const merged = () => possible.map((option) => (isRecord(option) ? this.#merged({ allOf: [option, rest] }, new Set()) : {}));
    if (keyword === "oneOf" && !areDisjoint(merged())) this.loose.add("oneOf");
    const inner = { ...place, depth: place.depth + 1 };
    const converted = (isAlone ? possible : merged()).map((option) => this.convert(option, inner));
    return converted.length === 1 ? (converted[0] ?? {}) : { anyOf: converted };
  }

  #listed(values: readonly unknown[], schema: Keywords): Keywords {
    const types = schema.type === undefined ? undefined : [schema.type].flat();
    const fitting = values.filter((value) => types === undefined || types.some((type) => isOfType(value, type)));
    for (const keyword of Object.keys(schema))
      if (!["enum", "const", "type", ...general].includes(keyword)) this.loose.add(keyword);
    if (fitting.length === 0) throw noValue("enum");
    this.#values += fitting.length;
    if (this.#values > most.values) throw refused(`a schema of more than ${most.values} values`);
    return { enum: fitting };
  }

  #typed(schema: Keywords, { depth }: Place): Keywords {
    const inside: Place = { depth: depth + 1, within: new Set() };
    switch (schema.type) {
      case "string":
        return this.#string(schema);
      case "number":
        this.#loosen(schema, ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]);
        this.#format(schema);
        return { type: "number" };
      case "integer":
        return this.#integer(schema);
      case "array":
        return this.#array(schema, inside);
      case "object":
        return this.#object(schema, inside);
      case "boolean":
      case "null":
        return { type: schema.type };
      default:
        this.#loosen(schema, Object.values(keywordsOf).flat());
        return {};
    }
  }

  #string({ minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format }: Keywords): Keywords {
    const [shortest, longest] = [Number(minLength), Number(maxLength)];
    if (shortest > longest) throw noValue("minLength");
    const hasLength = shortest > 0 || longest < Number.POSITIVE_INFINITY;
    const isHeld = typeof pattern === "string" && isPlainPattern(pattern);
    if (isHeld) {
      if (hasLength) this.loose.add("minLength");
      this.#format({ format });
      return { type: "string", pattern };
    }
    if (pattern !== undefined) this.loose.add("pattern");
    if (typeof format === "string" && formats.includes(format)) {
      this.loose.add("format");
      return { type: "string", format };
    }
    this.#format({ format });
    const isShort = [shortest, longest].every((length) => length <= most.length || length === Number.POSITIVE_INFINITY);
    if (!isShort) this.loose.add("maxLength");
    if (!hasLength || !isShort) return { type: "string" };
    // xgrammar's own minLength and maxLength let control characters through, which are no JSON, and no escapes.
    return { type: "string", pattern: `^${character}{${shortest},${longest === Number.POSITIVE_INFINITY ? "" : longest}}$` };
  }

  #integer(schema: Keywords): Keywords {
    this.#loosen(schema, ["multipleOf"]);
    this.#format(schema);
    const bound = (keyword: string) => (typeof schema[keyword] === "number" ? [schema[keyword]] : []);
    const least = Math.max(...bound("minimum").map(Math.ceil), ...bound("exclusiveMinimum").map((n) => Math.floor(n) + 1));
    const largest = Math.min(...bound("maximum").map(Math.floor), ...bound("exclusiveMaximum").map((n) => Math.ceil(n) - 1));
    if (least > largest) throw noValue("minimum");
    const ends = [least, largest].filter(Number.isFinite);
    if (!ends.every(Number.isSafeInteger)) return { type: "integer", ...this.#free("minimum") };
    return {
      type: "integer",
      ...(Number.isFinite(least) ? { minimum: least } : {}),
      ...(Number.isFinite(largest) ? { maximum: largest } : {}),
    };
  }

  #array(schema: Keywords, place: Place): Keywords {
    this.#loosen(schema, ["uniqueItems", "contains", "unevaluatedItems"]);
    const isTuple = Array.isArray(schema.items);
    const prefix = listOf(isTuple ? schema.items : schema.prefixItems);
    const rest = isTuple ? schema.additionalItems : schema.items;
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
    const [fewest, longest] = [Number(minItems), Number(maxItems)];
    if (fewest > longest || (rest === false && fewest > prefix.length)) throw noValue("minItems");
    if (fewest > most.items) throw refused(`minItems ${fewest}`);
    if (prefix.length > 0) {
      if (fewest > prefix.length) this.loose.add("minItems");
      if (longest < Number.POSITIVE_INFINITY && (longest < prefix.length || rest !== false)) this.loose.add("maxItems");
      const items = rest === undefined || rest === false ? false : this.convert(rest, place);
      return { type: "array", prefixItems: prefix.map((each) => this.convert(each, place)), items };
    }
    if (rest === false || longest === 0) return { type: "array", maxItems: 0 };
    const items = this.convert(rest ?? true, place);
    if (longest > most.items && longest < Number.POSITIVE_INFINITY) this.loose.add("maxItems");
    return {
      ...{ type: "array", items },
      ...(fewest > 0 ? { minItems: fewest } : {}),
      ...(longest <= most.items ? { maxItems: longest } : {}),
    };
  }

  #object(schema: Keywords, place: Place): Keywords {
    this.#loosen(schema, ["dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties"]);
    const { additionalProperties: others, propertyNames, patternProperties, minProperties, maxProperties } = schema;
    const given = isRecord(schema.properties) ? schema.properties : {};
    const required = listOf(schema.required).map(String);
    const names = [...new Set([...Object.keys(given), ...required])];
    if (names.some((name) => JSON.stringify(name) !== `"${name}"`)) return { type: "object", ...this.#free("properties") };
    if (isRecord(patternProperties) && Object.keys(patternProperties).length > 0) {
      return { type: "object", ...this.#free("patternProperties") };
    }
    const isAnyName =
      propertyNames === undefined || propertyNames === true || JSON.stringify(propertyNames) === '{"type":"string"}';
    if (!isAnyName) this.loose.add("propertyNames");
    if (Number(minProperties ?? 0) > required.length) this.loose.add("minProperties");
    const isOpen = others !== false && (others !== undefined || names.length === 0);
    if (maxProperties !== undefined && (isOpen || Number(maxProperties) < names.length)) this.loose.add("maxProperties");
    const schemaOf = (name: string) => (Object.hasOwn(given, name) ? given[name] : (others ?? true));
    const impossible = names.filter((name) => schemaOf(name) === false);
    if (impossible.some((name) => required.includes(name))) throw noValue("required");
    const properties = names
      .filter((name) => !impossible.includes(name))
      .map((name) => [name, this.convert(schemaOf(name), place)] as const);
    // A name may come twice, and its last value counts.
    if (isOpen && properties.length > 0) this.loose.add("additionalProperties");
    const more = others === false || !isOpen ? false : this.convert(others ?? true, place);
    if (properties.length === 0 && more !== false && Object.keys(more).length === 0) return { type: "object" };
    return { type: "object", properties: Object.fromEntries(properties), required, additionalProperties: more };
  }

  #loosen(schema: Keywords, keywords: readonly string[]): void {
    for (const keyword of keywords)
      if (Object.hasOwn(schema, keyword) && !(keyword === "uniqueItems" && schema.uniqueItems === false)) this.loose.add(keyword);
  }

  #format({ format }: Keywords): void {
    if (format !== undefined && !freeFormats.includes(String(format))) this.loose.add("format");
  }

  #free(keyword: string | undefined): Keywords {
    if (keyword !== undefined) this.loose.add(keyword);
    return {};
  }
}

function valuesOf(schema: Keywords): readonly unknown[] | undefined {
  const values = Array.isArray(schema.enum) ? schema.enum : undefined;
  if (!Object.hasOwn(schema, "const")) return values;
  const text = JSON.stringify(schema.const);
  return values === undefined ? [schema.const] : values.filter((value) => JSON.stringify(value) === text);
}

/** The types that a value may have. A schema of the keywords of objects or arrays alone means those; any type is [undefined]. */
function typesOf({ type, ...schema }: Keywords): readonly unknown[] {
  if (type !== undefined) {
    const types = [type].flat();
    return types.includes("number") ? types.filter((each) => each !== "integer") : types;
  }
  const has = (keywords: readonly string[]) => keywords.some((keyword) => Object.hasOwn(schema, keyword));
  if (has(["properties", "required", "additionalProperties"])) return ["object"];
  return has(["items", "prefixItems"]) ? ["array"] : [undefined];
}

function isOfType(value: unknown, type: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isRecord(value);
  return typeof value === type;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * Whether a pattern is one that xgrammar reads as JavaScript does, and that no quote or backslash fits: anchored at both ends, of letters, digits and
 * a few signs, their classes, counts, and groups of these.
 */
export function isPlainPattern(pattern: string): boolean {
  const sign = "[A-Za-z0-9_ :,@-]";
  const classOf = "\\[(?:[A-Za-z0-9](?:-[A-Za-z0-9])?|[_ :,@.])+\\]";
  const one = `(?:${sign}|\\\\[.d]|${classOf})`;
  const some = `(?:${one}(?:[*+?]|\\{\\d{1,2}(?:,\\d{0,2})?\\})?)+`;
  const group = `\\((?:\\?:)?${some}(?:\\|${some})*\\)\\??`;
  return pattern.length <= 300 && new RegExp(`^\\^(?:${some}|${group})+\\$$`).test(pattern);
}

function refused(found: string): ModelError {
  return new ModelError("schema", found, { expected: "one that has a grammar" });
}

function noValue(keyword: string): ModelError {
  return new ModelError("schema", keyword, { expected: "a schema that some value fits" });
}
