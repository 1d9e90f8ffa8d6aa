import type { TokenId } from "../../../src/core/trajectory.ts";

/** The text that a decoder writes for bytes that are no character, or not one yet. */
const replacement = "\uFFFD";
/** A tail is cut again once it is twice as long as what was kept, and this long at least. */
const shortestTail = 32;
/**
 * The number of cuts to try. A character has at most 4 bytes: one of that many neighbouring tokens begins one, even where each
 * is a byte.
 */
const cuts = 8;

/**
 * Finds whether the text of a growing action contains one of some strings. Only a tail of it is decoded, so that a token costs the
 * same at every length.
 *
 * A tail may begin where decoding it gives an end of the whole text, now and later. It is enough that it does now, with some characters
 * that further tokens cannot change: decoders look across tokens only inside of characters, of runs of bytes, and at the beginning of a
 * text. It must hold as many of those as the longest string has, which may be half there.
 */
export class StopStrings {
  readonly #decode: (tokens: readonly TokenId[]) => string;
  readonly #strings: readonly string[];
  readonly #longest: number;
  /** Where the tail begins, and its length at which it is cut again. */
  #start = 0;
  #limit = shortestTail;

  constructor(decode: (tokens: readonly TokenId[]) => string, strings: readonly string[]) {
    this.#decode = decode;
    this.#strings = strings;
    this.#longest = Math.max(...strings.map(({ length }) => length));
  }

  /** @param tokens all of the action, one token more than at the last call */
  foundIn(tokens: readonly TokenId[]): boolean {
    const text = this.#decode(tokens.slice(this.#start));
    if (this.#strings.some((stop) => text.includes(stop))) return true;
    if (tokens.length - this.#start >= this.#limit) this.#cut(tokens, text);
    return false;
  }

  #cut(tokens: readonly TokenId[], text: string): void {
    const middle = (this.#start + tokens.length) >> 1;
    for (let start = middle; start < Math.min(middle + cuts, tokens.length); start++) {
      const end = this.#decode(tokens.slice(start));
      if (!text.endsWith(end) || settled(end) < this.#longest) continue;
      this.#start = start;
      break;
    }
    this.#limit = Math.max(shortestTail, 2 * (tokens.length - this.#start));
  }
}

/** Length of the text before the bytes at its end that further ones may complete. */
function settled(text: string): number {
  let length = text.length;
  while (length > 0 && text[length - 1] === replacement) length--;
  return length;
}
