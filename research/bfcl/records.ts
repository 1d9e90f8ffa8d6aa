import { ConfigError, EnvError } from "../../src/core/errors.ts";
import { isRecord } from "../../src/core/record.ts";
import { linesOf } from "../../src/files/bounded.ts";

type Fields = Readonly<Record<string, unknown>>;

/** An object of a JSONL file, which reads its fields with errors that name the line. */
export class JsonRecord {
  readonly value: Fields;
  /** As it was written: Python reads it once more, since 5 and 5.0 are two things there. */
  readonly line: string;
  private readonly where: string;

  constructor(value: Fields, line: string, where: string) {
    this.value = value;
    this.line = line;
    this.where = where;
  }

  /** @throws EnvError naming line, field, value and what was expected */
  wrong(field: string, value: unknown, expected: string, hint?: string): EnvError {
    const shown = value === undefined ? undefined : shortened(typeof value === "string" ? value : JSON.stringify(value));
    return new EnvError(`${this.where}: ${field}`, shown, { expected, hint });
  }

  text(field: string): string {
    const value = this.value[field];
    if (typeof value !== "string") throw this.wrong(field, value, "a text");
    return value;
  }

  optionalText(field: string): string | undefined {
    return Object.hasOwn(this.value, field) ? this.text(field) : undefined;
  }

  object(field: string): Fields {
    const value = this.value[field];
    if (!isRecord(value)) throw this.wrong(field, value, "an object");
    return value;
  }

  list(field: string): readonly unknown[] {
    const value = this.value[field];
    if (!Array.isArray(value)) throw this.wrong(field, value, "a list");
    return value;
  }

  texts(field: string): readonly string[] {
    return this.list(field).map((item, i) => {
      if (typeof item !== "string") throw this.wrong(`${field}[${i}]`, item, "a text");
      return item;
    });
  }
}

function shortened(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

/**
 * Reads the objects of a JSONL file, line by line; one whose name ends in .gz is unpacked. Empty lines are skipped.
 * @throws ConfigError if the file cannot be read; EnvError naming the line that is no JSON object
 */
export async function* readRecords(file: string): AsyncGenerator<JsonRecord> {
  let number = 0;
  try {
    for await (const line of linesOf(file)) {
      number++;
      if (line.trim() !== "") yield parseRecord(line, `${file} line ${number}`);
    }
  } catch (cause) {
    if (cause instanceof EnvError) throw cause;
    throw new ConfigError("file", file, { expected: "a JSONL file that can be read", cause });
  }
}

export function parseRecord(line: string, where: string): JsonRecord {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new EnvError(where, shortened(line), { expected: "one JSON object", cause });
  }
  if (!isRecord(value)) throw new EnvError(where, shortened(line), { expected: "one JSON object" });
  return new JsonRecord(value, line, where);
}
