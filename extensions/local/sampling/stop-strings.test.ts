import fc from "fast-check";
import { expect, test } from "vitest";
import type { TokenId } from "../../../src/core/trajectory.ts";
import { StopStrings } from "./stop-strings.ts";

type Decode = (tokens: readonly TokenId[]) => string;
const utf8 = (bytes: readonly number[]) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
const bytesOf = (text: string) => [...new TextEncoder().encode(text)];

/** Token ids: these texts, then one token for each of some bytes, then one without text. */
const pieces = ["a", "b", " a", "ab", "</", "b> "];
const bytes = [...new Set(["é", "中", "文", "😀"].flatMap(bytesOf))].concat(0xff);
const silent = pieces.length + bytes.length;
const byteOf = (token: TokenId): number | undefined => bytes[token - pieces.length];

/** The kinds of decoders that `tokenizer.json` knows, with what each does across tokens. */
const decoders: Readonly<Record<string, Decode>> = {
  "bytes joined, then read as UTF-8 (Qwen, Llama 3)": (tokens) =>
    utf8(tokens.flatMap((token) => (token === silent ? [] : (byteOf(token) ?? bytesOf(pieces[token]))))),

  "runs of bytes read as UTF-8 or each replaced, the first space left out (Llama 2)": (tokens) => {
    let text = "";
    let run: number[] = [];
    const flush = () => {
      const read = utf8(run);
      text += read.includes("\uFFFD") ? "\uFFFD".repeat(run.length) : read;
      run = [];
    };
    for (const token of tokens) {
      const byte = byteOf(token);
      if (byte !== undefined) run.push(byte);
      else {
        flush();
        text += pieces[token] ?? "";
      }
    }
    flush();
    return text.replace(/^ /, "");
  },

  "words with spaces between, but not before a word's continuation (WordPiece)": (tokens) =>
    tokens
      .map((token, i) => {
        const piece = pieces[token] ?? (token === silent ? "" : "x");
        return piece.startsWith("b") ? (i === 0 ? `##${piece}` : piece) : i === 0 ? piece : ` ${piece}`;
      })
      .join(""),
};

const tokens = fc.array(fc.nat(silent), { minLength: 1, maxLength: 24 });
/** Long enough for many cuts, from few tokens so that strings come back: parts in any order, some of them valid characters. */
const action = fc
  .tuple(fc.array(tokens, { minLength: 1, maxLength: 4 }), fc.array(fc.nat(7), { minLength: 1, maxLength: 60 }))
  .map(([parts, order]) => {
    const characters = ["é", "中", "文", "😀"].map((c) => bytesOf(c).map((b) => pieces.length + bytes.indexOf(b)));
    const all = [...parts, ...characters];
    return order.flatMap((i) => all[i % all.length]);
  });

/** Strings around the length of a tail, from the end of the text: most are found late, if at all before the last token. */
const stopLength = fc.integer({ min: 1, max: 60 });

test.each(Object.entries(decoders))("the same tokens end an action as by decoding all of it: %s", (_, decode) => {
  fc.assert(
    fc.property(action, stopLength, fc.nat(3), (sampled, length, shift) => {
      const text = decode(sampled);
      const stops = ["never", "##", text.slice(0, text.length - shift).slice(-length) || "ab"];
      const stopStrings = new StopStrings(decode, stops);
      for (let end = 1; end <= sampled.length; end++) {
        const grown = sampled.slice(0, end);
        const found = stops.some((each) => decode(grown).includes(each));
        expect(stopStrings.foundIn(grown)).toBe(found);
        if (found) return;
      }
    }),
    { numRuns: 500 },
  );
});

test("decodes a tail that does not grow with the action", () => {
  let most = 0;
  const decode: Decode = (tail) => {
    most = Math.max(most, tail.length);
    return tail.map((token) => pieces[token]).join("");
  };
  const stopStrings = new StopStrings(decode, ["</stop>"]);
  const sampled: TokenId[] = [];
  for (let i = 0; i < 2000; i++) {
    sampled.push(i % pieces.length);
    expect(stopStrings.foundIn(sampled)).toBe(false);
  }
  expect(most).toBeLessThan(100);
});

test("a character is found whose bytes are apart: a tail never begins inside of it", () => {
  // Token 0 decodes to nothing, as special tokens do; others are bytes. € is E2 82 AC.
  const decode = (tokens: readonly number[]) => new TextDecoder().decode(Uint8Array.from(tokens.filter((token) => token !== 0)));
  const strings = new StopStrings(decode, ["€"]);
  const tokens = [...Array.from({ length: 15 }, () => 0x78), 0xe2, ...Array.from({ length: 15 }, () => 0), 0x82, 0xac];
  const found = tokens.map((_, i) => strings.foundIn(tokens.slice(0, i + 1)));
  expect(found.indexOf(true)).toBe(tokens.length - 1);
});
