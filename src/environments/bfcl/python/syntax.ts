import { Bytes, ellipsis } from "./objects.ts";
import { type FormatPart, syntaxError, type Token, tokenize } from "./tokens.ts";
import type { Value } from "./values.ts";

/** An expression of Python's, as far as calls of tools need it: all but `await`, `yield` and slices of steps. */
export type Node =
  | { readonly type: "constant"; readonly value: Value }
  | { readonly type: "name"; readonly name: string }
  | { readonly type: "list" | "tuple" | "set"; readonly items: readonly Node[] }
  | { readonly type: "dict"; readonly items: readonly (readonly [Node | undefined, Node])[] }
  | { readonly type: "starred"; readonly value: Node }
  | { readonly type: "call"; readonly called: Node; readonly positional: readonly Node[]; readonly keywords: readonly Keyword[] }
  | { readonly type: "attribute"; readonly of: Node; readonly name: string }
  | { readonly type: "subscript"; readonly of: Node; readonly key: Node }
  | { readonly type: "slice"; readonly from?: Node; readonly to?: Node; readonly step?: Node }
  | { readonly type: "unary"; readonly operator: string; readonly operand: Node }
  | { readonly type: "binary"; readonly operator: string; readonly left: Node; readonly right: Node }
  | { readonly type: "comparison"; readonly first: Node; readonly rest: readonly (readonly [string, Node])[] }
  | { readonly type: "both" | "either"; readonly left: Node; readonly right: Node }
  | { readonly type: "choice"; readonly test: Node; readonly yes: Node; readonly no: Node }
  | { readonly type: "lambda"; readonly parameters: readonly string[]; readonly body: Node }
  | {
      readonly type: "comprehension";
      readonly of: "list" | "set" | "dict" | "generator";
      readonly item: Node;
      readonly value?: Node;
      readonly loops: readonly Loop[];
    }
  | { readonly type: "format"; readonly parts: readonly (string | FormatNode)[] };

/** A keyword argument; without a name, a dict of them (`**values`). */
export interface Keyword {
  readonly name?: string;
  readonly value: Node;
}

export interface Loop {
  readonly target: Node;
  readonly over: Node;
  readonly conditions: readonly Node[];
}

export interface FormatNode {
  readonly value: Node;
  readonly conversion: string;
  readonly format: string;
  readonly shown: string;
}

/** Parses one expression, as `eval` does. @throws PyError SyntaxError in CPython 3.11's words */
export function parseExpression(source: string): Node {
  const text = source.replace(/^[ \t]+/, "");
  if (/^#/.test(text)) throw syntaxError("invalid syntax");
  return new Parser(tokenize(text)).wholeExpression();
}

const keywords = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);
const literals: ReadonlyMap<string, Value> = new Map<string, Value>([
  ["True", true],
  ["False", false],
  ["None", null],
]);

/** Binary operators by precedence, the loosest first. */
const levels: readonly (readonly string[])[] = [["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-"], ["*", "/", "//", "%", "@"]];

class Parser {
  private readonly tokens: readonly Token[];
  private at = 0;

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  wholeExpression(): Node {
    if (this.tokens.every(({ kind, text }) => kind === "end" || text === "\n")) {
      if (this.next.level > 0) this.fail();
      throw syntaxError("invalid syntax", 0);
    }
    const node = this.expressionList();
    while (this.next.text === "\n" && this.next.kind === "operator") this.at++;
    if (this.next.kind !== "end" || this.next.level > 0) this.fail();
    if (this.repeated !== undefined) throw syntaxError(`keyword argument repeated: ${this.repeated}`);
    return node;
  }

  private get next(): Token {
    return this.tokens[this.at];
  }

  private is(text: string): boolean {
    const { kind } = this.next;
    return (kind === "operator" || kind === "name") && this.next.text === text;
  }

  private take(text: string): boolean {
    const found = this.is(text);
    if (found) this.at++;
    return found;
  }

  private expect(text: string): void {
    if (!this.take(text)) this.fail();
  }

