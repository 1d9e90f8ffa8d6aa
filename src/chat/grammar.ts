import type { CompiledGrammar, GrammarCompiler, GrammarMatcher } from "@mlc-ai/web-xgrammar";
import type { CallFormat } from "../actions/formats/format.ts";
import { ModelError, reasonOf } from "../core/errors.ts";
import { present } from "../core/present.ts";
import type { TokenId } from "../core/trajectory.ts";
import { uncheckable } from "../tools/check-json.ts";
import { beyondBounds } from "../tools/schema-bounds.ts";
import { type JsonSchema, parametersAsJsonSchema, type Tool } from "../tools/tool.ts";
import type { ConversationRequest } from "./conversation.ts";
import { heldSchema } from "./grammar-schema.ts";
import type { Keywords } from "./schema-merge.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { XGrammar } from "./xgrammar.ts";

/** The form that an action has to have, of the parts of a request that decide it. */
export type Formed = Pick<ConversationRequest, "tools" | "toolChoice" | "parallelCalls" | "strictTools" | "form">;

/** Whether any action has this form. */
export function isFree({ tools = [], toolChoice = "auto", parallelCalls = true, strictTools = [], form }: Formed): boolean {
  if (form !== undefined) return false;
  if (tools.length === 0 || toolChoice === "none") return true;
  return toolChoice === "auto" && parallelCalls && strictTools.length === 0;
}

/** A mask over tokens that follows what is drawn. */
export interface GrammarMask {
  /** The keywords of schemas that no grammar holds: what is drawn has to be checked by them. Empty where the mask is enough. */
  readonly loose: readonly string[];
  next(): Int32Array;
  allows(token: TokenId): boolean;
  accept(token: TokenId): void;
  /** Goes back to where an action begins. */
  restart(): void;
  /** Gives its memory back. */
  close(): void;
}

/** How a message writes its calls: opening (begin arguments end) separator (begin arguments end) closing. Begin has `nameMark` for the name. */
type Layout = Readonly<Record<"opening" | "begin" | "end" | "separator" | "closing", string>>;
type Write = CallFormat["write"];

/** Longest run of white space between the parts of a JSON value. Without a limit a model may write nothing else. */
const maxWhiteSpace = 2;
/** Grammars that are kept for the next request of the same form. */
const kept = 64;

/** Masks for one model's tokens. What is compiled is kept. */
export class Grammars {
  readonly #tokenizer: Tokenizer;
  readonly #format: CallFormat | undefined;
  readonly #write: Write;
  #found: readonly Layout[] | undefined;
  readonly #compiled = new Map<string, Promise<CompiledGrammar>>();
  #compiler: Promise<GrammarCompiler> | undefined;
  /** The library that compiled them: after an error of any model there is another, which takes no grammar of this one. */
  #library: XGrammar | undefined;
  /** Tokens that belong to no text. */
  #control: ReadonlySet<TokenId> = new Set();

  /** @param write writes calls as the chat template does, which may differ from its format's way in white space */
  constructor(tokenizer: Tokenizer, format: CallFormat | undefined, write: Write = () => "") {
    this.#tokenizer = tokenizer;
    this.#format = format;
    this.#write = write;
  }

