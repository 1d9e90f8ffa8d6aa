import { z } from "zod";
import { host, TimeLimitError } from "../core/host.ts";

type Schema = Readonly<Record<string, unknown>>;

/** For the patterns of a schema. They are often a stranger's, and one that backtracks without end would stop the program. */
const patternMs = 1000;

interface Converted {
  /** Undefined for a schema beyond what zod can convert. */
  readonly type: z.ZodType | undefined;
  readonly hasPattern: boolean;
}

const converted = new WeakMap<Schema, Converted>();

/**
 * Checks a value by a JSON schema, and returns it as it is. A `default` is a remark of the schema's (JSON Schema Validation 2020-12, §9.2) and
 * not filled in: Notion's server would archive a block where a model updates it.
 * @returns undefined for a schema that cannot be checked
 * @throws Error for a pattern that takes too long
 */
export function checkJson(schema: Schema, value: unknown): z.ZodSafeParseResult<unknown> | undefined {
  const known = converted.get(schema) ?? convert(schema);
  converted.set(schema, known);
  const { type, hasPattern } = known;
  if (type === undefined) return undefined;
  const check = () => {
    const checked = type.safeParse(value);
    return checked.success ? { ...checked, data: value } : checked;
  };
  if (!hasPattern) return check();
  try {
    return host.interruptAfter(patternMs, check);
  } catch (error) {
    if (error instanceof TimeLimitError)
      throw new Error(`the arguments could not be checked: a pattern of the schema has ${error.message}`);
    throw error;
  }
}

function convert(schema: Schema): Converted {
  const hasPattern = /"pattern(Properties)?":/.test(JSON.stringify(schema));
  try {
    return { type: z.fromJSONSchema(schema), hasPattern };
  } catch {
    return { type: undefined, hasPattern };
  }
}
