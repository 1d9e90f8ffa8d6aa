import { wordsOfQuestion } from "../questions.ts";

/** A text of training, and where it stands. */
export interface TrainingText {
  readonly where: string;
  readonly text: string;
}

/** A question of a benchmark that training has too, in whole or in part. */
export interface Leak {
  /** Its place in the benchmark's file, from 0. */
  readonly question: number;
  /** The first training text with it. */
  readonly where: string;
  /** Share of the question's word sequences that are in that text; 1 if the whole question is the same. */
  readonly share: number;
}

export interface LeakReport {
  readonly questions: number;
  /** The same up to case, punctuation and white space. */
  readonly exact: readonly Leak[];
  /** Others that share at least half of their word sequences with one training text. */
  readonly overlapping: readonly Leak[];
  /** Questions with fewer words than a sequence: only exact matches are found of them. */
  readonly short: number;
}

export interface LeakOptions {
  /** Words of a sequence. Default 8: questions are short, and 13, the length that is usual for documents, leaves out most of them. */
  readonly ngram?: number;
}

const leastShare = 0.5;

/**
 * Looks for the questions of a benchmark in training texts: whole, and by sequences of words. Each Han, Hiragana, Katakana or Hangul character counts as a word.
 * @param questions in the order of the benchmark's file
 */
export function findLeaks(
  training: readonly TrainingText[],
  questions: readonly string[],
  { ngram = 8 }: LeakOptions = {},
): LeakReport {
  const wholes = new Map<string, string>();
  for (const { where, text } of training) {
    const whole = wordsOfQuestion(text);
    if (!wholes.has(whole)) wholes.set(whole, where);
  }
  const sequences = questions.map((question) => sequencesOf(question, ngram));
  const wanted = new Set(sequences.flat());
  const places = new Map<string, number[]>();
  for (const [i, { text }] of training.entries())
    for (const sequence of new Set(sequencesOf(text, ngram))) {
      if (!wanted.has(sequence)) continue;
      const known = places.get(sequence);
      if (known === undefined) places.set(sequence, [i]);
      else known.push(i);
    }
  const exact: Leak[] = [];
  const overlapping: Leak[] = [];
  for (const [question, text] of questions.entries()) {
    const where = wholes.get(wordsOfQuestion(text));
    if (where !== undefined) {
      exact.push({ question, where, share: 1 });
      continue;
    }
    const own = sequences[question] ?? [];
    const shared = new Map<number, number>();
    for (const sequence of own) for (const at of places.get(sequence) ?? []) shared.set(at, (shared.get(at) ?? 0) + 1);
    const [best] = [...shared].sort(([a, m], [b, n]) => n - m || a - b);
    const source = best === undefined ? undefined : training[best[0]];
    if (best === undefined || source === undefined || best[1] / own.length < leastShare) continue;
    overlapping.push({ question, where: source.where, share: best[1] / own.length });
  }
  return { questions: questions.length, exact, overlapping, short: sequences.filter((own) => own.length === 0).length };
}

/** Sequences of n words, one for each place. */
function sequencesOf(text: string, n: number): string[] {
  const words =
    text
      .toLowerCase()
      .match(
        /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]|[\p{L}\p{N}]+?(?=[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]|[^\p{L}\p{N}]|$)/gu,
      ) ?? [];
  return Array.from({ length: Math.max(0, words.length - n + 1) }, (_, i) => words.slice(i, i + n).join(" "));
}
