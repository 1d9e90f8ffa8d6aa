import type { Trajectory } from "../../src/core/trajectory.ts";
import type { RecordedCredit } from "./read-credits.ts";

export interface PhrasePosition {
  readonly trajectory: string;
  readonly turn: number;
  /** The index of its first token in the turn's action. */
  readonly token: number;
}

/** Words that an update pushed up or down, summed over a step. */
export interface Phrase {
  readonly text: string;
  /** Weight of its tokens as `summedWeights` has it, over all positions. Above 0: more likely after the step. */
  readonly weight: number;
  readonly count: number;
  readonly positions: readonly PhrasePosition[];
}

interface Word {
  readonly text: string;
  readonly weight: number;
  readonly token: number;
}

const [longest, keptPositions] = [5, 12];

/**
 * Finds the phrases of two to five words that a step pushed most. A phrase whose weight is that of a longer one is left out.
 * @param textsOf the text of each token of an action
 * @param count of each direction
 */
export function pushedPhrases(
  trajectories: readonly Trajectory[],
  credits: readonly RecordedCredit[],
  textsOf: (ids: readonly number[]) => readonly string[],
  count = 20,
): { readonly up: readonly Phrase[]; readonly down: readonly Phrase[] } {
  const weights = summedWeights(credits);
  const phrases = new Map<string, { weight: number; count: number; positions: PhrasePosition[] }>();
  for (const { turns } of trajectories)
    for (const { trajectory, turn, action } of turns) {
      const of = weights.get(`${trajectory}/${turn}`);
      if (of === undefined) continue;
      const words = wordsOf(textsOf(action), of);
      for (const [from, { token }] of words.entries()) {
        let [text, weight] = ["", 0];
        for (const [following, word] of words.slice(from, from + longest).entries()) {
          text += word.text;
          weight += word.weight;
          if (following === 0 && words.length > 1) continue;
          const key = text.trim();
          const phrase = phrases.get(key) ?? { weight: 0, count: 0, positions: [] };
          phrase.weight += weight;
          phrase.count++;
          if (phrase.positions.length < keptPositions) phrase.positions.push({ trajectory, turn, token });
          phrases.set(key, phrase);
        }
      }
    }
  const ranked = [...phrases]
    .filter(([text]) => text !== "")
    .map(([text, phrase]) => ({ text, ...phrase }))
    .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight) || b.text.length - a.text.length);
  const [up, down] = [ranked.filter(({ weight }) => weight > 0), ranked.filter(({ weight }) => weight < 0)];
  return { up: distinct(up, count), down: distinct(down, count) };
}

/** Returns Σ w·η/η₀ over the updates of each token, by "trajectory/turn": η is the update's learning rate, η₀ the largest of the step. */
export function summedWeights(credits: readonly RecordedCredit[]): Map<string, number[]> {
  const sums = new Map<string, number[]>();
  for (const { trajectory, turn, weights, rateShare } of credits) {
    const key = `${trajectory}/${turn}`;
    const before = sums.get(key);
    sums.set(
      key,
      weights.map((weight, t) => (before?.[t] ?? 0) + rateShare * weight),
    );
  }
  return sums;
}

/** Tokens joined to words: a word begins at a space, a line or a mark that is no letter or digit. */
function wordsOf(texts: readonly string[], weights: readonly number[]): Word[] {
  const words: { text: string; weight: number; token: number }[] = [];
  for (const [token, text] of texts.entries()) {
    const weight = Number(weights[token]);
    const last = words.at(-1);
    const joins = last !== undefined && /^[\p{L}\p{N}_]/u.test(text) && /[\p{L}\p{N}_]$/u.test(last.text);
    if (joins || (last !== undefined && text === "")) {
      last.text += text;
      last.weight += weight;
    } else words.push({ text, weight, token });
  }
  return words;
}

/** The first ones of a ranking that say something new: none is a part of another, or has it as a part. */
function distinct(ranked: readonly Phrase[], count: number): Phrase[] {
  const kept: Phrase[] = [];
  for (const phrase of ranked) {
    if (kept.length === count) break;
    if (!kept.some(({ text }) => text.includes(phrase.text) || phrase.text.includes(text))) kept.push(phrase);
  }
  return kept;
}
