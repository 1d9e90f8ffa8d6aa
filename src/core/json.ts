import { z } from "zod";

/** Parses JSON; undefined for invalid text, since JSON cannot express undefined. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * A text as JSON of one form.
 * @param fail makes the error, given what was expected: "JSON", or what is wrong with the form
 * @throws what `fail` makes
 */
export function parseJson<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  fail: (expected: string, cause: unknown) => Error,
): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw fail(cause instanceof z.ZodError ? z.prettifyError(cause) : "JSON", cause);
  }
}
