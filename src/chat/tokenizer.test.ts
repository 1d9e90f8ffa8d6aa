import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { plain, testTokenizer, tokenizerJson } from "../../test/fixtures/chats.ts";
import { lettersTokenizer } from "../../test/letters.ts";
import { ModelError } from "../core/errors.ts";
import type { Tool } from "../tools/tool.ts";
import { compileTemplate } from "./template.ts";
import { checkVocabulary, makeTokenizer } from "./tokenizer.ts";
import { loadTokenizer } from "./tokenizer-folder.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tokenizer-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(files: Readonly<Record<string, unknown>>): void {
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  }
}

const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc
    .array(
      fc.constantFrom(
        "hello",
        " thin",
        "  ",
        "\n\n",
        "<|im_end|>",
        "<|im_",
        "é",
        "e\u0301",
        "日本",
        "42",
        " x",
        " ,",
        " n't",
        "HeLLo",
      ),
    )
    .map((parts) => parts.join("")),
);

test("what is encoded decodes to itself, special tokens included", () => {
  const tokenizer = testTokenizer();
  fc.assert(
    fc.property(text, (text) => {
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    }),
  );
});

test("encoding piece by piece gives what the library gives", () => {
  const tokenizer = testTokenizer();
  const library: { encode(text: string, options: object): { ids: number[] } } = new HuggingFaceTokenizer(tokenizerJson, {});
  fc.assert(
    fc.property(text, (text) => {
      expect(tokenizer.encode(text)).toEqual(text === "" ? [] : library.encode(text, { add_special_tokens: false }).ids);
    }),
  );
});

const { pre_tokenizer: cut, added_tokens } = tokenizerJson;
const [split, byteLevel] = cut.pretokenizers;

test.each([
  ["composes characters", { normalizer: { type: "NFC" } }],
  ["folds characters", { normalizer: { type: "NFKC" } }],
  ["lowers letters", { normalizer: { type: "Lowercase" } }],
  ["throws away what it cuts at", { pre_tokenizer: { ...cut, pretokenizers: [{ ...split, behavior: "Removed" }, byteLevel] } }],
  [
    "joins what it cuts at",
    { pre_tokenizer: { ...cut, pretokenizers: [{ ...split, behavior: "MergedWithPrevious" }, byteLevel] } },
  ],
  ["begins with a space", { pre_tokenizer: { ...cut, pretokenizers: [split, { ...byteLevel, add_prefix_space: true }] } }],
  ["cuts once more", { pre_tokenizer: { ...cut, pretokenizers: [split, { ...byteLevel, use_regex: true }] } }],
  ["has tokens that take the space behind", { added_tokens: added_tokens.map((token) => ({ ...token, rstrip: true })) }],
  [
    "has a token that begins with another",
    { added_tokens: [...added_tokens, { ...added_tokens[0], id: 320, content: "<|im_end|> x" }] },
  ],
  ["has tokens that take the space before", { added_tokens: added_tokens.map((token) => ({ ...token, lstrip: true })) }],
])("a tokenizer that %s gives what the library gives", (_, changes) => {
  const definition = { ...tokenizerJson, ...changes };
  const tokenizer = makeTokenizer({ tokenizer: definition, config: { eos_token: "<|im_end|>" } });
  const library: { encode(text: string, options: object): { ids: number[] } } = new HuggingFaceTokenizer(definition, {});
  fc.assert(
    fc.property(text, (text) => {
      expect(tokenizer.encode(text)).toEqual(text === "" ? [] : library.encode(text, { add_special_tokens: false }).ids);
    }),
  );
});

test.each([
  [true, [0, 0, 1, 2]], // ½ ½ 3 ٣
  [false, [3, 4]], // ½½ 3٣
])("digits are all that Unicode calls numbers, as in Rust; apart: %s", (apart, ids) => {
  const vocab = { "½": 0, "3": 1, "٣": 2, "½½": 3, "3٣": 4 };
  const model = { type: "BPE", vocab, merges: ["½ ½", "3 ٣"] };
  const pre_tokenizer = { type: "Digits", individual_digits: apart };
  const tokenizer = makeTokenizer({
    tokenizer: { ...tokenizerJson, added_tokens: [{ ...added_tokens[0], id: 5, content: "<end>" }], pre_tokenizer, model },
    config: { eos_token: "<end>" },
  });
  expect(tokenizer.encode("½½3٣")).toEqual(ids);
});

