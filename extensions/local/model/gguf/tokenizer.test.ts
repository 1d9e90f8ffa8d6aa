import { expect, test } from "vitest";
import { makeTokenizer } from "../../../../src/chat/tokenizer.ts";
import type { GgufValue } from "./reader.ts";
import { preTokenizerName, tokenizerOf } from "./tokenizer.ts";

function read(changes: Readonly<Record<string, GgufValue | undefined>>) {
  const own = Object.entries(changes).flatMap(([key, value]): [string, GgufValue][] =>
    value === undefined ? [] : [[`tokenizer.${key}`, value]],
  );
  return tokenizerOf({ metadata: new Map(own), tensors: new Map() }, "m.gguf");
}

const bytes = {
  "ggml.model": "gpt2",
  "ggml.pre": "gpt-2",
  "ggml.tokens": ["a", "b", "Ġ", "ĠĠ", "ab", "Ġab", "1", "2", "12", "<end>", "<tool>"],
  "ggml.token_type": [1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 4],
  "ggml.merges": ["a b", "Ġ Ġ", "Ġ ab", "1 2"],
  "ggml.eos_token_id": 9,
};
const sentences = {
  "ggml.model": "llama",
  "ggml.tokens": ["<unk>", "<s>", "<0x41>", "▁", "a", "b", "ab", "▁ab", "▁a"],
  "ggml.token_type": [2, 3, 6, 1, 1, 1, 1, 1, 1],
  "ggml.scores": [0, 0, 0, -9, -8, -7, -1, -2, -1.5],
  "ggml.bos_token_id": 1,
  "ggml.eos_token_id": 1,
};
const idsOf = (files: ReturnType<typeof read>, text: string) =>
  makeTokenizer({ tokenizer: files.tokenizer, config: files.config }).encode(text);

test("byte-level BPE: merges, special tokens and names", () => {
  const files = read({ ...bytes, chat_template: "T" });
  expect(files.tokenizer).toMatchObject({
    added_tokens: [
      { id: 9, content: "<end>", special: true },
      { id: 10, content: "<tool>", special: false },
    ],
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true },
    model: {
      type: "BPE",
      ignore_merges: false,
      merges: [
        ["a", "b"],
        ["Ġ", "Ġ"],
        ["Ġ", "ab"],
        ["1", "2"],
      ],
    },
  });
  expect(files.config).toMatchObject({ eos_token: "<end>", bos_token: undefined, chat_template: "T" });
  expect([idsOf(files, "ab ab<end>"), idsOf(files, "12")]).toEqual([[4, 5, 9], [8]]);
});

test("each way to cut has the name that it was read by, and cuts digits as it says", () => {
  for (const pre of ["gpt-2", "smollm", "qwen2", "llama-bpe", "tekken"]) {
    const { tokenizer } = read({ ...bytes, "ggml.pre": pre });
    const { ignore_merges: whole } = tokenizer.model as { ignore_merges: boolean };
    expect([pre, whole]).toEqual([pre, pre === "llama-bpe" || pre === "tekken"]);
    expect(preTokenizerName(tokenizer.pre_tokenizer, whole)).toBe(pre);
    expect(preTokenizerName(tokenizer.pre_tokenizer, !whole)).toBeUndefined();
    expect(tokenizer.normalizer).toEqual(pre === "qwen2" ? { type: "NFC" } : null);
  }
  for (const [pre, ids] of [
    ["smollm", [6, 7]],
    ["qwen2", [6, 7]],
    ["tekken", [6, 7]],
    ["llama-bpe", [8]],
  ] as const)
    expect([pre, idsOf(read({ ...bytes, "ggml.pre": pre }), "12")]).toEqual([pre, ids]);
});

