import { Dict, type Value } from "./values.ts";

/** A text that is not JSON. */
export class JsonSyntaxError extends Error {}

/**
 * Reads JSON as Python's `json.loads` does: ints and floats stay apart, ints have no bound, NaN and Infinity are numbers, and the last of
 * several equal keys wins.
 * @throws JsonSyntaxError
 */
export function parseJson(text: string): Value {
  const reader = new Reader(text);
  const value = reader.value();
  reader.space();
  if (reader.at < text.length) reader.fail("the end of the text");
  return value;
}

const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y;
const constants: readonly (readonly [string, Value])[] = [
  ["null", null],
  ["true", true],
  ["false", false],
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
];

class Reader {
  at = 0;
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  space(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.at++;
    }
  }

  value(): Value {
    this.space();
    switch (this.text[this.at]) {
      case "{":
        return this.object();
      case "[":
        return this.array();
      case '"':
        return this.string();
    }
    number.lastIndex = this.at;
    const match = number.exec(this.text);
    if (match !== null) {
      this.at += match[0].length;
      return match[1] === undefined && match[2] === undefined ? BigInt(match[0]) : Number(match[0]);
    }
    for (const [word, value] of constants) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.fail("a value");
  }

  private object(): Dict {
    const dict = new Dict();
    this.at++;
    this.space();
    if (this.text[this.at] === "}") {
      this.at++;
      return dict;
    }
    for (;;) {
      this.space();
      if (this.text[this.at] !== '"') this.fail("a key in double quotes");
      const key = this.string();
      this.space();
      if (this.text[this.at] !== ":") this.fail('":"');
      this.at++;
      dict.set(key, this.value());
      if (this.closes("}")) return dict;
    }
  }

  private array(): Value[] {
    const items: Value[] = [];
    this.at++;
    this.space();
    if (this.text[this.at] === "]") {
      this.at++;
      return items;
    }
    for (;;) {
      items.push(this.value());
      if (this.closes("]")) return items;
    }
  }

  /** True after the closing bracket, false after a comma. */
  private closes(bracket: string): boolean {
    this.space();
    const character = this.text[this.at];
    if (character !== "," && character !== bracket) this.fail(`"," or "${bracket}"`);
    this.at++;
    return character === bracket;
  }

  private string(): string {
    const start = this.at;
    let end = start + 1;
    while (end < this.text.length && this.text[end] !== '"') end += this.text[end] === "\\" ? 2 : 1;
    if (end >= this.text.length) this.fail("the end of a string that is not closed");
    this.at = end + 1;
    try {
      return JSON.parse(this.text.slice(start, this.at)) as string;
    } catch {
      this.at = start;
      return this.fail("a string without control characters and with known escapes");
    }
  }

  fail(expected: string): never {
    throw new JsonSyntaxError(`expected ${expected} at character ${this.at + 1}`);
  }
}
