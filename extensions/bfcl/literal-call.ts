import { reserved } from "./python/token-cursor.ts";
import { Dict, type Value } from "./python/values.ts";

/** A call of one function whose arguments are all literals. */
export interface LiteralCall {
  readonly name: string;
  readonly positional: readonly Value[];
  /** Names and values. A name occurs once. */
  readonly keywords: readonly (readonly [string, Value])[];
}

/**
 * Reads a call such as `mv(source='a.txt', destination="b")` in one pass. It is a shortcut of the parser for the form that nearly all calls
 * have: names in ASCII, texts, decimal numbers, True, False, None, lists and dicts with texts as keys.
 * @returns undefined for every other text: what it means, or why it means nothing, is the parser's to say
 */
export function readLiteralCall(text: string): LiteralCall | undefined {
  const reader = new Reader(text);
  const name = reader.name();
  if (name === "" || text.charCodeAt(reader.at) !== code.open) return undefined;
  reader.at++;
  const positional: Value[] = [];
  const keywords: [string, Value][] = [];
  while (reader.next() !== code.close) {
    const start = reader.at;
    const keyword = reader.name();
    if (keyword !== "" && reader.next() === code.equals) {
      reader.at++;
      const value = reader.literal();
      if (value === undefined || keywords.some(([known]) => known === keyword) || reserved.has(keyword)) return undefined;
      keywords.push([keyword, value]);
    } else {
      reader.at = start;
      const value = reader.literal();
      if (value === undefined || keywords.length > 0) return undefined;
      positional.push(value);
    }
    const after = reader.next();
    if (after === code.comma) reader.at++;
    else if (after !== code.close) return undefined;
    // f(,) is no call, and the loop above reads no argument before a comma.
  }
  reader.at++;
  return reader.at === text.length ? { name, positional, keywords } : undefined;
}

const code = {
  space: 32,
  quote: 34,
  apostrophe: 39,
  open: 40,
  close: 41,
  comma: 44,
  minus: 45,
  point: 46,
  colon: 58,
  equals: 61,
  openList: 91,
  backslash: 92,
  closeList: 93,
  openDict: 123,
  closeDict: 125,
} as const;

const escapes: Readonly<Record<string, string>> = { "\\": "\\", "'": "'", '"': '"', n: "\n", r: "\r", t: "\t" };
/** An escape of a character that is no half of a surrogate pair: Python keeps such halves apart. */
const hexEscape = /x([0-9a-fA-F]{2})|u((?![dD][89a-fA-F])[0-9a-fA-F]{4})/y;

/** Reads from the left. Every method returns undefined, or an empty text, where it cannot read. */
class Reader {
  at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Skips spaces. @returns the code of the character behind them, NaN at the end */
  next(): number {
    while (this.text.charCodeAt(this.at) === code.space) this.at++;
    return this.text.charCodeAt(this.at);
  }

  name(): string {
    const { text } = this;
    const start = this.at;
    let at = start;
    for (; at < text.length; at++) {
      const c = text.charCodeAt(at);
      const letter = (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || c === 95;
      if (!letter && !(at > start && isDigit(c))) break;
    }
    this.at = at;
    return text.slice(start, at);
  }

  literal(): Value | undefined {
    const c = this.next();
    if (c === code.apostrophe || c === code.quote) return this.string(c);
    if (isDigit(c) || c === code.minus) return this.number();
    if (c === code.openList) return this.list();
    if (c === code.openDict) return this.dict();
    switch (this.name()) {
      case "True":
        return true;
      case "False":
        return false;
      case "None":
        return null;
    }
    return undefined;
  }

  /** A text on one line. With "(" within it is rewritten before it is parsed, so it is none that can be read here. */
  private string(quote: number): string | undefined {
    const { text } = this;
    let out = "";
    let start = ++this.at;
    for (let at = start; at < text.length; at++) {
      const c = text.charCodeAt(at);
      if (c === quote) {
        this.at = at + 1;
        // A quote here begins another text, or has begun one in triple quotes.
        const after = this.next();
        return after === code.quote || after === code.apostrophe ? undefined : out + text.slice(start, at);
      }
      if (c === code.backslash) {
        const [escaped, length] = this.escape(at + 1);
        if (length === 0) return undefined;
        out += text.slice(start, at) + escaped;
        at += length;
        start = at + 1;
      } else if (isPlain(c)) {
        if (c === code.open) return undefined;
      } else if (isPair(c, text.charCodeAt(at + 1))) at++;
      else return undefined;
    }
    return undefined;
  }

  /** The character of the escape behind a backslash, and the length of what is written there: 0 for others than the common ones. */
  private escape(at: number): readonly [string, number] {
    const simple = escapes[this.text[at]];
    if (simple !== undefined) return [simple, 1];
    hexEscape.lastIndex = at;
    const match = hexEscape.exec(this.text);
    return match === null ? ["", 0] : [String.fromCharCode(Number.parseInt(match[1] ?? match[2], 16)), match[0].length];
  }

  private number(): bigint | number | undefined {
    const { text } = this;
    const start = this.at;
    let at = start;
    if (text.charCodeAt(at) === code.minus) at++;
    const first = at;
    while (isDigit(text.charCodeAt(at))) at++;
    const digits = at - first;
    if (digits === 0 || digits > 300 || (digits > 1 && text.charCodeAt(first) === 48)) return undefined;
    const whole = text.charCodeAt(at) !== code.point;
    if (!whole) {
      const point = at++;
      while (isDigit(text.charCodeAt(at))) at++;
      if (at === point + 1) return undefined;
    }
    this.at = at;
    if (!endsLiteral(this.next())) return undefined;
    const read = text.slice(start, at);
    return whole ? BigInt(read) : Number(read);
  }

  private list(): Value[] | undefined {
    const items: Value[] = [];
    this.at++;
    while (this.next() !== code.closeList) {
      const item = this.literal();
      if (item === undefined) return undefined;
      items.push(item);
      if (!this.separated(code.closeList)) return undefined;
    }
    this.at++;
    return items;
  }

  private dict(): Dict | undefined {
    const dict = new Dict();
    this.at++;
    while (this.next() !== code.closeDict) {
      const quote = this.next();
      const key = quote === code.apostrophe || quote === code.quote ? this.string(quote) : undefined;
      if (key === undefined || this.next() !== code.colon) return undefined;
      this.at++;
      const value = this.literal();
      if (value === undefined) return undefined;
      dict.set(key, value);
      if (!this.separated(code.closeDict)) return undefined;
    }
    this.at++;
    return dict;
  }

  /** True after a comma, which is skipped, and before the closing bracket. */
  private separated(bracket: number): boolean {
    const after = this.next();
    if (after === code.comma) this.at++;
    return after === code.comma || after === bracket;
  }
}

function isDigit(c: number): boolean {
  return c >= 48 && c <= 57;
}

/** A character that means itself in a literal: neither a control character nor one that needs a second look. */
function isPlain(c: number): boolean {
  return (c >= 32 && c <= 126) || (c >= 0xa0 && c < 0xd800);
}

/** True for the two halves of a character beyond 16 bits. */
function isPair(high: number, low: number): boolean {
  return high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000;
}

function endsLiteral(c: number): boolean {
  return c === code.comma || c === code.close || c === code.closeList || c === code.closeDict;
}
