import { z } from "zod";

/** One of the kinds that a setting offers: its name, and the settings that come with it. */
export interface Kind<Name extends string = string, Shape extends z.core.$ZodShape = z.core.$ZodShape> {
  readonly kind: Name;
  readonly settings: Shape;
}

/** The settings of one kind, checked, without its name. */
export type SettingsOf<Shape extends z.core.$ZodShape> = z.output<z.ZodObject<Shape, z.core.$strict>>;

type OptionOf<Of> =
  Of extends Kind<infer Name, infer Shape> ? z.ZodObject<{ kind: z.ZodLiteral<Name> } & Shape, z.core.$strict> : never;

/** Returns the schema of a choice among the kinds of a table: each with its own settings and no others. */
export function choiceOf<const Table extends readonly [Kind, ...Kind[]]>(table: Table) {
  const options = table.map(({ kind, settings }) => z.strictObject({ kind: z.literal(kind), ...settings }));
  // A mapped list forgets which kind has which settings; the table's type remembers.
  return z.discriminatedUnion("kind", options as unknown as [OptionOf<Table[number]>, ...OptionOf<Table[number]>[]]);
}

/** Returns the row of a table that checked settings name. */
export function kindIn<Row extends Kind>(table: readonly Row[], { kind }: { readonly kind: string }): Row {
  const row = table.find((each) => each.kind === kind);
  if (row === undefined) throw new RangeError(`"${kind}" is none of ${table.map((each) => each.kind).join(", ")}`);
  return row;
}