test("a tokenizer of another layout encodes too", () => {
  const tokenizer = makeTokenizer({
    tokenizer: { ...tokenizerJson, pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true } },
    config: {},
  });
  expect(tokenizer.encode("hello<|im_end|>")).toEqual([tokenizer.idOf("hello"), tokenizer.idOf("<|im_end|>")]);
  expect(tokenizer.encode("")).toEqual([]);
});

test("special tokens are left out of a text on request, and ids without a token give no text", () => {
  const tokenizer = testTokenizer();
  const ids = [...tokenizer.encode("hello<|im_end|>"), 5_000];
  expect(tokenizer.decode(ids)).toBe("hello<|im_end|>");
  expect(tokenizer.decode(ids, { skipSpecial: true })).toBe("hello");
  expect(tokenizer.decode([5_000])).toBe("");
});

test("turns end with the tokenizer's end token, customary ones, and those of the generation settings", () => {
  write({
    "tokenizer.json": tokenizerJson,
    "tokenizer_config.json": { eos_token: { content: "<|begin_of_text|>" } },
    "generation_config.json": { eos_token_id: [303] },
    "config.json": { eos_token_id: 304 },
  });
  expect(loadTokenizer(folder).stopTokens).toEqual([302, 301, 305, 303, 304]);
});

test("a template file goes before the template in the settings, and that before a processor's", () => {
  write({ "tokenizer.json": tokenizerJson, "chat_template.json": { chat_template: plain } });
  expect(loadTokenizer(folder).chatTemplate).toBe(plain);
  write({ "tokenizer_config.json": { chat_template: "inside" } });
  expect(loadTokenizer(folder).chatTemplate).toBe("inside");
  write({ "chat_template.jinja": "jinja" });
  expect(loadTokenizer(folder).chatTemplate).toBe("jinja");
});

test("of several named templates one is for conversations with tools and one for those without", () => {
  const tool: Tool = { name: "f", description: "", parameters: { type: "object", properties: {} }, execute: () => "" };
  const chosen = () => {
    const render = compileTemplate(loadTokenizer(folder).chatTemplate ?? expect.unreachable(), {});
    return [[], [tool]].map((tools) => render([{ role: "user", content: "hi" }], tools, false));
  };
  const plain = "\n  {% for m in messages %}\n{{ m.content }}!\n  {% endfor %}\n";
  const named = { default: plain, tool_use: "{{ 'with' if tools else 'without' }} tools\n\n", rag: "rag" };
  const list = Object.entries(named).map(([name, template]) => ({ name, template }));
  write({ "tokenizer.json": tokenizerJson, "tokenizer_config.json": { chat_template: list } });
  expect(chosen()).toEqual(["\nhi!\n", "with tools\n"]); // as each renders alone
  write({ "tokenizer_config.json": { chat_template: list.slice(1) } });
  expect(chosen()[0]).toBe("without tools\n");
  write({ "tokenizer_config.json": { chat_template: [list[2], list[0]] } });
  expect(chosen()[1]).toBe("\nhi!\n");
  mkdirSync(join(folder, "additional_chat_templates"));
  write({ "chat_template.jinja": named.default, "additional_chat_templates/tool_use.jinja": named.tool_use });
  expect(chosen()).toEqual(["\nhi!\n", "with tools\n"]);
});

