import { readFileSync } from "node:fs";
import { createRequire, Module } from "node:module";

export type XGrammar = typeof import("@mlc-ai/web-xgrammar");

let loaded: XGrammar | undefined;

/**
 * Loads the grammar library. Its package calls itself an ES module, and its file is a CommonJS one: it asks for `require` and sets `exports`. Node
 * can import neither form, so the file is compiled as what it is.
 */
export function xgrammar(): XGrammar {
  if (loaded !== undefined) return loaded;
  const file = createRequire(import.meta.url).resolve("@mlc-ai/web-xgrammar");
  const script = new Module(file) as Module & { _compile(source: string, file: string): void };
  script._compile(readFileSync(file, "utf8"), file.replace(/\.js$/, ".cjs"));
  loaded = script.exports as XGrammar;
  return loaded;
}

/** Reloads the library: after an internal error its memory is undefined. */
export function renewXgrammar(): void {
  loaded = undefined;
}