test("cuts that llama.cpp has no name for have none", () => {
  const whole = { type: "ByteLevel", use_regex: true };
  const split = { type: "Split", pattern: { Regex: "x" } };
  const others = [
    undefined,
    { type: "Whitespace" },
    { type: "Sequence", pretokenizers: [] },
    { type: "Sequence", pretokenizers: [split, whole] },
    { type: "Sequence", pretokenizers: [{ ...whole, use_regex: false }] },
    { type: "Sequence", pretokenizers: [split, { ...whole, use_regex: false }] },
    { type: "Sequence", pretokenizers: [{ type: "Digits", individual_digits: false }, whole] },
    { type: "Sequence", pretokenizers: [{ type: "Digits", individual_digits: true }, { type: "Whitespace" }, whole] },
  ];
  expect(others.map((each) => preTokenizerName(each, false))).toEqual(others.map(() => undefined));
});

test("templates: a plain one, one with tools beside it, one with tools alone", () => {
  const templateOf = (...changes: Record<string, string>[]) => read(Object.assign({}, bytes, ...changes)).config.chat_template;
  const tools = { "chat_template.tool_use": "U" };
  const named = (plain: string) => [
    { name: "default", template: plain },
    { name: "tool_use", template: "U" },
  ];
  expect([templateOf(), templateOf({ chat_template: "T" })]).toEqual([undefined, "T"]);
  expect([templateOf({ chat_template: "T" }, tools), templateOf(tools)]).toEqual([named("T"), named("U")]);
});

test("SentencePiece: the best score is merged first, and bytes are what no piece is", () => {
  const files = read(sentences);
  const { model, decoder, normalizer } = files.tokenizer as Record<string, Record<string, unknown>>;
  // By score; of ▁ab two cuts, the longer left first.
  expect(model.merges).toEqual([
    ["a", "b"],
    ["▁", "a"],
    ["▁a", "b"],
    ["▁", "ab"],
  ]);
  expect(model).toMatchObject({ unk_token: "<unk>", byte_fallback: true, fuse_unk: true });
  expect(normalizer).toMatchObject({ type: "Sequence", normalizers: [{ type: "Prepend", prepend: "▁" }, { type: "Replace" }] });
  expect(decoder.decoders).toContainEqual({ type: "Strip", content: " ", start: 1, stop: 0 });
  expect(idsOf(files, "ab")).toEqual([7]);
  const bare = read({ ...sentences, "ggml.add_space_prefix": false, "ggml.unknown_token_id": 1 });
  expect(bare.tokenizer).toMatchObject({ normalizer: { type: "Replace", content: "▁" }, model: { unk_token: "<s>" } });
  expect([idsOf(bare, "ab"), idsOf(bare, "ab ab"), idsOf(bare, "A")]).toEqual([[6], [6, 7], [2]]);
});

test.each([
  [{ ...bytes, "ggml.model": "t5" }, /tokenizer.ggml.model in m.gguf is "t5"; expected "gpt2" or "llama"/],
  [{ ...bytes, "ggml.pre": "falcon" }, /tokenizer.ggml.pre in m.gguf is "falcon"; expected "gpt-2", "smollm".*other ids/],
  [{ ...bytes, "ggml.tokens": undefined }, /tokenizer.ggml.tokens in m.gguf is missing/],
  [{ ...bytes, "ggml.tokens": ["a", 1] }, /tokenizer.ggml.tokens in m.gguf .*expected a list of texts/],
  [{ ...bytes, "ggml.merges": undefined }, /tokenizer.ggml.merges in m.gguf is missing/],
  [{ ...sentences, "ggml.scores": undefined }, /tokenizer.ggml.scores in m.gguf is missing/],
  [{ ...sentences, "ggml.add_space_prefix": 1 }, /add_space_prefix in m.gguf is 1; expected true or false/],
] as const)("a tokenizer that is not converted is refused by field: %#", (changes, message) => {
  expect(() => read(changes as Record<string, GgufValue | undefined>)).toThrow(message);
});

