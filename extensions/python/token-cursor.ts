import { present } from "../../src/core/present.ts";
import type { Node } from "./nodes.ts";
import { syntaxError, type Token } from "./tokens.ts";
import { PyError, type Value } from "./values.ts";

/** Python's keywords, which name nothing. */
export const reserved: ReadonlySet<string> = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);

export const literals: ReadonlyMap<string, Value> = new Map<string, Value>([
  ["True", true],
  ["False", false],
  ["None", null],
]);

/** The end of the text within a bracket. */
class UnclosedError extends PyError {
  constructor({ text, line }: Token) {
    super("SyntaxError", `'${text}' was never closed (<string>, line ${line})`);
  }
}

/** A place among tokens, with what CPython says of a token that does not fit there. */
export abstract class TokenCursor {
  protected readonly tokens: readonly Token[];
  private readonly end: Token;
  protected at = 0;

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
    this.end = present(tokens.at(-1), "the token of the end");
  }

  protected abstract expression(): Node;

  protected get next(): Token {
    return present(this.tokens[this.at], "the next token");
  }

  protected is(text: string): boolean {
    const { kind } = this.next;
    return (kind === "operator" || kind === "name") && this.next.text === text;
  }

  protected take(text: string): boolean {
    const found = this.is(text);
    if (found) this.at++;
    return found;
  }

  protected expect(text: string): void {
    if (!this.take(text)) this.fail();
  }

  /** Throws the error that CPython gives for the token that does not fit. */
  protected fail(message?: string): never {
    const { next } = this;
    // The end within brackets is an error of CPython's tokenizer, which comes before all of its parser.
    if (next.kind === "end") this.failUnclosed();
    if (message !== undefined) throw syntaxError(message, next.line);
    this.failWithoutComma();
    if (next.line > this.end.line) this.failUnclosed();
    throw syntaxError("invalid syntax", next.line);
  }

  /** Throws the error of a forgotten comma, if an operand follows another one here. */
  protected failWithoutComma(): void {
    const before = this.tokens[this.at - 1];
    if (before === undefined || !endsOperand(before) || !startsOperand(this.next)) return;
    if (!stringAfterName(before, this.next) && !isSoftKeyword(before)) this.guessComma(before);
  }

  /** Throws the error of an operand, at a token, that follows another one. */
  protected failAt(index: number): never {
    this.at = index;
    this.guessComma(present(this.tokens[index - 1], "an operand"));
    return this.fail();
  }

  private failUnclosed(): void {
    if (this.end.level > 0) throw new UnclosedError(this.end);
  }

  /** Throws if a whole expression starts here, or one that never ends. */
  private guessComma(before: Token): void {
    const start = this.at;
    try {
      this.expression();
    } catch (error) {
      if (error instanceof UnclosedError || !(error instanceof PyError)) throw error;
      return;
    } finally {
      this.at = start;
    }
    if (before.level > 0) throw syntaxError("invalid syntax. Perhaps you forgot a comma?", before.line);
  }

  protected identifier(): string {
    const { next } = this;
    if (next.kind !== "name" || reserved.has(next.text)) this.fail();
    this.at++;
    return next.text;
  }
}

function endsOperand(token: Token): boolean {
  if (token.kind === "name") return !reserved.has(token.text) || literals.has(token.text);
  return token.kind === "number" || token.kind === "string" || token.kind === "format" || [")", "]", "}"].includes(token.text);
}

function startsOperand(token: Token): boolean {
  if (token.kind === "name") return !reserved.has(token.text) || literals.has(token.text) || token.text === "lambda";
  return token.kind === "number" || token.kind === "string" || token.kind === "format" || ["{", "..."].includes(token.text);
}

/** A word that begins like `match`, `case` or `_`: CPython 3.11 compares as many letters as the word has. */
function isSoftKeyword({ kind, text }: Token): boolean {
  return kind === "name" && ["match", "case", "_"].some((keyword) => keyword.startsWith(text));
}

/** A word before a string is a prefix that does not exist, not a forgotten comma. */
function stringAfterName(before: Token, next: Token): boolean {
  return before.kind === "name" && (next.kind === "string" || next.kind === "format");
}
