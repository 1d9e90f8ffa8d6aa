import { asciiDigits } from "./characters.ts";
import { Bytes, Complex } from "./objects.ts";
import { PyError, type Value } from "./values.ts";

/** A part of an expression's text. A string's value is kept apart, since neighbours join. */
export type Token =
  | { readonly kind: "name" | "operator" | "end"; readonly text: string; readonly level: number; readonly line: number }
  | {
      readonly kind: "number" | "string";
      readonly text: string;
      readonly value: Value;
      readonly level: number;
      readonly line: number;
    }
  | {
      readonly kind: "format";
      readonly text: string;
      readonly parts: readonly FormatPart[];
      readonly level: number;
      readonly line: number;
    };

/** A part of an f-string: literal text, or an expression's text with its conversion and format. */
export type FormatPart =
  | string
  | { readonly expression: string; readonly conversion: string; readonly format: string; readonly shown: string };

export function syntaxError(message: string, line = 1): PyError {
  return new PyError("SyntaxError", `${message} (<string>, line ${line})`);
}

const name = /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*/uy;
const number =
  /0[xX](?:_?[\da-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|(?:(?:\d+(?:_\d+)*)?\.\d+(?:_\d+)*|\d+(?:_\d+)*\.?)(?:[eE][-+]?\d+(?:_\d+)*)?[jJ]?/y;
const operator = /\*\*|\/\/|<<|>>|<=|>=|==|!=|->|:=|\.\.\.|[-+*/%@&|^~<>()[\]{},:.=;]=?/y;
const stringStart = /([rR]?[bB]|[bB]?[rR]|[uU]|[fF][rR]?|[rR][fF])?("""|'''|"|')/y;
const brackets: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{" };

/** Splits the text of an expression. @throws PyError SyntaxError in CPython 3.11's words */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  const open: { bracket: string; line: number }[] = [];
  let line = 1;
  let at = 0;
  while (at < source.length) {
    const character = source.charAt(at);
    if (character === " " || character === "\t" || character === "\f") {
      at++;
      continue;
    }
    if (character === "\n" || character === "\r") {
      if (open.length === 0) tokens.push({ kind: "operator", text: "\n", level: 0, line });
      at += source.startsWith("\r\n", at) ? 2 : 1;
      line++;
      continue;
    }
    if (character === "#") {
      while (at < source.length && source[at] !== "\n") at++;
      continue;
    }
    if (character === "\\") {
      if (!/^\\\r?\n/.test(source.slice(at, at + 3)))
        throw syntaxError(
          at + 1 >= source.length ? "unexpected EOF while parsing" : "unexpected character after line continuation character",
          line,
        );
      at += source[at + 1] === "\r" ? 3 : 2;
      line++;
      continue;
    }
    const level = open.length;
    const word = asciiWord(source, at);
    if (word !== "" && !isQuote(source[at + word.length]) && !beyondAscii(source, at + word.length)) {
      tokens.push({ kind: "name", text: word, level, line });
      at += word.length;
      continue;
    }
    if (word !== "" || isQuote(character)) {
      stringStart.lastIndex = at;
      const [, prefix = "", quote] = stringStart.exec(source) ?? [];
      if (quote !== undefined) {
        const token = readString(source, at, prefix, quote, level, line);
        tokens.push(token);
        at += token.text.length;
        if (token.text.includes("\n")) line += token.text.split("\n").length - 1;
        continue;
      }
    }
    if ((character >= "0" && character <= "9") || character === ".") {
      number.lastIndex = at;
      const digits = number.exec(source);
      if (digits === null) {
        const text = source.startsWith("...", at) ? "..." : ".";
        tokens.push({ kind: "operator", text, level, line });
        at += text.length;
        continue;
      }
      const text = digits[0];
      checkNumber(source, at, text, line);
      tokens.push({ kind: "number", text, value: numberValue(text, line), level, line });
      at += text.length;
      continue;
    }
    name.lastIndex = at;
    const letters = name.exec(source);
    if (letters !== null) {
      tokens.push({ kind: "name", text: letters[0].normalize("NFKC"), level, line });
      at += letters[0].length;
      continue;
    }
    operator.lastIndex = at;
    const sign = operator.exec(source);
    if (sign === null && "$?!`".includes(character)) {
      // CPython's tokenizer passes them on, and its parser takes them nowhere.
      tokens.push({ kind: "operator", text: character, level, line });
      at++;
      continue;
    }
    if (sign === null) throw unknownCharacter(source, at, line);
    let text = sign[0];
    if (/^[()[\]{},:~;.]=$/.test(text) && text !== ":=") text = text.charAt(0);
    if (text === "=" && source[at + 1] === "=") text = "==";
    if ("([{".includes(text)) open.push({ bracket: text, line });
    if (brackets[text] !== undefined) {
      const last = open.pop();
      if (last === undefined) throw syntaxError(`unmatched '${text}'`, line);
      if (last.bracket !== brackets[text]) {
        const where = last.line === line ? "" : ` on line ${last.line}`;
        throw syntaxError(`closing parenthesis '${text}' does not match opening parenthesis '${last.bracket}'${where}`, line);
      }
    }
    tokens.push({ kind: "operator", text, level: open.length, line });
    at += text.length;
  }
  const unclosed = open.at(-1);
  tokens.push({
    kind: "end",
    text: unclosed === undefined ? "" : unclosed.bracket,
    level: open.length,
    line: unclosed?.line ?? line,
  });
  return tokens;
}

/** The word of ASCII letters, digits and underscores that begins here. Empty if there is none. */
function asciiWord(source: string, start: number): string {
  let at = start;
  for (; at < source.length; at++) {
    const code = source.charCodeAt(at);
    const letter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95;
    if (!letter && !(at > start && code >= 48 && code <= 57)) break;
  }
  return source.slice(start, at);
}

function isQuote(character: string | undefined): boolean {
  return character === "'" || character === '"';
}

function beyondAscii(source: string, at: number): boolean {
  return at < source.length && source.charCodeAt(at) > 127;
}

function unknownCharacter(source: string, at: number, line: number): PyError {
  const code = source.codePointAt(at) ?? 0;
  const character = String.fromCodePoint(code);
  const hex = code.toString(16).toUpperCase().padStart(4, "0");
  return /[\p{C}\p{Z}]/u.test(character)
    ? syntaxError(`invalid non-printable character U+${hex}`, line)
    : syntaxError(`invalid character '${character}' (U+${hex})`, line);
}

function checkNumber(source: string, at: number, text: string, line: number): void {
  if (/^[1-9]\d*$|^\d+\.\d+$/.test(text) && /[\s,)\]}]/.test(source[at + text.length] ?? ",")) return;
  const next = source.slice(at + text.length, at + text.length + 12);
  if (/^0\d/.test(text) && /^[\d_]+$/.test(text) && /[1-9]/.test(text))
    throw syntaxError("leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers", line);
  if (/^0$/.test(text) && /^[xX]/.test(next)) throw syntaxError("invalid hexadecimal literal", line);
  if (/^0$/.test(text) && /^[oO]/.test(next)) throw syntaxError("invalid octal literal", line);
  if (/^0$/.test(text) && /^[bB]/.test(next)) throw syntaxError("invalid binary literal", line);
  const word = /^[\p{L}_\p{Nd}]+/u.exec(next)?.[0];
  // Keywords may follow a number at once ("1if x else 2").
  if (word !== undefined && !/^(and|else|for|if|in|is|not|or)/.test(word))
    throw syntaxError(/[jJ]$/.test(text) ? "invalid imaginary literal" : "invalid decimal literal", line);
}

function numberValue(text: string, line: number): Value {
  const plain = text.replaceAll("_", "");
  if (/^0[xXoObB]/.test(plain)) return BigInt(plain.toLowerCase());
  if (/[jJ]$/.test(plain)) return new Complex(0, Number(plain.slice(0, -1)));
  if (!/^\d+$/.test(plain)) return Number(plain);
  if (plain.length > 4300)
    throw syntaxError(
      `Exceeds the limit (4300 digits) for integer string conversion: value has ${plain.length} digits; use sys.set_int_max_str_digits() to increase the limit - Consider hexadecimal for huge integer literals to avoid decimal conversion limits.`,
      line,
    );
  return BigInt(asciiDigits(plain));
}

function readString(source: string, at: number, prefix: string, quote: string, level: number, line: number): Token {
  let end = at + prefix.length + quote.length;
  for (;;) {
    if (end >= source.length || (quote.length === 1 && source[end] === "\n")) {
      const lines = source.slice(at).split("\n").length - 1;
      throw quote.length === 1
        ? syntaxError(`unterminated string literal (detected at line ${line})`, line)
        : syntaxError(`unterminated triple-quoted string literal (detected at line ${line + lines})`, line);
    }
    if (source[end] === "\\") end += 2;
    else if (source.startsWith(quote, end)) break;
    else end++;
  }
  const text = source.slice(at, end + quote.length);
  const body = source.slice(at + prefix.length + quote.length, end);
  const kinds = prefix.toLowerCase();
  const raw = kinds.includes("r");
  if (kinds.includes("f")) return { kind: "format", text, parts: formatParts(body, raw, line), level, line };
  if (kinds.includes("b")) {
    if ([...body].some((character) => character > "\x7f"))
      throw syntaxError("bytes can only contain ASCII literal characters", line);
    return { kind: "string", text, value: new Bytes(raw ? body : unescaped(body, true, line)), level, line };
  }
  return { kind: "string", text, value: raw ? body : unescaped(body, false, line), level, line };
}

const simpleEscapes: Readonly<Record<string, string>> = {
  "\n": "",
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

const escapeSequence = /\\(\r\n|[0-7]{1,3}|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|N\{[^}]*\}|[\s\S])/g;

function unescaped(body: string, bytes: boolean, line: number): string {
  if (!body.includes("\\")) return body;
  return body.replace(escapeSequence, (whole, what: string, offset: number) => {
    if (/^[0-7]/.test(what)) return String.fromCharCode(Number.parseInt(what, 8) & (bytes ? 0xff : 0x1ff));
    if (what === "\r\n") return "";
    if (what.length > 1 && what.startsWith("x")) return String.fromCharCode(Number.parseInt(what.slice(1), 16));
    if (!bytes && what.length > 1 && /^[uU]/.test(what)) {
      const code = Number.parseInt(what.slice(1), 16);
      if (code > 0x10ffff) throw unicodeError("illegal Unicode character", offset, offset + 9, line);
      return String.fromCodePoint(code);
    }
    if (simpleEscapes[what] !== undefined) return simpleEscapes[what];
    if (what === "x") {
      if (bytes)
        throw new PyError("SyntaxError", `(value error) invalid \\x escape at position ${offset} (<string>, line ${line})`);
      throw unicodeError("truncated \\xXX escape", offset, offset + 1 + hexDigits(body, offset, 2), line);
    }
    if (!bytes && what === "u")
      throw unicodeError("truncated \\uXXXX escape", offset, offset + 1 + hexDigits(body, offset, 4), line);
    if (!bytes && what === "U")
      throw unicodeError("truncated \\UXXXXXXXX escape", offset, offset + 1 + hexDigits(body, offset, 8), line);
    if (!bytes && what.startsWith("N{")) throw unicodeError("unknown Unicode character name", offset, offset + what.length, line);
    if (!bytes && what === "N") throw unicodeError("malformed \\N character escape", offset, offset + 1, line);
    return whole;
  });
}

function hexDigits(body: string, offset: number, most: number): number {
  return /^[\da-fA-F]*/.exec(body.slice(offset + 2, offset + 2 + most))?.[0].length ?? 0;
}

function unicodeError(what: string, start: number, end: number, line: number): PyError {
  return syntaxError(`(unicode error) 'unicodeescape' codec can't decode bytes in position ${start}-${end}: ${what}`, line);
}

/** Splits an f-string's body. Expressions may hold brackets and quotes of the other kind. */
function formatParts(body: string, raw: boolean, line: number): FormatPart[] {
  const parts: FormatPart[] = [];
  let text = "";
  const literal = () => {
    if (text !== "") parts.push(raw ? text : unescaped(text, false, line));
    text = "";
  };
  for (let at = 0; at < body.length; ) {
    if (body.startsWith("{{", at) || body.startsWith("}}", at)) {
      text += body[at];
      at += 2;
    } else if (body[at] === "}") throw syntaxError("f-string: single '}' is not allowed", line);
    else if (body[at] !== "{") text += body[at++];
    else {
      literal();
      const field = formatField(body, at + 1, line);
      parts.push(field.part);
      at = field.end;
    }
  }
  literal();
  return parts;
}

function formatField(body: string, start: number, line: number): { part: FormatPart; end: number } {
  const open: string[] = [];
  let quote = "";
  let at = start;
  for (; at < body.length; at++) {
    const c = body.charAt(at);
    if (quote !== "") {
      if (c === quote) quote = "";
    } else if (c === "'" || c === '"') quote = c;
    else if ("([{".includes(c)) open.push(c);
    else if (open.length === 0 && (c === "}" || c === ":" || (c === "!" && body[at + 1] !== "="))) break;
    else if (")]}".includes(c)) {
      const last = open.pop();
      if (last === undefined) throw syntaxError(`f-string: unmatched '${c}'`, line);
      if (last !== brackets[c])
        throw syntaxError(`f-string: closing parenthesis '${c}' does not match opening parenthesis '${last}'`, line);
    }
  }
  if (quote !== "") throw syntaxError("f-string: unterminated string", line);
  if (open.length > 0) throw syntaxError(`f-string: unmatched '${open.at(-1)}'`, line);
  if (at >= body.length) throw syntaxError("f-string: expecting '}'", line);
  const shown = /=\s*$/.test(body.slice(start, at)) && !/[=!<>]=\s*$/.test(body.slice(start, at)) ? body.slice(start, at) : "";
  const expression = shown === "" ? body.slice(start, at) : shown.replace(/=\s*$/, "");
  if (expression.trim() === "") throw syntaxError("f-string: empty expression not allowed", line);
  let conversion = "";
  if (body[at] === "!") {
    conversion = body[at + 1] ?? "";
    at += 2;
  }
  let format = "";
  if (body[at] === ":") {
    const end = body.indexOf("}", at);
    if (end < 0) throw syntaxError("f-string: expecting '}'", line);
    format = body.slice(at + 1, end);
    at = end;
  }
  if (body[at] !== "}") throw syntaxError("f-string: expecting '}'", line);
  return { part: { expression, conversion, format, shown }, end: at + 1 };
}
