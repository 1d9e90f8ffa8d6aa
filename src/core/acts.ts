import { z } from "zod";

/** The ways in which a setting reaches beyond the run: what it makes this machine do. */
export interface Act {
  readonly kind: "starts" | "runs" | "connects" | "sends" | "listens" | "writes" | "model" | "reads";
  /** The program, the address, the variable, the file: as the setting names it. */
  readonly what: string;
}

/**
 * Marks of settings that act: those that name a program, code, an address, an environment variable or a path. Someone else's record may set what
 * plays, and is asked about before it acts (sdk/trust.ts).
 */
const marks = z.registry<{ readonly actsOf: (value: never) => readonly Act[] }>();

function marked<Schema extends z.ZodType>(schema: Schema, actsOf: (value: z.output<Schema>) => readonly Act[]): Schema {
  marks.add(schema, { actsOf } as never);
  return schema;
}

const mark =
  (kind: Act["kind"]) =>
  <Schema extends z.ZodType<string>>(schema: Schema): Schema =>
    marked(schema, (what) => [{ kind, what }]);

/** Each marks a schema, before it is made optional or given a default, and returns it. */
export const acts = {
  /** The setting names a program that is started. */
  program: mark("starts"),
  /** The setting names an environment variable whose value is sent. */
  variable: mark("sends"),
  /** The setting names a file or folder that is read. */
  reads: mark("reads"),
  /** The setting names a folder that is written. */
  writes: mark("writes"),
  /** The setting is an address that is contacted. @param variable is sent there, if its setting is left out */
  address: <Schema extends z.ZodType<string>>(schema: Schema, variable?: (address: string) => string | undefined): Schema =>
    marked(schema, (what) => {
      const sent = variable?.(what);
      return [{ kind: "connects", what }, ...(sent === undefined ? [] : [{ kind: "sends" as const, what: sent }])];
    }),
  /** Anything else. @param actsOf what its value does */
  by: marked,
} as const;

/**
 * Returns what the marked settings of a value do.
 * @param value as the schema's output has it, with its defaults
 * @throws TypeError for a kind of schema that is not looked into: its marks would be passed over
 */
export function actsOf(schema: z.core.$ZodType, value: unknown): Act[] {
  if (value === undefined || value === null) return [];
  const own = marks.get(schema)?.actsOf(value as never) ?? [];
  return [...own, ...inside(schema, value)];
}

function inside(schema: z.core.$ZodType, value: unknown): Act[] {
  const fields = value as Readonly<Record<string, unknown>>;
  if (schema instanceof z.ZodObject) return Object.entries(schema.shape).flatMap(([key, field]) => actsOf(field, fields[key]));
  if (schema instanceof z.ZodRecord) return Object.values(fields).flatMap((each) => actsOf(schema.def.valueType, each));
  if (schema instanceof z.ZodArray) return (value as unknown[]).flatMap((each) => actsOf(schema.def.element, each));
  if (schema instanceof z.ZodUnion)
    return schema.def.options
      .filter((option) => z.core.safeParse(option, value).success)
      .flatMap((option) => actsOf(option, value));
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  )
    return actsOf(schema.def.innerType, value);
  if (schema instanceof z.ZodLazy) return actsOf(schema.unwrap(), value);
  if (leaves.some((leaf) => schema instanceof leaf)) return [];
  throw new TypeError(`settings of the kind "${schema._zod.def.type}" are not looked into for what acts`);
}

const leaves = [z.ZodString, z.ZodURL, z.ZodNumber, z.ZodBoolean, z.ZodEnum, z.ZodLiteral, z.ZodUnknown, z.ZodNull] as const;