  /**
   * Returns the mask of an action of this form; undefined if any action has it.
   * @throws ModelError for a schema that has no grammar, and where the model writes the arguments of calls in another way than JSON
   */
  async mask(formed: Formed): Promise<GrammarMask | undefined> {
    if (isFree(formed)) return undefined;
    // Loaded with the first grammar: it is a megabyte, and needs Node.
    const library = (await import("./xgrammar.ts")).xgrammar();
    if (library !== this.#library) {
      this.#compiled.clear();
      this.#compiler = undefined;
      this.#library = library;
    }
    const loose = new Set<string>();
    const grammars = await Promise.all(this.#grammars(formed, loose));
    const { GrammarMatcher } = library;
    const all = await Promise.all(grammars.map((grammar) => GrammarMatcher.createGrammarMatcher(grammar)));
    /** Those of the forms that the action may still have. */
    let open = all;
    return {
      loose: [...loose],
      next: () => open.map((matcher) => bitmaskOf(matcher)).reduce((a, b) => a.map((word, i) => word | (b[i] ?? 0))),
      // The masks of web-xgrammar 0.1.27 leave out some tokens that its matcher accepts: `"arguments":` where a token `":` is before it.
      allows: (token) =>
        !this.#control.has(token) &&
        open.some((matcher) => {
          const accepted = matcher.acceptToken(token);
          if (accepted) matcher.rollBack(1);
          return accepted;
        }),
      accept: (token) => {
        open = open.filter((matcher) => matcher.acceptToken(token));
        if (open.length === 0) throw new ModelError("grammar", token, { expected: "a token that its mask allows" });
      },
      restart: () => {
        for (const matcher of all) matcher.reset();
        open = all;
      },
      close: () => {
        for (const matcher of all) matcher.dispose();
      },
    };
  }

  /** The grammars of which an action has one. */
  #grammars(formed: Formed, loose: Set<string>) {
    const { tools = [], toolChoice = "auto", parallelCalls = true, strictTools = [], form } = formed;
    const hold = (schema: JsonSchema | Keywords) => {
      const problem = uncheckable(schema);
      if (problem !== undefined) throw schemaError(schema, problem);
      const held = heldSchema(schema);
      for (const keyword of held.loose) loose.add(keyword);
      return held.schema;
    };
    const schemas = (of: readonly Tool[], isStrict: (name: string) => boolean) =>
      new Map(of.map((tool) => [tool.name, isStrict(tool.name) ? hold(parametersAsJsonSchema(tool)) : anyObject]));
    const forced = typeof toolChoice === "object" ? toolChoice.tool : undefined;
    const named = tools.filter(({ name }) => forced === undefined || name === forced);
    if (tools.length > 0 && (forced !== undefined || toolChoice === "required")) {
      const all = schemas(named, () => true);
      return this.#requiredLayouts().map((layout) => this.#kept(listOf(layout, all, parallelCalls && forced === undefined)));
    }
    const text = form === undefined ? [] : [this.#kept({ schema: form === "json" ? anyObject : hold(form.schema) })];
    if (tools.length === 0 || toolChoice === "none") return text;
    const all = schemas(tools, (name) => strictTools.includes(name));
    const tags = this.#requiredLayouts().flatMap((layout) =>
      layout.opening === ""
        ? [...all].map(([name, schema]) => tagOf(layout, name, schema))
        : [listOf(layout, all, parallelCalls)],
    );
    const openings = this.#layouts.map(({ opening }) => opening || openingOf(this.#requiredFormat()));
    const triggers = [openings.reduce((a, b) => a.slice(0, sharedLength(a, b)))];
    // A text of a form has no calls in it, so calls are what is said in its place.
    const distinct = [...new Map(tags.map((tag) => [JSON.stringify(tag), tag])).values()];
    const calls = { type: "triggered_tags", triggers, tags: distinct };
    return [...text, this.#kept({ ...calls, at_least_one: text.length > 0, stop_after_first: !parallelCalls })];
  }

  #kept(form: object): Promise<CompiledGrammar> {
    const key = JSON.stringify(form);
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    if (this.#compiled.size >= kept) this.#compiled.clear();
    const made = this.#compile(form);
    this.#compiled.set(key, made);
    return made;
  }

  async #compile(form: object): Promise<CompiledGrammar> {
    this.#compiler ??= this.#openCompiler(present(this.#library, "the library"));
    const compiler = await this.#compiler;
    try {
      if ("schema" in form)
        return await compiler.compileJSONSchema(JSON.stringify(form.schema), true, undefined, undefined, true, maxWhiteSpace);
      return await compiler.compileStructuralTag({ type: "structural_tag", format: form });
    } catch (cause) {
      // The library aborts on an error.
      (await import("./xgrammar.ts")).renewXgrammar();
      throw schemaError(form, reasonOf(cause), cause);
    }
  }

  async #openCompiler({ TokenizerInfo, GrammarCompiler: compiler }: XGrammar): Promise<GrammarCompiler> {
    const { size, vocabulary, addedTokens, stopTokens } = this.#tokenizer;
    const special = new Set(addedTokens.flatMap(({ text, special: isSpecial }) => (isSpecial ? [text] : [])));
    // Control tokens belong to no text, save where a call is written with them.
    const written = this.#layouts.map((a) => a.opening + a.begin + a.end + a.separator + a.begin + a.end + a.closing).join();
    const texts = Array.from({ length: size }, (_, id) => {
      const text = vocabulary.tokens.get(id) ?? "";
      return special.has(text) && !written.includes(text) ? "" : text;
    });
    const ends = new Set(stopTokens);
    this.#control = new Set(texts.flatMap((text, id) => (text === "" && !ends.has(id) ? [id] : [])));
    return compiler.createGrammarCompiler(
      await TokenizerInfo.createTokenizerInfo(texts, vocabulary.bytes, false, size, [...stopTokens]),
    );
  }

  get #layouts(): readonly Layout[] {
    this.#found ??= this.#format === undefined ? [] : layoutsOf(this.#format, this.#write);
    return this.#found;
  }

  #requiredFormat(): CallFormat {
    if (this.#format !== undefined) return this.#format;
    throw new ModelError("tool calls", "none", { expected: "a chat template with a known format of calls" });
  }

  /** @throws ModelError for a format whose arguments are no JSON */
  #requiredLayouts(): readonly Layout[] {
    const { name } = this.#requiredFormat();
    if (this.#layouts.length > 0) return this.#layouts;
    throw new ModelError("tool calls that are forced, strict, single or beside a form of the text", name, {
      expected: "a model whose calls have their arguments as JSON",
      hint: "Leave out tool_choice, strict, parallel_tool_calls and response_format, or use another model.",
    });
  }
}

