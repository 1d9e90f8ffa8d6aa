import type { Value } from "./values.ts";

/** An expression of Python's, as far as calls of tools need it: all but `yield` and slices of steps. */
export type Node =
  | { readonly type: "constant"; readonly value: Value }
  | { readonly type: "name"; readonly name: string }
  | { readonly type: "list" | "tuple" | "set"; readonly items: readonly Node[] }
  | { readonly type: "dict"; readonly items: readonly (readonly [Node | undefined, Node])[] }
  | { readonly type: "starred" | "await"; readonly value: Node }
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
      readonly of: ComprehensionKind;
      readonly item: Node;
      readonly value?: Node;
      readonly loops: readonly Loop[];
    }
  | { readonly type: "format"; readonly parts: readonly (string | FormatNode)[] };

export type ComprehensionKind = "list" | "set" | "dict" | "generator";

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
