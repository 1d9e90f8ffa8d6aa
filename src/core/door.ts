import { z } from "zod";
import { ConfigError } from "./errors.ts";
import { didYouMean } from "./settings.ts";

/**
 * A place where something that others wrote comes in: a row of data, a request, a configuration, options of a function. It is closed: a field that it
 * neither uses nor may ignore is refused by name, since a dropped field may change what is prompted, learned, called or scored.
 */
export interface DoorSheet {
  readonly name: string;
  readonly uses: readonly string[];
  /** Fields that change nothing here, whatever they say. */
  readonly ignores: readonly string[];
  /** Fields that are ignored with one value, and refused with any other. */
  readonly neutral: Readonly<Record<string, unknown>>;
  /** True if the door refuses a field of this name and value, by its name. */
  refuses(field: string, value: unknown): boolean;
}

export type DoorDetails = Partial<Pick<DoorSheet, "ignores" | "neutral">>;

const sheets: DoorSheet[] = [];

/** Adds a door that looks by itself to the list. */
export function enlist(sheet: DoorSheet): void {
  sheets.push(sheet);
}

/** The doors of the modules that are loaded. */
export const doorSheets = (): readonly DoorSheet[] => sheets;

/**
 * An object of a closed form. Null says nothing in most formats (tables have it for every column that a row lacks), so unknown fields may have it.
 * @param name as it is after "is no field of", such as "an assistant's message"
 */
export function door<Shape extends z.ZodRawShape>(
  name: string,
  shape: Shape,
  { ignores = [], neutral = {} }: DoorDetails = {},
): z.ZodObject<Shape, z.core.$strip> {
  const uses = Object.keys(shape);
  const error = `no such field: ${name} has ${uses.join(", ")}`;
  const absent = z.custom<unknown>((value) => value === undefined || value === null, { error });
  const quiet = ignores.map((field) => [field, z.unknown().optional()] as const);
  const still = Object.entries(neutral).map(([field, value]) => [field, only(value, name)] as const);
  const whole = { ...Object.fromEntries([...quiet, ...still]), ...shape };
  const schema = z.object(whole).catchall(absent);
  enlist({
    ...{ name, uses, ignores, neutral },
    refuses: (field, value) =>
      schema.safeParse({ [field]: value }).error?.issues.some(({ path: [first] }) => first === field) === true,
  });
  return schema as unknown as z.ZodObject<Shape, z.core.$strip>;
}

function only(neutral: unknown, name: string) {
  const text = JSON.stringify(neutral);
  const isNeutral = (value: unknown) => value === undefined || value === null || JSON.stringify(value) === text;
  return z.custom<unknown>(isNeutral, { error: `none, or ${text}: ${name} has no other here` }).optional();
}

/**
 * The deepest issue: of a value that has one of several forms, that of the form which it nearly has. A field that is not known is named before one that
 * is missing, which may be the same one misspelt.
 */
export function nearestIssue(issues: readonly z.core.$ZodIssue[]): Pick<z.core.$ZodIssue, "message" | "path"> {
  const reached = issues.map((issue) => {
    if (issue.code !== "invalid_union" || issue.errors.length === 0) return issue;
    const isOfItsKind = (option: readonly z.core.$ZodIssue[]) => option.every(({ path }) => path.length > 0);
    const options = issue.errors.some(isOfItsKind) ? issue.errors.filter(isOfItsKind) : issue.errors;
    const fewest = Math.min(...options.map(({ length }) => length));
    const { message, path } = nearestIssue(options.filter(({ length }) => length === fewest).flat());
    return { message, path: [...issue.path, ...path] };
  });
  const rank = ({ path, message }: Pick<z.core.$ZodIssue, "message" | "path">) =>
    2 * path.length + Number(message.startsWith("no such field"));
  return reached.reduce((a, b) => (rank(b) > rank(a) ? b : a), reached[0] ?? { message: "other JSON", path: [] });
}

/** Settings as a door: a strict object, so that `parseSettings` suggests the intended name. */
export function settingsDoor<Shape extends z.ZodRawShape>(name: string, shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const schema = z.strictObject(shape);
  enlist({
    ...{ name, uses: Object.keys(shape), ignores: [], neutral: {} },
    refuses: (field, value) =>
      schema
        .safeParse({ [field]: value })
        .error?.issues.some((issue) => issue.code === "unrecognized_keys" && issue.keys.includes(field)) === true,
  });
  return schema;
}

/**
 * A function's options as a door. The record has every option of the type, so that the compiler keeps it whole.
 * @returns checks what a caller gave. It throws a ConfigError naming an option that the function does not have
 */
export function optionsDoor<Options>(
  name: string,
  known: Readonly<Record<keyof Options & string, true>>,
): (given: Readonly<Record<string, unknown>>) => void {
  const uses = Object.keys(known);
  const strangeIn = (given: Readonly<Record<string, unknown>>) =>
    Object.keys(given).find((option) => given[option] !== undefined && !uses.includes(option));
  enlist({ name, uses, ignores: [], neutral: {}, refuses: (field, value) => strangeIn({ [field]: value }) === field });
  return (given) => {
    const strange = strangeIn(given);
    if (strange === undefined) return;
    throw new ConfigError(`${name}: ${strange}`, given[strange], {
      expected: "no option of this name",
      hint: didYouMean(strange, uses) ?? `The options are ${uses.join(", ")}.`,
    });
  };
}