const anyObject = { type: "object" } as const;

function schemaError(schema: object, problem: string, cause?: unknown): ModelError {
  const options = { expected: "one that has a grammar and can be checked", hint: problem, cause };
  return new ModelError("schema", beyondBounds(schema) ?? JSON.stringify(schema).slice(0, 200), options);
}

/** The insides of a matcher of web-xgrammar 0.1.27, the version that package.json has. */
interface RawMatcher {
  readonly handle: { GetNextTokenBitmask(tokens: number): RawVector };
  readonly vocab_size: number;
}
interface RawVector {
  size(): number;
  get(index: number): number;
  delete(): void;
}

/**
 * The tokens that a grammar allows next. The library gives them by a promise, in `getNextTokenBitmask`; a sampler that draws several tokens of a
 * draft from one step cannot wait for one.
 */
function bitmaskOf(matcher: GrammarMatcher): Int32Array {
  const { handle, vocab_size } = matcher as unknown as RawMatcher;
  const words = handle.GetNextTokenBitmask(vocab_size);
  const bits = Int32Array.from({ length: words.size() }, (_, i) => words.get(i));
  words.delete();
  return bits;
}

/** The text with which a call begins, whichever tool it calls. */
export function openingOf(format: CallFormat): string {
  const [a = "", b = ""] = ["a", "b"].map((name) =>
    format.write({ role: "assistant", content: "", toolCalls: [{ name, arguments: {} }] }),
  );
  const shared = a.slice(0, sharedLength(a, b));
  return /^\S+/.exec(shared)?.[0] ?? shared;
}

function sharedLength(a: string, b: string): number {
  let shared = 0;
  while (shared < a.length && a[shared] === b[shared]) shared++;
  return shared;
}

const [nameMark, argumentMark] = ["name-of-the-call", "argument-of-the-call"] as const;
const markedArguments = new RegExp(`\\{\\s*"${argumentMark}"\\s*:\\s*0\\s*\\}`);

function tagOf({ begin, end }: Pick<Layout, "begin" | "end">, name: string, schema: Keywords): object {
  return { type: "tag", begin: begin.replace(nameMark, () => name), content: { type: "json_schema", json_schema: schema }, end };
}

/** Calls and nothing else. @param schemas by the names of tools */
function listOf(layout: Layout, schemas: ReadonlyMap<string, Keywords>, several: boolean): object {
  const { opening, begin, end, separator, closing } = layout;
  // A grammar has no empty separator: each call's first character is taken as one.
  const [first, rest] = separator === "" ? [begin.slice(0, 1), begin.slice(1)] : ["", begin];
  const tags = [...schemas].map(([name, schema]) => tagOf({ begin: rest, end }, name, schema));
  const list = { type: "tags_with_separator", tags, separator: separator + first };
  const content = { ...list, at_least_one: true, stop_after_first: !several };
  const before = opening + first;
  if (closing !== "") return { type: "tag", begin: before, content, end: closing };
  return before === "" ? content : { type: "sequence", elements: [{ type: "const_string", value: before }, content] };
}

/** The format's layout and that of a template that writes the same calls otherwise; none where arguments are no JSON. */
function layoutsOf(format: CallFormat, write: Write): readonly Layout[] {
  const own = layoutOf(format.write, "");
  const shown = own && layoutOf(write, openingOf(format));
  return own === undefined ? [] : shown === undefined || JSON.stringify(shown) === JSON.stringify(own) ? [own] : [own, shown];
}

/** @param from the text with which calls begin: a template may write reasoning before them */
function layoutOf(write: Write, from: string): Layout | undefined {
  const [one, two] = [1, 2].map((count) => {
    const toolCalls = Array.from({ length: count }, () => ({ name: nameMark, arguments: { [argumentMark]: 0 } }));
    const text = write({ role: "assistant", content: "", toolCalls });
    return text.slice(Math.max(0, text.indexOf(from))).split(markedArguments);
  });
  const [whole = "", last] = one ?? [];
  // A template may show one call alone, or number its calls, which no grammar holds.
  const [, between = "", end] = two?.length === 3 ? two : ["", `${last}${whole}`, last];
  if (last === undefined || end !== last || !whole.startsWith(from) || !whole.includes(nameMark)) return undefined;
  const ended = sharedLength(last, between);
  let begun = 0;
  while (begun < Math.min(whole.length, between.length - ended) && whole.at(-1 - begun) === between.at(-1 - begun)) begun++;
  return {
    opening: whole.slice(0, whole.length - begun),
    begin: whole.slice(whole.length - begun),
    end: last.slice(0, ended),
    separator: between.slice(ended, between.length - begun),
    closing: last.slice(ended),
  };
}
