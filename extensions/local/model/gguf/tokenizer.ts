import type { Gguf } from "./file.ts";
import { Metadata } from "./metadata.ts";

/** Kinds of tokens, as the metadata numbers them. */
export const tokenKinds = { normal: 1, unknown: 2, control: 3, user: 4, unused: 5, byte: 6 } as const;

/** The tokenizer's files of a model folder. */
export interface TokenizerJson {
  /** `tokenizer.json` */
  readonly tokenizer: Record<string, unknown>;
  /** `tokenizer_config.json`, with the chat template. */
  readonly config: Record<string, unknown>;
}

/**
 * The tokenizer of a GGUF file in Hugging Face's format: byte-level BPE ("gpt2") or SentencePiece's BPE with a byte fall-back ("llama").
 * @throws ModelError naming the field that is missing, or says a kind or a pre-tokenizer that is not known
 */
export function tokenizerOf(gguf: Gguf, file: string): TokenizerJson {
  const fields = new Metadata(gguf, file);
  const model = fields.text("tokenizer.ggml.model");
  const tokens = fields.required("tokenizer.ggml.tokens", fields.texts("tokenizer.ggml.tokens"));
  const types = fields.numbers("tokenizer.ggml.token_type") ?? [];
  const make = model === "gpt2" ? byteLevel : model === "llama" ? sentencePiece : undefined;
  if (make === undefined) return fields.refuse("tokenizer.ggml.model", ["gpt2", "llama"], "Other tokenizers are not converted.");
  const special = tokens.flatMap((content, id) =>
    types[id] === tokenKinds.control || types[id] === tokenKinds.user
      ? [addedToken(content, id, types[id] === tokenKinds.control)]
      : [],
  );
  const named = (name: string) => {
    const id = fields.number(`tokenizer.ggml.${name}_token_id`);
    return id === undefined ? undefined : tokens[id];
  };
  const [plain, withTools] = ["default", "tool_use"].map((name) => fields.text(chatTemplateKey(name)));
  const shared = { version: "1.0", truncation: null, padding: null, added_tokens: special, post_processor: null };
  return {
    tokenizer: { ...shared, ...make(fields, tokens, types) },
    config: {
      tokenizer_class: "PreTrainedTokenizerFast",
      clean_up_tokenization_spaces: false,
      ...{ bos_token: named("bos"), eos_token: named("eos"), unk_token: named("unknown"), pad_token: named("padding") },
      chat_template:
        withTools === undefined
          ? plain
          : Object.entries({ default: plain ?? withTools, tool_use: withTools }).map(([name, template]) => ({ name, template })),
    },
  };
}

/** Where llama.cpp has a named chat template. */
export function chatTemplateKey(name: string): string {
  return name === "default" ? "tokenizer.chat_template" : `tokenizer.chat_template.${name}`;
}

/** A token beside the vocabulary, as tokenizer.json has it. */
export function addedToken(content: string, id: number, special: boolean): Record<string, unknown> {
  return { id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special };
}

const bpe = {
  ...{ type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null },
  ...{ fuse_unk: false, byte_fallback: false, ignore_merges: false },
};
const vocabularyOf = (tokens: readonly string[]) => Object.fromEntries(tokens.map((token, id) => [token, id]));

