import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import { z } from "zod";
import { ModelError, reasonOf } from "../core/errors.ts";
import { isRecord } from "../core/record.ts";
import type { TokenId } from "../core/trajectory.ts";
import { encodeByPieces, type HubTokenizer } from "./byte-level.ts";

/** Text to token ids and back, as a model folder defines it. Nothing is added to what is encoded. */
export interface Tokenizer {
  /** One more than the highest id. */
  readonly size: number;
  /** Tokens that end an assistant's message. Never empty. */
  readonly stopTokens: readonly TokenId[];
  /** The folder's chat template, in Jinja. */
  readonly chatTemplate: string | undefined;
  /** Named tokens that templates refer to, such as `bos_token`. */
  readonly namedTokens: Readonly<Record<string, string>>;
  encode(text: string): TokenId[];
  /** Tokens that are themselves wherever their text occurs. `special` ones have a control meaning in every chat. */
  readonly addedTokens: readonly { readonly text: string; readonly special: boolean }[];
  /**
   * Returns the text of the ids, special tokens included unless `skipSpecial` is set. Ids without a token, such as a model's
   * padding rows, give no text.
   */
  decode(ids: readonly TokenId[], options?: { readonly skipSpecial?: boolean }): string;
  idOf(token: string): TokenId | undefined;
  /** The tokens as the file writes them, and how their bytes are written: as symbols, as `<0x0A>`, or as they are. */
  readonly vocabulary: { readonly tokens: ReadonlyMap<TokenId, string>; readonly bytes: "byte_level" | "byte_fallback" | "raw" };
}

/** The parts of a model folder that concern its tokenizer, parsed from JSON. */
export interface TokenizerFiles {
  readonly tokenizer: unknown;
  readonly config: unknown;
  /** From a file beside `tokenizer_config.json`; it goes before a template inside of it. */
  readonly chatTemplate?: string;
  /** Ids that end generation according to `generation_config.json` and `config.json`. */
  readonly endIds?: readonly TokenId[];
}

const namedTokenSchema = z.union([z.string(), z.object({ content: z.string() }).transform((token) => token.content)]);
const templateSchema = z.union([
  z.string(),
  z.array(z.object({ name: z.string(), template: z.string() })).transform((all) => {
    const named = (wanted: string) => all.find(({ name }) => name === wanted)?.template;
    return chooseTemplate(named("default"), named("tool_use"));
  }),
]);

/** The template for conversations with tools and that for others, as one. Undefined if there is neither. */
export function chooseTemplate(plain: string | undefined, withTools: string | undefined): string | undefined {
  if (plain === undefined || withTools === undefined) return plain ?? withTools;
  // A line break after a block belongs to the block; one at a template's end is dropped.
  const [first, second] = [withTools, plain].map((template) => template.replace(/\n$/, ""));
  return `{% if tools %}\n${first}{% else %}\n${second}{% endif %}`;
}

/** In the order in which transformers adds them. */
const tokenNames = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"] as const;
const extraTokensSchema = z.union([
  z.array(namedTokenSchema),
  z.record(z.string(), namedTokenSchema).transform((named) => Object.values(named)),
]);
const addedTokenSchema = z.looseObject({ content: z.string(), special: z.boolean().default(false) });
const configSchema = z.looseObject({
  bos_token: namedTokenSchema.nullish(),
  eos_token: namedTokenSchema.nullish(),
  unk_token: namedTokenSchema.nullish(),
  sep_token: namedTokenSchema.nullish(),
  pad_token: namedTokenSchema.nullish(),
  cls_token: namedTokenSchema.nullish(),
  mask_token: namedTokenSchema.nullish(),
  additional_special_tokens: extraTokensSchema.nullish(),
  extra_special_tokens: extraTokensSchema.nullish(),
  added_tokens_decoder: z.record(z.string(), addedTokenSchema).nullish(),
  split_special_tokens: z.literal(false).nullish(),
  chat_template: templateSchema.nullish(),
});
/** The largest vocabularies have 262,144 tokens. An id far beyond is damage, and a table up to it would take memory and minutes. */
const maxTokens = 2 ** 19;
const tokenId = z.int().min(0).lt(maxTokens);
/** One check instead of a schema of every entry, which would collect half a million issues. */
const vocabulary = z.custom<Record<string, number>>(isRecord).superRefine((vocab, { addIssue }) => {
  const entries = Object.entries(vocab);
  if (entries.length > maxTokens)
    return addIssue({ code: "custom", message: `${entries.length} tokens, more than ${maxTokens}` });
  const wrong = entries.find(([, id]) => !tokenId.safeParse(id).success);
  if (wrong !== undefined) addIssue({ code: "custom", path: [wrong[0]], message: `expected an id from 0 to ${maxTokens - 1}` });
});
const tokenizerSchema = z.looseObject({
  model: z.looseObject({
    vocab: z.union([vocabulary, z.array(z.unknown()).max(maxTokens)]),
    merges: z
      .array(z.unknown())
      .max(2 * maxTokens)
      .optional(),
  }),
  added_tokens: z.array(addedTokenSchema.extend({ id: tokenId })).default([]),
  normalizer: z.unknown().default(null),
  pre_tokenizer: z.unknown().default(null),
  post_processor: z.unknown().default(null),
  decoder: z.unknown().default(null),
});
/** The tokens that chat formats end a message with, where a folder names no end token of its own. */
const customaryEnds = ["<|im_end|>", "<|eot_id|>", "<|end|>", "<|endoftext|>", "</s>"];

