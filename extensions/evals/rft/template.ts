import { ConfigError } from "../../../src/core/errors.ts";

/** An answer as a grader sees it, under OpenAI's names. */
export interface Sample {
  readonly output_text: string;
  /** The answer as JSON, where it is. */
  readonly output_json?: unknown;
  readonly output_tools?: readonly unknown[];
}

/** The namespaces of a grader's templates. */
export interface Seen {
  readonly sample: Sample;
  /** The row of the data. */
  readonly item: Readonly<Record<string, unknown>>;
}

/**
 * Fills a grader's template, such as `{{ item.reference_answer }}`. A value that is no text is JSON.
 * @throws ConfigError for a name that is neither in the sample nor in the item
 */
export function render(template: string, seen: Seen): string {
  return template.replace(/\{\{\s*([^}]*?)\s*\}\}/g, (_, path: string) => {
    const value = path
      .split(/[.[\]]+/)
      .filter((part) => part !== "")
      .reduce<unknown>(
        (at, part) => (typeof at === "object" && at !== null ? (at as Record<string, unknown>)[part] : undefined),
        seen,
      );
    if (value === undefined)
      throw new ConfigError(`{{${path}}} of a grader`, "nothing", {
        expected: `a field of the data (${Object.keys(seen.item).join(", ")}) as item.FIELD, or of the answer as sample.output_text`,
      });
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}