// In the order in which transformers 5.23 adds them.
test("tokens that the settings alone name get the id of their text in the vocabulary, or the next", () => {
  const settings = {
    ...{ bos_token: "hello", sep_token: "<sep>", pad_token: "<pad>", mask_token: { content: "<mask>" } },
    ...{ extra_special_tokens: { image_token: "<image>" }, added_tokens_decoder: { 400: { content: "<new>" } } },
  };
  write({ "tokenizer.json": tokenizerJson, "tokenizer_config.json": settings });
  const { encode, addedTokens, idOf, size, namedTokens } = loadTokenizer(folder);
  const known = testTokenizer();
  expect(encode("hellos")).toEqual([known.idOf("hello"), known.idOf("s")]);
  expect(encode("<new><sep><mask><image>")).toEqual([306, 307, 309, 310]); // 308 is the padding's
  expect(encode("<pad>")).toEqual(known.encode("<pad>"));
  expect([idOf("<new>"), size]).toEqual([306, 311]);
  expect(addedTokens).toContainEqual({ text: "<new>", special: false });
  expect(addedTokens).toContainEqual({ text: "<sep>", special: true });
  expect(namedTokens).toMatchObject({ sep_token: "<sep>", mask_token: "<mask>" });
});

test("a folder without a list of added tokens has older files for them, which go first", () => {
  write({
    "tokenizer.json": tokenizerJson,
    "tokenizer_config.json": { bos_token: "<other>", unk_token: "<|endoftext|>" },
    "special_tokens_map.json": { bos_token: { content: "<|begin_of_text|>" } },
    "added_tokens.json": { "<new>": 306 },
  });
  const old = loadTokenizer(folder);
  expect(old.namedTokens).toEqual({ bos_token: "<|begin_of_text|>", unk_token: "<|endoftext|>" });
  expect(old.encode("<new>")).toEqual([306]);
  write({ "tokenizer_config.json": { bos_token: "<|eot_id|>", added_tokens_decoder: {} } });
  const newer = loadTokenizer(folder);
  expect(newer.namedTokens).toEqual({ bos_token: "<|eot_id|>" });
  expect(newer.encode("<new>")).toEqual(testTokenizer().encode("<new>"));
});

test("a tokenizer that splits its special tokens in a text is refused", () => {
  write({ "tokenizer.json": tokenizerJson, "tokenizer_config.json": { split_special_tokens: true } });
  expect(() => loadTokenizer(folder)).toThrow(/tokenizer_config.json is [\s\S]*split_special_tokens/);
});