  /** Throws the error that CPython gives for the token that does not fit. */
  private fail(message?: string): never {
    const { next } = this;
    const last = this.tokens[this.tokens.length - 1];
    if (message !== undefined) throw syntaxError(message, next.line);
    const before = this.tokens[this.at - 1];
    if (
      before !== undefined &&
      before.level > 0 &&
      endsOperand(before) &&
      startsOperand(next) &&
      !stringAfterName(before, next) &&
      this.followedByExpression()
    )
      throw syntaxError("invalid syntax. Perhaps you forgot a comma?", before.line);
    if (last.level > 0 && (next.kind === "end" || next.line > last.line))
      throw syntaxError(`'${last.text}' was never closed`, last.line);
    throw syntaxError("invalid syntax", next.line);
  }

  /** True if a whole expression starts here. */
  private followedByExpression(): boolean {
    const start = this.at;
    try {
      this.expression();
      return true;
    } catch {
      return false;
    } finally {
      this.at = start;
    }
  }

  /** Items with commas between them: a tuple, if there is a comma. */
  private expressionList(): Node {
    const first = this.starOrExpression();
    if (!this.is(",")) return first.type === "starred" ? this.failStar() : first;
    const items = [first];
    while (this.take(",")) {
      if (this.next.kind === "end" || this.is(")") || this.is("]") || this.is("}") || this.is("\n") || this.is("=")) break;
      items.push(this.starOrExpression());
    }
    return { type: "tuple", items };
  }

  private failStar(): never {
    throw syntaxError("invalid syntax");
  }

  private starOrExpression(): Node {
    if (this.take("*")) return { type: "starred", value: this.operation(0) };
    return this.expression();
  }

  private expression(): Node {
    if (this.take("lambda")) return this.lambda();
    const node = this.either();
    if (!this.is("if")) return node;
    this.at++;
    const test = this.either();
    if (!this.is("else")) this.fail("expected 'else' after 'if' expression");
    this.at++;
    return { type: "choice", test, yes: node, no: this.expression() };
  }

  private lambda(): Node {
    const parameters: string[] = [];
    while (!this.is(":")) {
      parameters.push(this.identifier());
      if (!this.take(",")) break;
    }
    this.expect(":");
    return { type: "lambda", parameters, body: this.expression() };
  }

  private identifier(): string {
    const { next } = this;
    if (next.kind !== "name" || keywords.has(next.text)) this.fail();
    this.at++;
    return next.text;
  }

  private either(): Node {
    let left = this.both();
    while (this.take("or")) left = { type: "either", left, right: this.both() };
    return left;
  }

  private both(): Node {
    let left = this.negation();
    while (this.take("and")) left = { type: "both", left, right: this.negation() };
    return left;
  }

  private negation(): Node {
    return this.take("not") ? { type: "unary", operator: "not", operand: this.negation() } : this.comparison();
  }

  private comparison(): Node {
    const first = this.operation(0);
    const rest: [string, Node][] = [];
    for (;;) {
      const operator = this.comparator();
      if (operator === undefined) break;
      rest.push([operator, this.operation(0)]);
    }
    return rest.length === 0 ? first : { type: "comparison", first, rest };
  }

  private comparator(): string | undefined {
    for (const operator of ["<", "<=", ">", ">=", "==", "!=", "in"]) if (this.take(operator)) return operator;
    if (this.take("is")) return this.take("not") ? "is not" : "is";
    if (!this.is("not") || this.tokens[this.at + 1]?.text !== "in") return undefined;
    this.at += 2;
    return "not in";
  }

  private operation(level: number): Node {
    if (level === levels.length) return this.factor();
    let left = this.operation(level + 1);
    for (;;) {
      const { next } = this;
      if (next.kind !== "operator" || !levels[level].includes(next.text)) return left;
      this.at++;
      left = { type: "binary", operator: next.text, left, right: this.operation(level + 1) };
    }
  }

  private factor(): Node {
    for (const operator of ["-", "+", "~"]) if (this.take(operator)) return { type: "unary", operator, operand: this.factor() };
    const base = this.primary();
    return this.take("**") ? { type: "binary", operator: "**", left: base, right: this.factor() } : base;
  }

  private primary(): Node {
    let node = this.atom();
    for (;;) {
      if (this.take(".")) node = { type: "attribute", of: node, name: this.identifier() };
      else if (this.take("(")) node = this.call(node);
      else if (this.take("[")) {
        node = { type: "subscript", of: node, key: this.key() };
        this.expect("]");
      } else return node;
    }
  }