const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const wordsOf = (digits: string) =>
  `${contractions}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const marks = { upper: "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}", lower: "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}" };
const tekken =
  `[^\\r\\n\\p{L}\\p{N}]?[${marks.upper}]*[${marks.lower}]+|[^\\r\\n\\p{L}\\p{N}]?[${marks.upper}]+[${marks.lower}]*|` +
  "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

interface PreTokenizer {
  /** Cuts texts before bytes are merged; at GPT-2's own pattern if left out. */
  readonly pattern?: string;
  readonly digits?: true;
  readonly normalizer?: { readonly type: "NFC" };
  /** A piece that is a token is that token, whatever its merges say. */
  readonly whole?: true;
}

/** By the names that llama.cpp gives them. */
const preTokenizers: Readonly<Record<string, PreTokenizer>> = {
  "gpt-2": {},
  smollm: { digits: true },
  qwen2: { pattern: wordsOf("\\p{N}"), normalizer: { type: "NFC" } },
  ...Object.fromEntries(
    ["llama-bpe", "llama3", "llama-v3", "lfm2"].map((name) => [name, { pattern: wordsOf("\\p{N}{1,3}"), whole: true }]),
  ),
  tekken: { pattern: tekken, whole: true },
};

interface Cut {
  readonly type?: unknown;
  readonly pattern?: { readonly Regex?: unknown };
  readonly individual_digits?: unknown;
  readonly use_regex?: unknown;
  readonly pretokenizers?: readonly Cut[];
}

/**
 * The name that llama.cpp has for a `pre_tokenizer`. Undefined if it has none that is known here.
 * @param whole whether a piece that is a token is that token (`ignore_merges`)
 */
export function preTokenizerName(preTokenizer: unknown, whole: boolean): string | undefined {
  const key = (of: PreTokenizer) => JSON.stringify([of.pattern ?? null, of.digits ?? false, of.whole ?? false]);
  const wanted = preTokenizer as Cut;
  const cuts = wanted?.type === "Sequence" ? (wanted.pretokenizers ?? []) : [wanted];
  const bytes = cuts.at(-1);
  if (bytes?.type !== "ByteLevel") return undefined;
  const pattern = cuts.find(({ type }) => type === "Split")?.pattern?.Regex;
  const digits = cuts.some(({ type, individual_digits: apart }) => type === "Digits" && apart === true);
  if ((typeof pattern === "string") === (bytes.use_regex !== false)) return undefined;
  if (cuts.length !== 1 + Number(typeof pattern === "string") + Number(digits)) return undefined;
  const found = key({ ...(typeof pattern === "string" && { pattern }), ...(digits && { digits }), ...(whole && { whole }) });
  return Object.keys(preTokenizers).find((name) => key(preTokenizers[name]) === found);
}

function byteLevel(fields: Metadata, tokens: readonly string[]): Record<string, unknown> {
  const key = "tokenizer.ggml.pre";
  const name = fields.text(key) ?? "";
  if (!Object.hasOwn(preTokenizers, name))
    fields.refuse(
      key,
      Object.keys(preTokenizers),
      "How it cuts texts is not known here: other ids than the model learned would come out.",
    );
  const { pattern, digits, normalizer = null, whole = false } = preTokenizers[name];
  const merges = fields.required("tokenizer.ggml.merges", fields.texts("tokenizer.ggml.merges"));
  const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: pattern === undefined };
  const cuts = [
    ...(digits ? [{ type: "Digits", individual_digits: true }] : []),
    ...(pattern === undefined ? [] : [{ type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false }]),
  ];
  return {
    normalizer,
    pre_tokenizer: cuts.length === 0 ? bytes : { type: "Sequence", pretokenizers: [...cuts, bytes] },
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: { ...bpe, ignore_merges: whole, vocab: vocabularyOf(tokens), merges: merges.map((merge) => splitMerge(merge)) },
  };
}

/** "Ġ Ġ" is two tokens: the space between them is the first one that is not at the start. */
function splitMerge(merge: string): [string, string] {
  const at = merge.indexOf(" ", 1);
  return [merge.slice(0, at), merge.slice(at + 1)];
}

const space = "▁";

function sentencePiece(fields: Metadata, tokens: readonly string[], types: readonly number[]): Record<string, unknown> {
  const scores = fields.required("tokenizer.ggml.scores", fields.numbers("tokenizer.ggml.scores"));
  const prefix = fields.flag("tokenizer.ggml.add_space_prefix") ?? true;
  const unknown = tokens[fields.number("tokenizer.ggml.unknown_token_id") ?? types.indexOf(tokenKinds.unknown)] ?? null;
  const withSpaces = { type: "Replace", pattern: { String: " " }, content: space };
  const joined = [{ type: "Replace", pattern: { String: space }, content: " " }, { type: "ByteFallback" }, { type: "Fuse" }];
  return {
    normalizer: prefix ? { type: "Sequence", normalizers: [{ type: "Prepend", prepend: space }, withSpaces] } : withSpaces,
    pre_tokenizer: null,
    decoder: {
      type: "Sequence",
      decoders: prefix ? [...joined, { type: "Strip", content: " ", start: 1, stop: 0 }] : joined,
    },
    model: {
      ...bpe,
      ...{ unk_token: unknown, fuse_unk: true, byte_fallback: true },
      vocab: vocabularyOf(tokens),
      merges: mergesOf(tokens, types, scores),
    },
  };
}

/**
 * The merges that a SentencePiece vocabulary amounts to: of every token each way to cut it into two tokens, best scores first. As transformers'
 * converter makes them.
 */
function mergesOf(tokens: readonly string[], types: readonly number[], scores: readonly number[]): [string, string][] {
  const isPiece = (id: number) =>
    types[id] !== tokenKinds.control && types[id] !== tokenKinds.byte && types[id] !== tokenKinds.unknown;
  const idOf = new Map(tokens.flatMap((token, id) => (isPiece(id) ? [[token, id] as const] : [])));
  const merges = [...idOf].flatMap(([token, id]) => {
    const cuts: { left: string; right: string; score: number; order: readonly number[] }[] = [];
    // Longer ones are runs of one sign, whose cuts are quadratic in memory.
    for (let at = 1; at < token.length && token.length <= 256; at++) {
      const [left, right] = [token.slice(0, at), token.slice(at)];
      const [l, r] = [idOf.get(left), idOf.get(right)];
      if (l !== undefined && r !== undefined) cuts.push({ left, right, score: scores[id] ?? 0, order: [l, r] });
    }
    return cuts.sort((a, b) => a.order[0] - b.order[0] || a.order[1] - b.order[1]);
  });
  merges.sort((a, b) => b.score - a.score || b.left.length - a.left.length || b.right.length - a.right.length);
  return merges.map(({ left, right }) => [left, right]);
}