test("a missing or broken file is named, with what to do", () => {
  expect(() => loadTokenizer(folder)).toThrow(ModelError);
  expect(() => loadTokenizer(folder)).toThrow(/^\S+tokenizer\.json is "ENOENT.*copy the file/);
  write({ "tokenizer.json": '{"model": {' });
  expect(() => loadTokenizer(folder)).toThrow(/tokenizer\.json is .*JSON/);
  write({ "tokenizer.json": { model: { type: "BPE" } } });
  expect(() => loadTokenizer(folder)).toThrow(/tokenizer\.json is .*vocab/);
  const huge = { ...tokenizerJson.model, vocab: { ...tokenizerJson.model.vocab, far: 2 ** 24 } };
  write({ "tokenizer.json": { ...tokenizerJson, model: huge } });
  expect(() => loadTokenizer(folder)).toThrow(/tokenizer\.json is [\s\S]*vocab\.far/);
  write({ "tokenizer.json": { ...tokenizerJson, model: { ...tokenizerJson.model, type: "Made up", vocab: [] } } });
  expect(() => loadTokenizer(folder)).toThrow(ModelError);
  write({ "tokenizer.json": tokenizerJson, "tokenizer_config.json": { chat_template: 3 } });
  expect(() => loadTokenizer(folder)).toThrow(/tokenizer_config\.json is .*chat_template/);
});

test('a plain word "</s>" of the vocabulary ends no turn', () => {
  const { model } = tokenizerJson;
  const plain = { ...tokenizerJson, model: { ...model, vocab: { ...model.vocab, "</s>": 400 } } };
  expect(makeTokenizer({ tokenizer: plain, config: {} }).stopTokens).not.toContain(400);
  const control = { ...tokenizerJson, added_tokens: [...added_tokens, { ...added_tokens[0], id: 400, content: "</s>" }] };
  expect(makeTokenizer({ tokenizer: control, config: {} }).stopTokens).toContain(400);
});

test("a tokenizer without any token that ends a turn is refused", () => {
  write({ "tokenizer.json": { ...tokenizerJson, added_tokens: [] } });
  expect(() => loadTokenizer(folder)).toThrow(/end-of-turn token is missing.*eos_token/);
});

test("a model may have more rows than its tokenizer has tokens, never fewer", () => {
  const tokenizer = testTokenizer();
  expect(tokenizer.size).toBe(306);
  expect(() => checkVocabulary(tokenizer, 306, "models/x")).not.toThrow();
  expect(() => checkVocabulary(tokenizer, 305, "models/x")).toThrow(/models\/x: tokenizer size is 306.*305.*another model/);
});

test("a vocabulary of 250,000 tokens is read: more than a function takes arguments", () => {
  const vocab = Object.fromEntries(Array.from({ length: 250_000 }, (_, id) => [`t${id}`, id]));
  const { tokenizer, config } = lettersTokenizer;
  const added = tokenizer.added_tokens.map((token) => ({ ...token, id: 250_000 }));
  const large = { tokenizer: { ...tokenizer, model: { ...tokenizer.model, vocab }, added_tokens: added }, config };
  expect(makeTokenizer(large).size).toBe(250_001);
});

test("how bytes are written follows from the decoder, else from the model", () => {
  const style = (decoder: unknown, model: object = {}) =>
    makeTokenizer({ tokenizer: { ...tokenizerJson, decoder, model: { ...tokenizerJson.model, ...model } }, config: {} })
      .vocabulary.bytes;
  const nested = { type: "Sequence", decoders: [{ type: "ByteLevel" }] };
  expect([style({ type: "ByteLevel" }), style(nested), style(null), style(null, { byte_fallback: true })]).toEqual([
    ...["byte_level", "byte_level", "raw", "byte_fallback"],
  ]);
  expect([style(null, { byte_fallback: false }), style({ type: "ByteLevel" }, { byte_fallback: true })]).toEqual([
    "raw",
    "byte_level",
  ]);
  const { vocabulary, idOf } = testTokenizer();
  expect([vocabulary.tokens.get(idOf("hello") ?? -1), vocabulary.tokens.size]).toEqual([
    "hello",
    testTokenizer().addedTokens.length + 263,
  ]);
});

test("what is wrong with a vocabulary is said by its token", () => {
  const of = (vocab: unknown) => () =>
    makeTokenizer({ tokenizer: { ...tokenizerJson, model: { ...tokenizerJson.model, vocab } }, config: {} });
  const { vocab } = tokenizerJson.model;
  for (const id of [-1, 1.5, 2 ** 19, "7"])
    expect(of({ ...vocab, odd: id })).toThrow(
      /tokenizer\/tokenizer\.json is .*expected an id from 0 to 524287.*model\.vocab\.odd/s,
    );
  expect(of(Object.fromEntries(Array.from({ length: 2 ** 19 + 1 }, (_, i) => [`t${i}`, 0])))).toThrow(
    "524289 tokens, more than 524288",
  );
  expect(of(5)).toThrow(/copy the file from its source again/);
});

test("a tokenizer without an end of turn says what would be one", () => {
  const without = {
    ...tokenizerJson,
    added_tokens: added_tokens.map((token) => ({ ...token, content: token.content.replace("im_end", "in").replace("eot", "e") })),
  };
  expect(() => makeTokenizer({ tokenizer: without, config: {} }, "models/x")).toThrow(
    "models/x: end-of-turn token is missing; expected one of <|im_end|> <|eot_id|> <|end|> <|endoftext|> </s>. " +
      'Name it as "eos_token" in tokenizer_config.json.',
  );
  expect(makeTokenizer({ tokenizer: without, config: { eos_token: "hello" } }).stopTokens).toEqual([
    testTokenizer().idOf("hello"),
  ]);
  expect(makeTokenizer({ tokenizer: without, config: {}, endIds: [5, 9_999_999] }).stopTokens).toEqual([5]);
});