test("each way to cut is written with the patterns of its family", () => {
  const cuts = ["gpt-2", "smollm", "qwen2", "llama-bpe", "llama3", "llama-v3", "lfm2", "tekken"].map((pre) => {
    const { pre_tokenizer, decoder } = read({ ...bytes, "ggml.pre": pre }).tokenizer;
    expect(decoder).toEqual({ type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true });
    return `${pre}: ${JSON.stringify(pre_tokenizer)}`;
  });
  expect(cuts).toMatchInlineSnapshot(`
    [
      "gpt-2: {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}",
      "smollm: {"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}]}",
      "qwen2: {"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}",
      "llama-bpe: {"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}",
      "llama3: {"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}",
      "llama-v3: {"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}",
      "lfm2: {"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}",
      "tekken: {"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]*[\\\\p{Ll}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]+|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]+[\\\\p{Ll}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]*|\\\\p{N}| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n/]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}",
    ]
  `);
});

test("a tokenizer's files are whole, of either kind", () => {
  expect(JSON.stringify(read({ ...bytes, "ggml.unknown_token_id": 0, "ggml.padding_token_id": 1 }))).toMatchInlineSnapshot(
    `"{"tokenizer":{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":9,"content":"<end>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},{"id":10,"content":"<tool>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false}],"post_processor":null,"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{"1":6,"2":7,"12":8,"a":0,"b":1,"Ġ":2,"ĠĠ":3,"ab":4,"Ġab":5,"<end>":9,"<tool>":10},"merges":[["a","b"],["Ġ","Ġ"],["Ġ","ab"],["1","2"]]}},"config":{"tokenizer_class":"PreTrainedTokenizerFast","clean_up_tokenization_spaces":false,"eos_token":"<end>","unk_token":"a","pad_token":"b"}}"`,
  );
  expect(JSON.stringify(read(sentences))).toMatchInlineSnapshot(
    `"{"tokenizer":{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":1,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],"post_processor":null,"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"pre_tokenizer":null,"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},"model":{"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":true,"ignore_merges":false,"vocab":{"<unk>":0,"<s>":1,"<0x41>":2,"▁":3,"a":4,"b":5,"ab":6,"▁ab":7,"▁a":8},"merges":[["a","b"],["▁","a"],["▁a","b"],["▁","ab"]]}},"config":{"tokenizer_class":"PreTrainedTokenizerFast","clean_up_tokenization_spaces":false,"bos_token":"<s>","eos_token":"<s>"}}"`,
  );
  expect(JSON.stringify(read({ ...sentences, "ggml.add_space_prefix": false }).tokenizer.decoder)).toBe(
    '{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"}]}',
  );
});

test("merges of SentencePiece are all cuts into pieces, the longer parts first where scores are equal", () => {
  const model = (tokens: readonly string[], scores: readonly number[], types = tokens.map(() => 1)) =>
    (
      read({ ...sentences, "ggml.tokens": tokens, "ggml.scores": scores, "ggml.token_type": types }).tokenizer as {
        readonly model: { readonly merges: readonly unknown[]; readonly unk_token: unknown };
      }
    ).model;
  expect(model(["a", "b", "ab", "aba", "ba"], [0, 0, -1, -1, -1]).merges).toEqual([
    ["ab", "a"],
    ["a", "ba"],
    ["a", "b"],
    ["b", "a"],
  ]);
  // Bytes, controls and the unknown are no pieces.
  for (const type of [2, 3, 6]) expect(model(["a", "b", "ab"], [0, 0, 0], [1, type, 1]).merges).toEqual([]);
  expect(model(["a", "b", "ab"], [0, 0, 0], [1, 4, 5]).merges).toEqual([["a", "b"]]);
  const run = ["-", "-".repeat(128), "-".repeat(256), "-".repeat(257)];
  expect(model(run, [0, 0, 0, 0]).merges).toEqual([["-".repeat(128), "-".repeat(128)]]);
  expect(model(["a"], [0]).unk_token).toBeNull();
});
