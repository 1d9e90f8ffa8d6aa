import { z } from "zod";
import { ConfigError, type ErrorDetails, type RetrogradeError } from "./errors.ts";

/**
 * Checks settings from a file, a flag or an argument.
 * @param at where the value stands among all settings, such as "environment.settings"; "" for the root
 * @throws ConfigError naming the first setting that is wrong; a misspelt name before any other
 */
export function parseSettings<Schema extends z.ZodType>(schema: Schema, value: unknown, at = ""): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = misspeltFirst(result.error.issues);
  throw issue === undefined ? result.error : settingError(schema, issue, value, at);
}

/** A condition between settings. */
export interface Check<Settings> {
  readonly holds: (settings: Settings) => boolean;
  /** Path of the setting that is named where it does not hold. */
  readonly setting: string;
  readonly expected: string;
  /** The next step. */
  readonly hint?: string;
}

/** @throws ConfigError, or another class of error, for the first condition that does not hold */
export function requireAll<Settings>(
  checks: readonly Check<Settings>[],
  settings: Settings,
  Failure: new (subject: string, value: unknown, details: ErrorDetails) => RetrogradeError = ConfigError,
): void {
  const broken = checks.find(({ holds }) => !holds(settings));
  if (broken !== undefined) throw new Failure(broken.setting, valueAt(settings, broken.setting.split(".")), broken);
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((parent, key) => (parent as Record<PropertyKey, unknown> | undefined)?.[key], root);
}

/** The candidate that a misspelt word was probably meant to be: at most a third of its letters away. */
export function closest(word: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  return ranked[0] !== undefined && ranked[0].distance <= Math.max(1, word.length / 3) ? ranked[0].candidate : undefined;
}

/** "Did you mean …?", where there is something near. */
export function didYouMean(word: string, candidates: readonly string[]): string | undefined {
  const near = closest(word, candidates);
  return near === undefined ? undefined : `Did you mean ${JSON.stringify(near)}?`;
}

function settingError(schema: z.ZodType, issue: z.core.$ZodIssue, root: unknown, at: string): ConfigError {
  const subject = [at, ...issue.path].filter((part) => part !== "").join(".") || "configuration";
  const value = valueAt(root, issue.path);
  switch (issue.code) {
    case "unrecognized_keys": {
      const [key = ""] = issue.keys;
      const known = knownKeys(schemaAt(schema, issue.path, root));
      return new ConfigError(subject === "configuration" ? key : `${subject}.${key}`, (value as Record<string, unknown>)[key], {
        expected: "no setting of this name",
        hint: didYouMean(key, known) ?? (known.length > 0 ? `The settings here are ${known.join(", ")}.` : undefined),
      });
    }
    case "invalid_value":
      return new ConfigError(subject, value, oneOf(value, issue.values.map(String)));
    case "invalid_union": {
      const firsts = issue.errors.flatMap(([first]) => first ?? []);
      if ("options" in issue && Array.isArray(issue.options))
        return new ConfigError(subject, value, oneOf(value, issue.options.map(String)));
      // The option that the value's shape chose has looked inside of it: what is wrong there says more.
      const [nearest = []] = issue.errors.filter((option) => option.some(isInside)).toSorted((a, b) => a.length - b.length);
      const inner = misspeltFirst(nearest);
      if (inner !== undefined) return settingError(schema, { ...inner, path: [...issue.path, ...inner.path] }, root, at);
      return new ConfigError(subject, value, {
        expected: firsts.map(phrase).join(", or "),
        hint: oneOf(
          value,
          firsts.flatMap((first) => (first.code === "invalid_value" ? first.values.map(String) : [])),
        ).hint,
      });
    }
    default:
      return new ConfigError(subject, value, { expected: phrase(issue) });
  }
}

function misspeltFirst(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue | undefined {
  return issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
}

const isInside = ({ path, code }: z.core.$ZodIssue) => path.length > 0 || code === "unrecognized_keys";

function oneOf(value: unknown, options: readonly string[]) {
  return { expected: options, hint: typeof value === "string" ? didYouMean(value, options) : undefined };
}

function phrase(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "int" ? "a whole number" : `${/^[aeio]/.test(issue.expected) ? "an" : "a"} ${issue.expected}`;
    case "invalid_value":
      return issue.values.map((option) => JSON.stringify(option)).join(", ");
    case "too_small":
      return `${issue.inclusive ? "at least" : "more than"} ${issue.minimum}`;
    case "too_big":
      return `${issue.inclusive ? "at most" : "less than"} ${issue.maximum}`;
    default:
      return issue.message;
  }
}

/** The schema that a path of a value leads to. */
function schemaAt(schema: z.core.$ZodType, path: readonly PropertyKey[], value: unknown): z.core.$ZodType | undefined {
  const inner = unwrap(schema, value);
  const [key, ...rest] = path;
  if (key === undefined) return inner;
  if (inner instanceof z.ZodArray) return schemaAt(inner.element, rest, (value as Record<PropertyKey, unknown>)[key]);
  if (!(inner instanceof z.ZodObject) || inner.shape[String(key)] === undefined) return undefined;
  return schemaAt(inner.shape[String(key)], rest, (value as Record<PropertyKey, unknown>)[key]);
}

/** Through defaults and optionals, and into the option of a discriminated union that the value chose. */
function unwrap(schema: z.core.$ZodType, value: unknown): z.core.$ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
    return unwrap(schema.def.innerType, value);
  if (schema instanceof z.ZodLazy) return unwrap(schema.unwrap(), value);
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const { discriminator, options } = schema.def;
    const tag = { [discriminator]: (value as Record<string, unknown>)[discriminator] };
    const chosen = options.find(
      (option) => z.object({ [discriminator]: discriminatorOf(option, discriminator) }).safeParse(tag).success,
    );
    return chosen ?? schema;
  }
  if (schema instanceof z.ZodUnion && typeof value === "object")
    return schema.def.options.find((option) => option instanceof z.ZodObject) ?? schema;
  return schema;
}

function discriminatorOf(option: z.core.$ZodType, discriminator: string): z.core.$ZodType {
  return option instanceof z.ZodObject ? option.shape[discriminator] : z.never();
}

function knownKeys(schema: z.core.$ZodType | undefined): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment). */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [];
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 0; i <= a.length; i++) {
    const row: number[] = [];
    rows.push(row);
    for (let j = 0; j <= b.length; j++) {
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(i - 2, j - 2) + 1 : Infinity;
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(i + j === 0 ? 0 : Math.min(at(i, j - 1) + 1, at(i - 1, j) + 1, replaced, swapped));
    }
  }
  return at(a.length, b.length);
}
