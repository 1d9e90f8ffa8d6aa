import { ModelError } from "../../../../src/core/errors.ts";
import type { Gguf } from "./file.ts";
import type { GgufValue } from "./reader.ts";

/** Reads fields of the metadata by name and type. @param file names the source in errors */
export class Metadata {
  readonly #values: ReadonlyMap<string, GgufValue>;
  readonly file: string;

  constructor({ metadata }: Pick<Gguf, "metadata">, file: string) {
    this.#values = metadata;
    this.file = file;
  }

  raw(key: string): GgufValue | undefined {
    return this.#values.get(key);
  }

  number(key: string): number | undefined {
    return this.#typed(key, "a number", (value) => typeof value === "number" && Number.isFinite(value));
  }

  text(key: string): string | undefined {
    return this.#typed(key, "a text", (value) => typeof value === "string");
  }

  flag(key: string): boolean | undefined {
    return this.#typed(key, "true or false", (value) => typeof value === "boolean");
  }

  texts(key: string): readonly string[] | undefined {
    return this.#typed(key, "a list of texts", (value) => isListOf(value, "string"));
  }

  numbers(key: string): readonly number[] | undefined {
    return this.#typed(key, "a list of numbers", (value) => isListOf(value, "number"));
  }

  /** @throws ModelError if the field is missing */
  required<T>(key: string, value: T | undefined): T {
    if (value !== undefined) return value;
    throw new ModelError(`${key} in ${this.file}`, undefined, {
      hint: "The file is incomplete: download it again, or another one.",
    });
  }

  refuse(key: string, expected: string | readonly unknown[], hint?: string): never {
    throw new ModelError(`${key} in ${this.file}`, this.raw(key), { expected, hint });
  }

  #typed<T>(key: string, expected: string, fits: (value: GgufValue) => boolean): T | undefined {
    const value = this.#values.get(key);
    if (value === undefined || fits(value)) return value as T | undefined;
    return this.refuse(key, expected);
  }
}

function isListOf(value: GgufValue, type: "string" | "number"): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === type);
}
