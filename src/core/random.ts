import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

/** A seeded source of random numbers. Every use takes a stream of its own, so that no draw moves another's. */
export interface Random {
  /** Uniform in [0, 1). */
  uniform(): number;
  /** Uniform integer in [0, bound). */
  integer(bound: number): number;
  /** Standard normal. */
  normal(): number;
  /** True with the given probability. */
  chance(probability: number): boolean;
  /** One element of a non-empty array. */
  pick<T>(items: readonly T[]): T;
  /** A shuffled copy. */
  shuffle<T>(items: readonly T[]): T[];
}

/**
 * The random stream of a name: the same seed and names give the same numbers, whatever else was drawn before.
 * @example
 * randomStream(1, "task", 7).integer(10); // the same in every run
 */
export function randomStream(seed: number, ...names: readonly (string | number)[]): Random {
  const generator = xoroshiro128plus(seedOf(seed, ...names));
  const random: Random = {
    uniform: () => uniformFloat64(generator),
    integer: (bound) => uniformInt(generator, 0, bound - 1),
    normal: () => Math.sqrt(-2 * Math.log(1 - uniformFloat64(generator))) * Math.cos(2 * Math.PI * uniformFloat64(generator)),
    chance: (probability) => uniformFloat64(generator) < probability,
    pick: <T>(items: readonly T[]) => items[uniformInt(generator, 0, items.length - 1)] as T,
    shuffle: <T>(items: readonly T[]) => {
      const copy = [...items];
      for (let i = copy.length - 1; i > 0; i--) {
        const j = uniformInt(generator, 0, i);
        [copy[i], copy[j]] = [copy[j] as T, copy[i] as T];
      }
      return copy;
    },
  };
  return random;
}

/** A 32-bit seed from a seed and names (FNV-1a over their text, then mixed as in MurmurHash3). */
export function seedOf(seed: number, ...names: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  const text = `${seed}/${names.join("/")}`;
  for (let i = 0; i < text.length; i++) {
    const point = text.codePointAt(i) ?? 0;
    if (point > 0xffff) i++; // it took two units
    hash = Math.imul(hash ^ point, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) | 0;
}