/**
 * @param origin names the files in error messages
 * @throws ModelError if the files do not make a tokenizer
 */
export function makeTokenizer(files: TokenizerFiles, origin = "tokenizer"): Tokenizer {
  const tokenizerFile = `${origin}/tokenizer.json`;
  const config = checked(configSchema, files.config, `${origin}/tokenizer_config.json`);
  const definition = withTokensOf(config, checked(tokenizerSchema, files.tokenizer, tokenizerFile));
  const asInRust = { ...definition, pre_tokenizer: withRustPatterns(definition.pre_tokenizer) };
  const hub: HubTokenizer = attempt(tokenizerFile, () => new HuggingFaceTokenizer(asInRust, config));

  const known = hub.get_vocab();
  const texts = new Map([...known].filter(([text]) => text !== undefined).map(([text, id]) => [id, text]));
  const namedTokens = Object.fromEntries(
    tokenNames.flatMap((name) => {
      const token = config[name];
      return token ? [[name, token]] : [];
    }),
  );
  // In Qwen's vocabulary "</s>" is a plain word, with which HTML ends a line through a text.
  const added = new Set(definition.added_tokens.map(({ content }) => content));
  const ends = customaryEnds.filter((token) => added.has(token));
  const named = [namedTokens.eos_token, ...ends].flatMap((token) => (token === undefined ? [] : (known.get(token) ?? [])));
  const stopTokens = [...new Set([...named, ...(files.endIds ?? [])])].filter((id) => texts.has(id));
  if (stopTokens.length === 0) {
    throw new ModelError(`${origin}: end-of-turn token`, undefined, {
      expected: `one of ${customaryEnds.join(" ")}`,
      hint: 'Name it as "eos_token" in tokenizer_config.json.',
    });
  }

  const encode =
    encodeByPieces(hub, definition) ??
    ((text: string) => (text === "" ? [] : hub.encode(text, { add_special_tokens: false }).ids));

  return {
    size: [...texts.keys()].reduce((most, id) => Math.max(most, id), -1) + 1, // too many to be arguments of one call
    stopTokens,
    chatTemplate: files.chatTemplate ?? config.chat_template ?? undefined,
    namedTokens,
    encode,
    addedTokens: definition.added_tokens.map(({ content, special }) => ({ text: content, special })),
    decode: (ids, { skipSpecial = false } = {}) => {
      const decodable = ids.filter((id) => texts.has(id));
      if (decodable.length === 0) return "";
      return hub.decode(decodable, { skip_special_tokens: skipSpecial, clean_up_tokenization_spaces: false });
    },
    idOf: (token) => known.get(token),
    vocabulary: { tokens: texts, bytes: byteStyle(definition) },
  };
}

/**
 * Adds the tokens that `tokenizer_config.json` alone names, as transformers does: each has the id of its text in the vocabulary, or the next
 * one. Padding gets an id and is not added, as it occurs in no text and models may have no row for it.
 */
