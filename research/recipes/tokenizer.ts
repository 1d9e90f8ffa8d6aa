/**
 * The tokenizer of a default model: a byte-level BPE made for one world, where almost every piece of text is one token.
 * It runs only when the model is made. The two files it writes are ordinary Hugging Face ones.
 */
import { addedToken } from "../../extensions/local/model/gguf/tokenizer.ts";
import { compileTemplate } from "../../src/chat/template.ts";
import type { TokenizerFiles } from "../../src/chat/tokenizer.ts";
import type { Message } from "../../src/core/messages.ts";

/**
 * `<|user|>text<|end|>`: two tokens around a message where ChatML needs five. Tools are not listed: this model learned them by
 * heart. A call is compact JSON, as the model writes it.
 */
const chatTemplate = [
  "{%- for message in messages -%}",
  "{{- '<|' + message.role + '|>' + message.content -}}",
  "{%- for call in message.tool_calls or [] -%}",
  `{{- '<tool_call>{"name":"' + call.function.name + '","arguments":' + call.function.arguments | tojson(separators=(',', ':')) + '}</tool_call>' -}}`,
  "{%- endfor -%}",
  "{{- '<|end|>' -}}",
  "{%- endfor -%}",
  "{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}",
].join("\n");

const endOfTurn = "<|end|>";
const specialTokens = ["<|endoftext|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", endOfTurn];

export interface TokenizerOptions {
  /** Where text is cut before merging, as alternatives of a regular expression; no token crosses a cut. */
  readonly pieces: readonly string[];
  /** Number of tokens: 256 bytes, 100 pairs of digits, the special tokens, and what the conversations ask for. */
  readonly vocabularySize: number;
}

/**
 * Learns a vocabulary. Each new token is the one that saves most tokens over the conversations: a pair of neighbours joined
 * wherever it stands (Sennrich et al., arXiv:1508.07909), or a whole piece at once, without the pairs on the way to it.
 */
export function trainTokenizer(
  conversations: Iterable<readonly Message[]>,
  { pieces, vocabularySize }: TokenizerOptions,
): Required<Pick<TokenizerFiles, "tokenizer" | "config">> {
  const pattern = pieces.join("|");
  const vocabulary = new Set<string>(byteSymbols);
  const merges: [string, string][] = [];
  const addMerge = (left: string, right: string): void => {
    merges.push([left, right]);
    vocabulary.add(left + right);
  };
  for (const tens of digits) for (const ones of digits) addMerge(tens, ones);

  let open = [...countPieces(conversations, pattern)].map(([text, count]) => ({ text, count, symbols: [...text] }));
  while (vocabulary.size < vocabularySize - specialTokens.length) {
    open = open.filter(({ text, symbols }) => symbols.length > 1 && !vocabulary.has(text));
    const pair = best(pairGains(open));
    const whole = best(new Map(open.map(({ text, count, symbols }) => [text, count * (symbols.length - 1)])));
    if (pair === undefined || whole === undefined) break;
    if (whole.gain >= pair.gain) {
      vocabulary.add(whole.key);
    } else {
      const [left, right] = pair.key.split(" ");
      addMerge(left, right);
      for (const piece of open) piece.symbols = joined(piece.symbols, left, right);
    }
  }
  return { tokenizer: tokenizerJson([...vocabulary], merges, pattern), config: tokenizerConfig };
}

const digits = [..."0123456789"];

/** GPT-2's printable stand-ins for the 256 bytes. */
const byteSymbols: readonly string[] = (() => {
  let unprintable = 0;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    return String.fromCharCode(printable ? byte : 256 + unprintable++);
  });
})();

function countPieces(conversations: Iterable<readonly Message[]>, pattern: string): Map<string, number> {
  const counts = new Map<string, number>();
  const special = new RegExp(specialTokens.map((token) => token.replaceAll("|", "\\|")).join("|"));
  const piece = new RegExp(pattern, "gu");
  const render = compileTemplate(chatTemplate, {});
  for (const messages of conversations) {
    for (const section of render(messages, [], false).split(special)) {
      for (const [match] of section.matchAll(piece)) counts.set(match, (counts.get(match) ?? 0) + 1);
    }
  }
  return new Map([...counts].map(([text, count]) => [[...Buffer.from(text)].map((byte) => byteSymbols[byte]).join(""), count]));
}

function pairGains(open: readonly { count: number; symbols: readonly string[] }[]): Map<string, number> {
  const gains = new Map<string, number>();
  for (const { count, symbols } of open) {
    for (let i = 1; i < symbols.length; i++) {
      const pair = `${symbols[i - 1]} ${symbols[i]}`;
      gains.set(pair, (gains.get(pair) ?? 0) + count);
    }
  }
  return gains;
}

/** The key with the greatest gain; the first in alphabetical order among equals, so that the result does not depend on the order of the conversations. */
function best(gains: ReadonlyMap<string, number>): { key: string; gain: number } | undefined {
  let winner: { key: string; gain: number } | undefined;
  for (const [key, gain] of gains) {
    if (winner === undefined || gain > winner.gain || (gain === winner.gain && key < winner.key)) winner = { key, gain };
  }
  return winner;
}

function joined(symbols: readonly string[], left: string, right: string): string[] {
  const result: string[] = [];
  for (let i = 0; i < symbols.length; i++) {
    if (symbols[i] === left && symbols[i + 1] === right) result.push(left + symbols[++i]);
    else result.push(symbols[i]);
  }
  return result;
}

function tokenizerJson(vocabulary: readonly string[], merges: readonly (readonly [string, string])[], pattern: string) {
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: specialTokens.map((content, index) => addedToken(content, vocabulary.length + index, true)),
    normalizer: null,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false },
        { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      // Whole pieces are in the vocabulary without the merges that would lead to them.
      ignore_merges: true,
      vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
      merges,
    },
  };
}

const tokenizerConfig = {
  tokenizer_class: "PreTrainedTokenizerFast",
  eos_token: endOfTurn,
  pad_token: "<|endoftext|>",
  additional_special_tokens: specialTokens,
  clean_up_tokenization_spaces: false,
  chat_template: chatTemplate,
};
