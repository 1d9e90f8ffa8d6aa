/** How updates are made; the same for all cells. */
export const rules = {
  /** ε of the clip range [1 − ε, 1 + ε] (SeeUPO and PPO: 0.2). */
  clip: 0.2,
  /** Half-width of the range that the clipped M is held in (SeeUPO: 0.2). */
  carryClip: 0.2,
  /** G, members of a sampled group. */
  groupSize: 4,
  /** η of the KL drift, over the largest mean of M·A in the simplex. */
  eta: 1,
  /** δ of the trust region, in nats. */
  delta: 0.02,
  /** Gradient steps of a turn update, on the same batch. */
  steps: 4,
  stepSize: 0.5,
  /** The exact maximiser keeps every probability of a simplex of K choices at or above floor/K. */
  floor: 1e-3,
};
export type LabRules = typeof rules;

/** The random problems, the same for all cells: two turns of 4 actions of two tokens, and 2 answers between them. */
export const settings = {
  seed: 0,
  sizes: [1, 2].map((contexts) => ({ turns: 2, tokens: 2, vocabulary: 2, contexts, answers: 2 })),
  /** Random problems of each size. */
  problems: 8,
  updates: 60,
  rules,
};
export type LabSettings = typeof settings;