function withTokensOf(
  config: z.output<typeof configSchema>,
  definition: z.output<typeof tokenizerSchema>,
): z.output<typeof tokenizerSchema> {
  const { added_tokens_decoder: listed, additional_special_tokens: additional, extra_special_tokens: extra, pad_token } = config;
  const named = [...tokenNames.map((name) => config[name]), ...(additional ?? []), ...(extra ?? [])];
  const wanted = [
    ...Object.entries(listed ?? {})
      .sort(([a], [b]) => Number(a) - Number(b))
      .map(([, token]) => token),
    ...named.flatMap((content) => (content ? [{ content, special: true }] : [])),
  ];
  const known = new Set(definition.added_tokens.map(({ content }) => content));
  if (wanted.every(({ content }) => known.has(content))) return definition;
  const { vocab } = definition.model;
  const ids = new Map(
    Array.isArray(vocab) ? vocab.map((entry, id) => [String([entry].flat()[0]), id] as const) : Object.entries(vocab),
  );
  let next = definition.added_tokens.reduce((most, { id }) => Math.max(most, id + 1), ids.size);
  const added = wanted.flatMap((token) => {
    if (known.has(token.content)) return [];
    known.add(token.content);
    const id = ids.get(token.content) ?? next++;
    const flags = { single_word: false, lstrip: false, rstrip: false, normalized: !token.special };
    return token.content === pad_token ? [] : [{ ...flags, ...token, id }];
  });
  return { ...definition, added_tokens: [...definition.added_tokens, ...added] };
}

const preTokenizerSchema = z.looseObject({
  type: z.string(),
  pretokenizers: z.array(z.unknown()).optional(),
  individual_digits: z.boolean().optional(),
  use_regex: z.boolean().optional(),
  add_prefix_space: z.boolean().optional(),
});

/** GPT-2's own cuts, in which `@huggingface/tokenizers` counts a byte order mark as white space. */
const gpt2Cuts = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/**
 * The pre-tokenizers `Digits` and `ByteLevel` by the patterns that they are in the Rust library. `@huggingface/tokenizers` 0.2 reads patterns as
 * Rust does, but has its own for these two: digits are 0 to 9 alone, so that ½ or ٣ would get other ids.
 */
function withRustPatterns(preTokenizer: unknown): unknown {
  const parsed = preTokenizerSchema.safeParse(preTokenizer);
  if (!parsed.success) return preTokenizer;
  const { type, pretokenizers, individual_digits: apart, use_regex: cuts = true, add_prefix_space: prefix = true } = parsed.data;
  if (pretokenizers !== undefined) return { ...parsed.data, pretokenizers: pretokenizers.map(withRustPatterns) };
  const split = (Regex: string) => ({ type: "Split", pattern: { Regex }, behavior: "Isolated", invert: false });
  if (type === "Digits") return split(apart ? "\\p{N}" : "\\p{N}+");
  if (type !== "ByteLevel" || !cuts || prefix) return preTokenizer;
  return { type: "Sequence", pretokenizers: [split(gpt2Cuts), { ...parsed.data, use_regex: false }] };
}

function byteStyle({ decoder, model }: z.output<typeof tokenizerSchema>): Tokenizer["vocabulary"]["bytes"] {
  if (JSON.stringify(decoder)?.includes('"ByteLevel"')) return "byte_level";
  return model.byte_fallback === true ? "byte_fallback" : "raw";
}

/**
 * A model may have more rows than its tokenizer has tokens (padding), never fewer.
 * @throws ModelError if the tokenizer does not fit the model
 */
export function checkVocabulary(tokenizer: Tokenizer, modelSize: number, origin: string): void {
  if (tokenizer.size <= modelSize) return;
  throw new ModelError(`${origin}: tokenizer size`, tokenizer.size, {
    expected: `at most vocab_size ${modelSize} of config.json`,
    hint: "The tokenizer belongs to another model. Copy tokenizer.json and tokenizer_config.json from the folder that the weights came from.",
  });
}

/** @throws ModelError naming the file whose contents do not fit */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown, path: string): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw brokenFile(path, z.prettifyError(result.error), result.error);
}

/** @throws ModelError naming the file that could not be read */
export function attempt<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof ModelError) throw cause; // what was read inside has already said which file it was
    throw brokenFile(path, reasonOf(cause), cause);
  }
}

function brokenFile(path: string, problem: string, cause: unknown): ModelError {
  return new ModelError(path, problem, {
    expected: "a file in the format of Hugging Face tokenizers",
    hint: "A model folder needs config.json, model.safetensors, tokenizer.json and tokenizer_config.json; copy the file from its source again.",
    cause,
  });
}
