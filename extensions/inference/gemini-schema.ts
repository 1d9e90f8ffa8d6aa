import { z } from "zod";

/**
 * A message of the interface. Its fields may be in snake case, as in all JSON of protocol buffers: Google's client for Python writes both in one
 * request.
 */
export function geminiMessage<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [camel(name), inner]));
  }, schema);
}

const types = ["string", "number", "integer", "boolean", "array", "object", "null"] as const;
/** Proto's JSON writes them as texts. */
const count = z.coerce.number().int().min(0).optional();

/**
 * A schema of the Gemini interface, which is a part of OpenAPI 3.0 with types in capitals, as a JSON schema. Fields that are the same in both,
 * and unknown ones, are left as they are.
 */
export const geminiSchema: z.ZodType<Readonly<Record<string, unknown>>> = z.lazy(() =>
  geminiMessage(
    z
      .looseObject({
        type: z
          .string()
          .transform((type) => type.toLowerCase())
          .pipe(z.enum(types))
          .optional(),
        nullable: z.boolean().nullish(),
        format: z.string().optional(),
        enum: z.array(z.unknown()).optional(),
        items: geminiSchema.optional(),
        properties: z.record(z.string(), geminiSchema).optional(),
        additionalProperties: z.union([z.boolean(), geminiSchema]).optional(),
        propertyOrdering: z.array(z.string()).optional(),
        anyOf: z.array(geminiSchema).optional(),
        ...{ minItems: count, maxItems: count, minLength: count, maxLength: count, minProperties: count, maxProperties: count },
      })
      .transform(
        ({ type, nullable, format, enum: values, properties, propertyOrdering: order = [], anyOf, example, ...rest }) => {
          const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
          // Values of numbers are texts there.
          const own = type === "integer" || type === "number" ? values?.map(Number) : values;
          return {
            ...(type === undefined ? {} : { type: nullable ? [type, "null"] : type }),
            ...(format === undefined || format === "enum" ? {} : { format }),
            ...(own === undefined ? {} : { enum: nullable ? [...own, null] : own }),
            ...(properties === undefined
              ? {}
              : { properties: Object.fromEntries(Object.entries(properties).sort(([a], [b]) => place(a) - place(b))) }),
            ...(anyOf === undefined ? {} : { anyOf: nullable ? [...anyOf, { type: "null" }] : anyOf }),
            ...(example === undefined ? {} : { examples: [example] }),
            ...rest,
          };
        },
      ),
  ),
);
