import type { ComprehensionKind, FormatNode, Loop, Node } from "./nodes.ts";
import { Bytes, ellipsis } from "./objects.ts";
import { literals, TokenCursor } from "./token-cursor.ts";
import { type FormatPart, syntaxError } from "./tokens.ts";

/** Parses what an expression is made of: names, literals, displays and comprehensions. */
export abstract class AtomParser extends TokenCursor {
  protected abstract starOrExpression(): Node;
  protected abstract either(): Node;
  protected abstract operation(level: number): Node;
  protected abstract primary(): Node;
  protected abstract formatted(part: Exclude<FormatPart, string>): Node;

  protected atom(): Node {
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

  protected strings(): Node {
    const parts: (string | FormatNode)[] = [];
    const bytes: Bytes[] = [];
    let formatted = false;
    const start = this.at;
    const { line } = this.next;
    for (; this.next.kind === "string" || this.next.kind === "format"; this.at++) {
      const token = this.next;
      if (token.kind === "format") {
        formatted = true;
        parts.push(...token.parts.map((part) => this.formatNode(part)));
      } else if (token.kind === "string") {
        if (token.value instanceof Bytes) bytes.push(token.value);
        else parts.push(String(token.value));
      }
    }
    if (bytes.length > 0) {
      if (bytes.length < this.at - start) throw syntaxError("cannot mix bytes and nonbytes literals", line);
      return { type: "constant", value: new Bytes(bytes.map(({ characters }) => characters).join("")) };
    }
    return formatted ? { type: "format", parts } : { type: "constant", value: parts.join("") };
  }

  protected parenthesised(): Node {
    if (this.take(")")) return { type: "tuple", items: [] };
    const first = this.starOrExpression();
    if (this.is("for")) return this.comprehension("generator", first, ")");
    if (!this.is(",")) {
      if (this.is("=")) this.fail("invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
      this.expect(")");
      return first.type === "starred" ? this.fail("cannot use starred expression here") : first;
    }
    const items = [first, ...this.moreItems(")")];
    return { type: "tuple", items };
  }

  /** The items behind the first one, and the closing bracket. */
  protected moreItems(bracket: string): Node[] {
    const items: Node[] = [];
    while (this.take(",")) {
      if (this.is(bracket)) break;
      items.push(this.starOrExpression());
    }
    if (this.is("=")) this.fail("invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
    this.expect(bracket);
    return items;
  }

  protected listDisplay(): Node {
    if (this.take("]")) return { type: "list", items: [] };
    const first = this.starOrExpression();
    if (this.is("for")) return this.comprehension("list", first, "]");
    return { type: "list", items: [first, ...this.moreItems("]")] };
  }

  protected braces(): Node {
    if (this.take("}")) return { type: "dict", items: [] };
    if (this.is("**")) return this.dictDisplay([]);
    const first = this.starOrExpression();
    if (!this.is(":")) {
      if (this.is("for")) return this.comprehension("set", first, "}");
      return { type: "set", items: [first, ...this.moreItems("}")] };
    }
    this.at++;
    if (this.is("}") || this.is(",")) this.fail("expression expected after dictionary key and ':'");
    const value = this.expression();
    if (this.is("for")) return this.comprehension("dict", first, "}", value);
    if (!this.take(",")) {
      this.expect("}");
      return { type: "dict", items: [[first, value]] };
    }
    return this.dictDisplay([[first, value]]);
  }

  protected dictDisplay(items: [Node | undefined, Node][]): Node {
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

  /** The loops behind an item, and the closing bracket. @param value of the items of a dictionary */
  protected comprehension(of: ComprehensionKind, item: Node, bracket: string, value?: Node): Node {
    const loops = this.loops();
    this.expect(bracket);
    return { type: "comprehension", of, item, ...(value && { value }), loops };
  }

  protected loops(): Loop[] {
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

  protected target(): Node {
    return this.oneOrTuple(() => this.primary(), "in");
  }

  /** One item, or a tuple if a comma follows it; the last comma may be before `end`. */
  protected oneOrTuple(item: () => Node, end: string): Node {
    const first = item();
    if (!this.is(",")) return first;
    const items = [first];
    while (this.take(",") && !this.is(end)) items.push(item());
    return { type: "tuple", items };
  }

  private formatNode(part: FormatPart): string | FormatNode {
    if (typeof part === "string") return part;
    const { conversion, format, shown } = part;
    return { value: this.formatted(part), conversion, format, shown };
  }
}
