/** The white space at which Python's `str.split` cuts: not that of JavaScript's \s, which has U+FEFF and lacks U+001C to U+001F and U+0085. */
const whiteSpace = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const spaces = new RegExp(`[${whiteSpace}]+`, "u");
const outerSpaces = new RegExp(`^[${whiteSpace}]+|[${whiteSpace}]+$`, "gu");
const asciiPunctuation = /[!-/:-@[-`{-~]/g;
/** Word boundaries as Python has them: of all letters and numbers, not only ASCII ones. */
const articles = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu;

/** Words without case and articles. */
function words(text: string): string[] {
  return text
    .replace(articles, " ")
    .split(spaces)
    .filter((word) => word !== "");
}

export function trim(text: string): string {
  return text.replace(outerSpaces, "");
}

/** Lower case, one space between words. */
export function withoutCase(text: string): string {
  return text
    .toLowerCase()
    .split(spaces)
    .filter((word) => word !== "")
    .join(" ");
}

/** The same without articles; punctuation stays. */
export function withoutArticles(text: string): string {
  return words(text.toLowerCase()).join(" ");
}

/**
 * As SQuAD's evaluation normalises (Rajpurkar et al., arXiv:1606.05250): lower case, no ASCII punctuation, no articles. Its characters vanish, so
 * that `3.50` becomes `350`.
 */
export function normalisedWords(text: string): string[] {
  return words(text.toLowerCase().replace(asciiPunctuation, ""));
}

const closed = ["yes", "no", "noanswer"];

/**
 * Token F1 between an answer and the best of its golds: harmonic mean of precision and recall of their normalised words as multisets.
 * Yes and no are all or nothing.
 */
export function tokenF1(answer: string, golds: readonly string[]): number {
  return Math.max(0, ...golds.map((gold) => f1(normalisedWords(answer), normalisedWords(gold))));
}

function f1(answer: readonly string[], gold: readonly string[]): number {
  const [whole, wholeGold] = [answer.join(" "), gold.join(" ")];
  if (whole !== wholeGold && (closed.includes(whole) || closed.includes(wholeGold))) return 0;
  return overlapF1(answer, gold);
}

export function overlapF1(answer: readonly string[], gold: readonly string[]): number {
  const left = new Map<string, number>();
  for (const word of gold) left.set(word, (left.get(word) ?? 0) + 1);
  let same = 0;
  for (const word of answer) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    left.set(word, count - 1);
    same++;
  }
  if (same === 0) return 0;
  const [precision, recall] = [same / answer.length, same / gold.length];
  return (2 * precision * recall) / (precision + recall);
}