  private key(): Node {
    const items = [this.sliceOrExpression()];
    let comma = false;
    while (this.take(",")) {
      comma = true;
      if (this.is("]")) break;
      items.push(this.sliceOrExpression());
    }
    return comma ? { type: "tuple", items } : items[0];
  }

  private sliceOrExpression(): Node {
    const bound = () => (this.is(":") || this.is("]") || this.is(",") ? undefined : this.expression());
    if (!this.is(":")) {
      const first = this.expression();
      if (!this.take(":")) return first;
      const to = bound();
      return { type: "slice", from: first, to, step: this.take(":") ? bound() : undefined };
    }
    this.at++;
    const to = bound();
    return { type: "slice", to, step: this.take(":") ? bound() : undefined };
  }

  private call(called: Node): Node {
    const positional: Node[] = [];
    const named: Keyword[] = [];
    while (!this.is(")")) {
      this.argument(positional, named);
      if (!this.take(",")) break;
    }
    if (!this.is(")")) this.fail();
    this.at++;
    this.checkKeywords(named);
    return { type: "call", called, positional, keywords: named };
  }

  private checkKeywords(named: readonly Keyword[]): void {
    const seen = new Set<string>();
    for (const { name } of named) {
      if (name === undefined) continue;
      if (seen.has(name) && this.repeated === undefined) this.repeated = name;
      seen.add(name);
    }
  }

  /** A keyword that a call repeats: an error of the compiler, which comes after all of the parser. */
  private repeated: string | undefined;

  private argument(positional: Node[], named: Keyword[]): void {
    const { next } = this;
    if (this.take("**")) {
      named.push({ value: this.expression() });
      return;
    }
    if (this.take("*")) {
      if (named.some(({ name }) => name === undefined))
        throw syntaxError("iterable argument unpacking follows keyword argument unpacking", next.line);
      positional.push({ type: "starred", value: this.expression() });
      return;
    }
    const after = this.tokens[this.at + 1];
    if (next.kind === "name" && after.kind === "operator" && after.text === "=") {
      if (literals.has(next.text)) this.fail(`cannot assign to ${next.text}`);
      if (!keywords.has(next.text)) {
        this.at += 2;
        named.push({ name: next.text, value: this.argumentValue() });
        return;
      }
    }
    if (next.kind === "name" && after.kind === "operator" && after.text === ":=") this.at += 2;
    const value = this.argumentValue();
    if (this.is("=")) this.fail('expression cannot contain assignment, perhaps you meant "=="?');
    if (named.some(({ name }) => name === undefined)) this.fail("positional argument follows keyword argument unpacking");
    if (named.length > 0) this.fail("positional argument follows keyword argument");
    positional.push(value);
  }

  /** An expression, or a generator without brackets of its own. */
  private argumentValue(): Node {
    const item = this.expression();
    if (this.is(":=")) this.fail();
    return this.is("for") || this.is("async") ? { type: "comprehension", of: "generator", item, loops: this.loops() } : item;
  }

  private loops(): Loop[] {
    const loops: Loop[] = [];
    while (this.take("for")) {
      const target = this.target();
      this.expect("in");
      const over = this.either();
      const conditions: Node[] = [];
      while (this.take("if")) conditions.push(this.either());
      loops.push({ target, over, conditions });
    }
    return loops;
  }

  private target(): Node {
    const items = [this.primary()];
    let comma = false;
    while (this.take(",")) {
      comma = true;
      if (this.is("in")) break;
      items.push(this.primary());
    }
    return comma ? { type: "tuple", items } : items[0];
  }

  private atom(): Node {
    const { next } = this;
    switch (next.kind) {
      case "number":
        this.at++;
        return { type: "constant", value: next.value };
      case "string":
      case "format":
        return this.strings();
      case "name": {
        const literal = literals.get(next.text);
        if (literal === undefined) return { type: "name", name: this.identifier() };
        this.at++;
        return { type: "constant", value: literal };
      }
    }
    if (this.take("...")) return { type: "constant", value: ellipsis };
    if (this.take("(")) return this.parenthesised();
    if (this.take("[")) return this.listDisplay();
    if (this.take("{")) return this.braces();
    return this.fail();
  }

