import type { Turn } from "../core/trajectory.ts";

/** A turn of two tokens without calls. */
export const turnOf = (index: number, more: Partial<Turn> = {}): Turn => ({
  ...{ trajectory: "t", turn: index, context: [1], action: [2, 3], samplerLogprobs: [-1, -1], entropies: [1, 2] },
  ...{ weightVersion: 4, truncated: false, rewritten: false, toolCalls: 0, invalidToolCalls: 0, ...more },
});
