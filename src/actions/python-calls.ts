import type { ToolCall } from "../core/messages.ts";
import { type ActionFormat, messageOf } from "./action.ts";
import { callOf, dumps, markedArguments } from "./json.ts";

type Parsed = { readonly calls: ToolCall[]; readonly end: number } | { readonly error: string };

/** A text that is not a list of calls. */
class CallSyntaxError extends Error {}

/**
 * Reads `[f(a="x", b=1), g()]`, or one call without brackets: Python's calls with keyword arguments that are literals. Dotted names are
 * names. Numbers keep their text.
 * @returns the calls and where they end
 */
export function parsePythonCalls(text: string): Parsed {
  const reader = new Reader(text);
  try {
    return { calls: reader.calls(), end: reader.at };
  } catch (problem) {
    if (problem instanceof CallSyntaxError) return { error: problem.message };
    throw problem;
  }
}

/** Calls as Python text: `[f(a="x"), g()]`. */
export function pythonText(calls: readonly ToolCall[]): string {
  const made = calls.map((call) => {
    const args = Object.entries(markedArguments(call)).map(([name, value]) => `${name}=${literal(value)}`);
    return `${call.name}(${args.join(", ")})`;
  });
  return `[${made.join(", ")}]`;
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object") return dumps(value);
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${literal(item)}`);
  return `{${members.join(", ")}}`;
}

/**
 * Python call text as an action: the first list of calls of a message is called, and a message without one is an answer.
 * Text that starts like a list of calls but is not one is an error for the model.
 * @example
 * pythonCalls().read("[add(a=2, b=3)]", []).calls[0]; // name "add", arguments { a: 2, b: 3 }
 */
export function pythonCalls(): ActionFormat {
  return {
    read: (text) => {
      const start = text.search(/\[\s*[A-Za-z_][\w.]*\s*\(/);
      const at = start === -1 && /^\s*[A-Za-z_][\w.]*\([\s\S]*\)\s*$/.test(text) ? 0 : start;
      if (at === -1) return { message: { role: "assistant", content: text }, calls: [] };
      const parsed = parsePythonCalls(text.slice(at));
      const calls = "error" in parsed ? [{ error: `${parsed.error}. Write [f(argument="text", other=1)].` }] : parsed.calls;
      const read = messageOf(text, calls);
      return { ...read, message: { ...read.message, content: text } };
    },
  };
}

const number = /[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?/y;
const identifier = /[\p{L}_][\p{L}\p{M}\p{N}_.-]*/uy;
const constants: Readonly<Record<string, string>> = {
  True: "true",
  False: "false",
  None: "null",
  true: "true",
  false: "false",
  null: "null",
};
const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", v: "\v", a: "\x07", 0: "\0" };

/** Values are read as JSON text. */
class Reader {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  calls(): ToolCall[] {
    return this.#accept("[") ? this.#until("]", () => this.#call()) : [this.#call()];
  }

  /** Items with commas between them, up to a closing sign. */
  #until<T>(close: string, item: () => T): T[] {
    const items: T[] = [];
    while (!this.#accept(close)) {
      items.push(item());
      if (!this.#accept(",") && !this.#peek(close)) throw this.#expected(`"," or "${close}"`);
    }
    return items;
  }

  #call(): ToolCall {
    const name = this.#match(identifier, "a function's name");
    if (!this.#accept("(")) throw this.#expected(`"(" after ${name}`);
    const members = this.#until(")", () => {
      const key = this.#match(identifier, `an argument of ${name} with its name`);
      if (!this.#accept("=")) throw this.#expected(`"=" after ${key}: arguments need their names`);
      return `${JSON.stringify(key)}: ${this.#value()}`;
    });
    const call = callOf(name, `{${members.join(", ")}}`, 'f(argument="text")');
    if ("error" in call) throw new CallSyntaxError(call.error);
    return call;
  }

  #value(): string {
    this.#space();
    const char = this.#text[this.at];
    if (char === "[" || char === "(") return this.#sequence(char === "[" ? "]" : ")");
    if (char === "{") return this.#dict();
    const quoted = /^[rRbBuU]?["']/.exec(this.#text.slice(this.at, this.at + 2));
    if (quoted !== null) return JSON.stringify(this.#string(quoted[0].length - 1));
    number.lastIndex = this.at;
    const found = number.exec(this.#text)?.[0];
    if (found !== undefined) {
      this.at += found.length;
      return found
        .replaceAll("_", "")
        .replace(/^\+/, "")
        .replace(/^(-?)\./, "$10.")
        .replace(/\.(?=$|[eE])/, ".0");
    }
    const word = this.#match(identifier, "a value");
    const constant = constants[word];
    if (constant === undefined) throw new CallSyntaxError(`${word} is not a literal`);
    return constant;
  }

  #sequence(close: string): string {
    this.at++;
    return `[${this.#until(close, () => this.#value()).join(", ")}]`;
  }

  #dict(): string {
    this.at++;
    const members = this.#until("}", () => {
      const key = this.#value();
      if (!this.#accept(":")) throw this.#expected('":"');
      return `${key.startsWith('"') ? key : JSON.stringify(key)}: ${this.#value()}`;
    });
    return `{${members.join(", ")}}`;
  }

  /** @param prefix characters before the quote */
  #string(prefix: number): string {
    const raw = /r/i.test(this.#text.slice(this.at, this.at + prefix));
    this.at += prefix;
    const char = this.#text.charAt(this.at);
    const quote = this.#text.startsWith(char.repeat(3), this.at) ? char.repeat(3) : char;
    this.at += quote.length;
    let value = "";
    while (!this.#text.startsWith(quote, this.at)) {
      if (this.at >= this.#text.length) throw new CallSyntaxError("A string is not closed");
      value += this.#text[this.at] === "\\" && !raw ? this.#escape() : this.#text[this.at++];
    }
    this.at += quote.length;
    return value;
  }

  #escape(): string {
    const hex = /^\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8})/.exec(this.#text.slice(this.at, this.at + 10));
    if (hex !== null) {
      const code = Number.parseInt(hex[0].slice(2), 16);
      if (code > 0x10ffff) throw new CallSyntaxError(`${hex[0]} is no character`);
      this.at += hex[0].length;
      return String.fromCodePoint(code);
    }
    const char = this.#text[this.at + 1] ?? "";
    this.at += 2;
    if (char === "\n") return "";
    return escapes[char] ?? (/["'\\]/.test(char) ? char : `\\${char}`);
  }

  #match(pattern: RegExp, what: string): string {
    this.#space();
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) throw this.#expected(what);
    this.at += found.length;
    return found;
  }

  #accept(char: string): boolean {
    if (!this.#peek(char)) return false;
    this.at++;
    return true;
  }

  #peek(char: string): boolean {
    this.#space();
    return this.#text[this.at] === char;
  }

  #space(): void {
    while (/\s/.test(this.#text[this.at] ?? "")) this.at++;
  }

  #expected(what: string): CallSyntaxError {
    const found = this.#text.slice(this.at, this.at + 20);
    return new CallSyntaxError(`Expected ${what}, not ${found === "" ? "the end" : JSON.stringify(found)}`);
  }
}
