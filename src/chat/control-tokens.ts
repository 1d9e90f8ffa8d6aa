import { escaped } from "../core/escaped.ts";
import type { TokenId } from "../core/trajectory.ts";

/**
 * Keeps what others wrote (questions, pages, tool results, tool descriptions) from speaking with the voice of the chat template: a control
 * token in it, such as an end of turn, is text for the model and never the token itself.
 *
 * A mark goes into each such token before the template is rendered, and the rendered text is cut at the marks before it is encoded, so
 * that no piece contains the whole token. Text without control tokens has the same ids as before.
 */
export interface ControlTokens {
  /** Marks the control tokens of a text. */
  quote(text: string): string;
  /** Marks those that are special tokens of the tokenizer, not those that only the template uses. */
  quoteSpecial(text: string): string;
  /** Ids of a rendered text, whose marked tokens are text. */
  encode(rendered: string): TokenId[];
}

/** A noncharacter: by the Unicode standard no text has it. */
const mark = "\ufdd0";

/**
 * @param special tokens that the tokenizer calls special
 * @param named the special ones and others that the chat template uses, such as the opening of a tool call
 * @param encodeText ids of a text, control tokens included
 */
export function controlTokens(
  special: readonly string[],
  named: readonly string[],
  encodeText: (text: string) => TokenId[],
): ControlTokens {
  return {
    quote: quoting(named),
    quoteSpecial: quoting(special),
    encode: (rendered) =>
      rendered.includes(mark) ? rendered.split(mark).flatMap((piece) => encodeText(piece)) : encodeText(rendered),
  };
}

function quoting(tokens: readonly string[]): (text: string) => string {
  if (tokens.length === 0) return withoutMarks;
  // Tokens may overlap: each place at which one begins is marked.
  const begin = new RegExp(`(?=${tokens.map(escaped).join("|")}).`, "gsu");
  const prefixes = new Set(tokens.flatMap((token) => Array.from({ length: token.length - 1 }, (_, i) => token.slice(0, i + 1))));
  const longest = Math.max(...tokens.map(({ length }) => length));
  /** Returns whether what follows in the template might complete a token that the text begins. */
  const endsOpen = (text: string) =>
    Array.from({ length: Math.min(longest, text.length) }, (_, i) => text.slice(text.length - i - 1)).some((end) =>
      prefixes.has(end),
    );
  return (text) => {
    const quoted = withoutMarks(text).replace(begin, (first) => first + mark);
    return endsOpen(quoted) ? quoted + mark : quoted;
  };
}

function withoutMarks(text: string): string {
  return text.includes(mark) ? text.replaceAll(mark, "\ufffd") : text;
}