  private strings(): Node {
    const parts: (string | FormatNode)[] = [];
    const bytes: Bytes[] = [];
    let formatted = false;
    const start = this.at;
    for (; this.next.kind === "string" || this.next.kind === "format"; this.at++) {
      const token = this.next;
      if (token.kind === "format") {
        formatted = true;
        parts.push(...token.parts.map((part) => formatNode(part)));
      } else if (token.kind === "string") {
        if (token.value instanceof Bytes) bytes.push(token.value);
        else parts.push(String(token.value));
      }
    }
    if (bytes.length > 0) {
      if (bytes.length < this.at - start) throw syntaxError("cannot mix bytes and nonbytes literals", this.tokens[start].line);
      return { type: "constant", value: new Bytes(bytes.map(({ characters }) => characters).join("")) };
    }
    return formatted ? { type: "format", parts } : { type: "constant", value: parts.join("") };
  }

  private parenthesised(): Node {
    if (this.take(")")) return { type: "tuple", items: [] };
    const first = this.starOrExpression();
    if (this.is("for")) {
      const loops = this.loops();
      this.expect(")");
      return { type: "comprehension", of: "generator", item: first, loops };
    }
    if (!this.is(",")) {
      if (this.is("=")) this.fail("invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
      this.expect(")");
      return first.type === "starred" ? this.fail("cannot use starred expression here") : first;
    }
    const items = [first, ...this.moreItems(")")];
    return { type: "tuple", items };
  }

  /** The items behind the first one, and the closing bracket. */
  private moreItems(bracket: string): Node[] {
    const items: Node[] = [];
    while (this.take(",")) {
      if (this.is(bracket)) break;
      items.push(this.starOrExpression());
    }
    if (this.is("=")) this.fail("invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
    this.expect(bracket);
    return items;
  }

  private listDisplay(): Node {
    if (this.take("]")) return { type: "list", items: [] };
    const first = this.starOrExpression();
    if (this.is("for")) {
      const loops = this.loops();
      this.expect("]");
      return { type: "comprehension", of: "list", item: first, loops };
    }
    return { type: "list", items: [first, ...this.moreItems("]")] };
  }

  private braces(): Node {
    if (this.take("}")) return { type: "dict", items: [] };
    if (this.is("**")) return this.dictDisplay([]);
    const first = this.starOrExpression();
    if (!this.is(":")) {
      if (this.is("for")) {
        const loops = this.loops();
        this.expect("}");
        return { type: "comprehension", of: "set", item: first, loops };
      }
      return { type: "set", items: [first, ...this.moreItems("}")] };
    }
    this.at++;
    if (this.is("}") || this.is(",")) this.fail("expression expected after dictionary key and ':'");
    const value = this.expression();
    if (this.is("for")) {
      const loops = this.loops();
      this.expect("}");
      return { type: "comprehension", of: "dict", item: first, value, loops };
    }
    if (!this.take(",")) {
      this.expect("}");
      return { type: "dict", items: [[first, value]] };
    }
    return this.dictDisplay([[first, value]]);
  }

  private dictDisplay(items: [Node | undefined, Node][]): Node {
    while (!this.is("}")) {
      if (this.take("**")) items.push([undefined, this.operation(0)]);
      else {
        const key = this.expression();
        if (!this.is(":")) this.fail(this.is("}") || this.is(",") ? "':' expected after dictionary key" : undefined);
        this.at++;
        if (this.is("}") || this.is(",")) this.fail("expression expected after dictionary key and ':'");
        items.push([key, this.expression()]);
      }
      if (!this.take(",")) break;
    }
    this.expect("}");
    return { type: "dict", items };
  }
}

function endsOperand(token: Token): boolean {
  if (token.kind === "name") return !keywords.has(token.text) || literals.has(token.text);
  return token.kind === "number" || token.kind === "string" || token.kind === "format" || [")", "]", "}"].includes(token.text);
}

function startsOperand(token: Token): boolean {
  if (token.kind === "name") return !keywords.has(token.text) || literals.has(token.text) || token.text === "lambda";
  return token.kind === "number" || token.kind === "string" || token.kind === "format" || ["{", "..."].includes(token.text);
}

/** A word before a string is a prefix that does not exist, not a forgotten comma. */
function stringAfterName(before: Token, next: Token): boolean {
  return before.kind === "name" && (next.kind === "string" || next.kind === "format");
}

function formatNode(part: FormatPart): string | FormatNode {
  if (typeof part === "string") return part;
  const { expression, conversion, format, shown } = part;
  return { value: parseExpression(`(${expression})`), conversion, format, shown };
}
