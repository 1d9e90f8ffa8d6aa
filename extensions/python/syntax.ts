import { AtomParser } from "./atoms.ts";
import type { Keyword, Node } from "./nodes.ts";
import { literals, reserved } from "./token-cursor.ts";
import { type FormatPart, syntaxError, tokenize } from "./tokens.ts";

/** Parses one expression, as `eval` does. @throws PyError SyntaxError in CPython 3.11's words */
export function parseExpression(source: string): Node {
  const text = source.replace(/^[ \t]+/, "");
  if (/^#/.test(text)) throw syntaxError("invalid syntax");
  const parser = new Parser(tokenize(text));
  const node = parser.wholeExpression();
  if (parser.compilerError !== undefined) throw syntaxError(parser.compilerError);
  return node;
}

/** Parses one expression, as `ast.parse` does: without the errors of the compiler. @throws PyError SyntaxError */
export function parseTree(source: string): Node {
  return new Parser(tokenize(source.replace(/^[ \t]+/, ""))).wholeExpression();
}

/** Binary operators by precedence, the loosest first. */
const levels: readonly (readonly string[])[] = [["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-"], ["*", "/", "//", "%", "@"]];

/** Parses operators and calls. */
class Parser extends AtomParser {
  /** The first error of the compiler, such as a keyword that a call repeats. It comes after all of the parser. */
  compilerError: string | undefined;

  wholeExpression(): Node {
    if (this.tokens.every(({ kind, text }) => kind === "end" || text === "\n")) {
      if (this.next.level > 0) this.fail();
      throw syntaxError("invalid syntax", 0);
    }
    this.skipEmptyLines();
    const node = this.expressionList();
    this.skipEmptyLines();
    if (this.next.kind !== "end" || this.next.level > 0) this.fail();
    return node;
  }

  private skipEmptyLines(): void {
    while (this.next.text === "\n" && this.next.kind === "operator") this.at++;
  }

  /** Items with commas between them: a tuple, if there is a comma. */
  protected expressionList(): Node {
    const first = this.starOrExpression();
    if (!this.is(",")) return first.type === "starred" ? this.failStar() : first;
    const items = [first];
    while (this.take(",")) {
      if (this.next.kind === "end" || this.is(")") || this.is("]") || this.is("}") || this.is("\n") || this.is("=")) break;
      items.push(this.starOrExpression());
    }
    return { type: "tuple", items };
  }

  protected failStar(): never {
    throw syntaxError("invalid syntax");
  }

  protected starOrExpression(): Node {
    if (this.take("*")) return { type: "starred", value: this.operation(0) };
    return this.expression();
  }

  protected expression(): Node {
    if (this.take("lambda")) return this.lambda();
    const node = this.either();
    if (!this.is("if")) return node;
    this.at++;
    const test = this.either();
    if (!this.is("else")) this.fail("expected 'else' after 'if' expression");
    this.at++;
    return { type: "choice", test, yes: node, no: this.expression() };
  }

  protected lambda(): Node {
    const parameters: string[] = [];
    while (!this.is(":")) {
      parameters.push(this.identifier());
      if (!this.take(",")) break;
    }
    this.expect(":");
    return { type: "lambda", parameters, body: this.expression() };
  }

  protected either(): Node {
    let left = this.both();
    while (this.take("or")) left = { type: "either", left, right: this.both() };
    return left;
  }

  protected both(): Node {
    let left = this.negation();
    while (this.take("and")) left = { type: "both", left, right: this.negation() };
    return left;
  }

  protected negation(): Node {
    return this.take("not") ? { type: "unary", operator: "not", operand: this.negation() } : this.comparison();
  }

  protected comparison(): Node {
    const first = this.operation(0);
    const rest: [string, Node][] = [];
    for (;;) {
      const operator = this.comparator();
      if (operator === undefined) break;
      rest.push([operator, this.operation(0)]);
    }
    return rest.length === 0 ? first : { type: "comparison", first, rest };
  }

  protected comparator(): string | undefined {
    for (const operator of ["<", "<=", ">", ">=", "==", "!=", "in"]) if (this.take(operator)) return operator;
    if (this.take("is")) return this.take("not") ? "is not" : "is";
    if (!this.is("not") || this.tokens[this.at + 1]?.text !== "in") return undefined;
    this.at += 2;
    return "not in";
  }

  protected operation(level: number): Node {
    const operators = levels[level];
    if (operators === undefined) return this.factor();
    let left = this.operation(level + 1);
    for (;;) {
      const { next } = this;
      if (next.kind !== "operator" || !operators.includes(next.text)) return left;
      this.at++;
      left = { type: "binary", operator: next.text, left, right: this.operation(level + 1) };
    }
  }

  protected factor(): Node {
    for (const operator of ["-", "+", "~"]) if (this.take(operator)) return { type: "unary", operator, operand: this.factor() };
    const base = this.primary();
    return this.take("**") ? { type: "binary", operator: "**", left: base, right: this.factor() } : base;
  }

  protected primary(): Node {
    if (this.take("await")) {
      this.compilerError ??= "'await' outside function";
      return { type: "await", value: this.primary() };
    }
    let node = this.atom();
    for (;;) {
      if (this.take(".")) node = { type: "attribute", of: node, name: this.identifier() };
      else if (this.take("(")) node = this.call(node);
      else if (this.take("[")) {
        // An empty list behind an operand.
        if (this.is("]")) this.failAt(this.at - 1);
        node = { type: "subscript", of: node, key: this.key() };
        this.expect("]");
      } else return node;
    }
  }

  protected key(): Node {
    return this.oneOrTuple(() => this.sliceOrExpression(), "]");
  }

  protected sliceOrExpression(): Node {
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

  protected call(called: Node): Node {
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

  protected checkKeywords(named: readonly Keyword[]): void {
    const seen = new Set<string>();
    for (const { name } of named) {
      if (name === undefined) continue;
      if (seen.has(name)) this.compilerError ??= `keyword argument repeated: ${name}`;
      seen.add(name);
    }
  }

  protected argument(positional: Node[], named: Keyword[]): void {
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
    if (next.kind === "name" && after?.kind === "operator" && after.text === "=") {
      if (literals.has(next.text)) this.fail(`cannot assign to ${next.text}`);
      if (!reserved.has(next.text)) {
        this.at += 2;
        named.push({ name: next.text, value: this.argumentValue() });
        return;
      }
    }
    if (next.kind === "name" && after?.kind === "operator" && after.text === ":=") this.at += 2;
    const value = this.argumentValue();
    if (this.is("=")) this.fail('expression cannot contain assignment, perhaps you meant "=="?');
    if (named.length > 0) this.failWithoutComma();
    if (named.some(({ name }) => name === undefined)) this.fail("positional argument follows keyword argument unpacking");
    if (named.length > 0) this.fail("positional argument follows keyword argument");
    positional.push(value);
  }

  /** An expression, or a generator without brackets of its own. */
  protected argumentValue(): Node {
    const item = this.expression();
    if (this.is(":=")) this.fail();
    return this.is("for") || this.is("async") ? { type: "comprehension", of: "generator", item, loops: this.loops() } : item;
  }

  protected formatted({ expression }: Exclude<FormatPart, string>): Node {
    return parseExpression(`(${expression})`);
  }
}
