import { mean } from "../../../src/core/mean.ts";

/** Similarities of two texts from 0 to 1, by OpenAI's names of `text_similarity`. */
export const similarities: Readonly<Record<string, (input: string, reference: string) => number>> = {
  fuzzy_match: fuzzyMatch,
  gleu,
  bleu,
  ...Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`rouge_${n}`, (a: string, b: string) => rougeN(a, b, n)])),
  rouge_l: rougeL,
};

/** Twice the longest common subsequence over both lengths, in characters: `fuzz.ratio` of rapidfuzz 3, over 100. */
function fuzzyMatch(input: string, reference: string): number {
  const [a, b] = [[...input], [...reference]];
  return a.length + b.length === 0 ? 1 : (2 * commonSubsequence(a, b)) / (a.length + b.length);
}

/** The least of precision and recall over the n-grams of 1 to 4 words: `sentence_gleu` of NLTK (Wu et al., arXiv:1609.08144, §5). */
function gleu(input: string, reference: string): number {
  const counts = (text: string) => [1, 2, 3, 4].flatMap((n) => grams(wordsOf(text), n));
  const [a, b] = [counts(input), counts(reference)];
  const longest = Math.max(a.length, b.length);
  return longest === 0 ? 0 : overlap(a, b) / longest;
}

/**
 * The geometric mean of the precisions of n-grams of 1 to 4 words, times the brevity penalty, without smoothing: `sentence_bleu` of NLTK
 * (Papineni et al. 2002). 0 without four words in a row that both have.
 */
function bleu(input: string, reference: string): number {
  const [a, b] = [wordsOf(input), wordsOf(reference)];
  const precisions = [1, 2, 3, 4].map((n) => overlap(grams(a, n), grams(b, n)) / Math.max(1, a.length + 1 - n));
  if (precisions.includes(0)) return 0;
  return Math.exp(Math.min(0, 1 - b.length / a.length) + mean(precisions.map(Math.log)));
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

/** The F-measure of n-grams, as the package rouge-score has it, without a stemmer (Lin 2004). */
function rougeN(input: string, reference: string, n: number): number {
  const [a, b] = [grams(rougeWords(input), n), grams(rougeWords(reference), n)];
  return fMeasure(overlap(a, b), a.length, b.length);
}

/** The F-measure of the longest common subsequence of words. */
function rougeL(input: string, reference: string): number {
  const [a, b] = [rougeWords(input), rougeWords(reference)];
  return fMeasure(commonSubsequence(a, b), a.length, b.length);
}

function rougeWords(text: string): string[] {
  return text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
}

function grams(words: readonly string[], n: number): string[] {
  return words.slice(n - 1).map((_, i) => words.slice(i, i + n).join(" "));
}

/** Elements that both have, as often as both have them. */
function overlap(a: readonly string[], b: readonly string[]): number {
  const left = new Map<string, number>();
  for (const each of b) left.set(each, (left.get(each) ?? 0) + 1);
  return a.filter((each) => {
    const count = left.get(each) ?? 0;
    left.set(each, count - 1);
    return count > 0;
  }).length;
}

function fMeasure(common: number, a: number, b: number): number {
  return common === 0 ? 0 : (2 * common) / (a + b);
}

function commonSubsequence(a: readonly string[], b: readonly string[]): number {
  let row = new Uint32Array(b.length + 1);
  for (const each of a) {
    const next = new Uint32Array(b.length + 1);
    const common = (j: number) => row[j] ?? 0;
    for (let j = 0; j < b.length; j++) next[j + 1] = each === b[j] ? common(j) + 1 : Math.max(common(j + 1), next[j] ?? 0);
    row = next;
  }
  return row[b.length] ?? 0;
}
