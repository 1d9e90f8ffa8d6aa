import type { TokenId } from "../../../src/core/trajectory.ts";

interface Decoder {
  decode(ids: readonly TokenId[]): string;
}

const unfinished = "\ufffd";

/** Texts of single tokens. A character that several tokens make up is given to the first of them. */
export class TokenTexts {
  readonly #decoder: Decoder | undefined;
  readonly #known = new Map<TokenId, string>();

  /** @param decoder undefined where nothing says how ids are read: then they are shown as numbers */
  constructor(decoder: Decoder | undefined) {
    this.#decoder = decoder;
  }

  /** Returns a text for each id; together they are the text of all. */
  of(ids: readonly TokenId[]): string[] {
    const texts: string[] = [];
    for (let at = 0; at < ids.length; ) {
      const text = this.#one(ids[at] as TokenId);
      if (!text.includes(unfinished)) {
        texts.push(text);
        at++;
        continue;
      }
      // Bytes of one character: at most four tokens, or something that is no character at all.
      let length = 1;
      let joined = text;
      while (joined.includes(unfinished) && length < 4) joined = this.#decode(ids.slice(at, at + ++length));
      if (joined.includes(unfinished)) [joined, length] = [text, 1];
      texts.push(joined, ...Array<string>(length - 1).fill(""));
      at += length;
    }
    return texts;
  }

  /** Text of a list of ids. */
  join(ids: readonly TokenId[]): string {
    return ids.length === 0 ? "" : this.#decode(ids);
  }

  #one(id: TokenId): string {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const text = this.#decode([id]);
    this.#known.set(id, text);
    return text;
  }

  #decode(ids: readonly TokenId[]): string {
    return this.#decoder === undefined ? ids.map((id) => `⟨${id}⟩`).join("") : this.#decoder.decode(ids);
  }
}
