import { type ModelConfig, parameterCount } from "../model/model-config.ts";
import type { Pass } from "./passes.ts";

/** A forward half of this many multiplications is worth a message there and back. */
const worthwhile = 3e8;

export function worthSharing(config: ModelConfig, tokens: number): boolean {
  return tokens * parameterCount(config) >= worthwhile;
}

/**
 * Shares passes out so that all shares have about as many tokens: each goes to the smallest share so far. It depends on the passes alone, so the
 * gradients of the shares, added up in their order, are the same in every run.
 * @returns the indices of each share's passes, in order
 */
export function sharesOf(passes: readonly Pass[], count: number): readonly (readonly number[])[] {
  const shares = Array.from({ length: count }, () => ({ tokens: 0, indices: [] as number[] }));
  passes.forEach(({ batch: { rows, length } }, i) => {
    const smallest = shares.reduce((least, share) => (share.tokens < least.tokens ? share : least));
    smallest.indices.push(i);
    smallest.tokens += rows * length;
  });
  return shares.map(({ indices }) => indices);
}
