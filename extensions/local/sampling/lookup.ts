import type { TokenId } from "../../../src/core/trajectory.ts";
import type { Row } from "./row.ts";

/** Tokens that two places have to have in common before the one is copied to the other: fewer are often chance. */
const leastMatch = 3;
/** Tokens of a draft: a pass over more costs more than it saves. */
const maxDrafted = 8;
/** Sequences that are kept to draft from. */
const maxKept = 16;

/**
 * Drafts of what a sequence says next, copied from where its last tokens stood before: in itself, or in a sequence that has ended (prompt lookup
 * decoding, https://github.com/apoorvumang/prompt-lookup-decoding; Yang et al., arXiv:2304.04487). A draft costs no model. It changes nothing that
 * is sampled, since a drafted token counts only where it is the one that is drawn.
 */
export class Lookup {
  readonly #ended: (readonly TokenId[])[] = [];

  /** Keeps a sequence to draft from, in place of the oldest one. */
  keep(tokens: readonly TokenId[]): void {
    this.#ended.unshift(tokens);
    this.#ended.length = Math.min(this.#ended.length, maxKept);
  }

  /** A draft of what follows a row's next token, as far as it may still say something. Undefined for a row with twins, which may draw other tokens. */
  draftOf({ tokens, pending, twins, action, maxTokens }: Row): readonly TokenId[] | undefined {
    if (twins.length > 0) return undefined;
    const draft = this.draft([...tokens, ...pending]).slice(0, maxTokens - action.tokens.length - 1);
    return draft.length > 0 ? draft : undefined;
  }

  /**
   * Returns the tokens behind the longest match of a sequence's end, the latest of these: as many as match, at most 8. Empty where fewer than 3
   * tokens match.
   */
  draft(tokens: readonly TokenId[]): readonly TokenId[] {
    let [best, from, length]: [readonly TokenId[], number, number] = [tokens, 0, leastMatch - 1];
    for (const source of [tokens, ...this.#ended])
      for (let end = source.length - 1; end > length && length < maxDrafted; end--) {
        const matched = matchBefore(source, end, tokens);
        if (matched > length) [best, from, length] = [source, end, matched];
      }
    return length < leastMatch ? [] : best.slice(from, from + length);
  }
}

/** The number of tokens before a place in a source that are the last ones of a sequence; at most 8. */
function matchBefore(source: readonly TokenId[], end: number, tokens: readonly TokenId[]): number {
  let matched = 0;
  while (matched < maxDrafted && matched < end && source[end - 1 - matched] === tokens[tokens.length - 1 - matched]) matched++;
  return matched;
}
