import type { Random } from "../core/random.ts";

/**
 * A finite-horizon tree bandit: in context x (uniform among `contexts`) the policy takes `turns` actions of `tokens` tokens each,
 * each token one of `vocabulary`; the reward comes once, at the end, and depends on x and on all actions.
 */
export interface Size {
  readonly turns: number;
  readonly tokens: number;
  readonly vocabulary: number;
  readonly contexts: number;
}

/** |A|, the actions of one turn. */
export function actionsOf({ tokens, vocabulary }: Size): number {
  return vocabulary ** tokens;
}

/** Trajectories of one context. */
export function leavesOf(size: Size): number {
  return actionsOf(size) ** size.turns;
}

export interface Problem {
  readonly size: Size;
  /** contexts × leaves: the mean reward. A leaf is the actions of its turns as digits in base |A|, the first turn's highest. */
  readonly means: Float64Array;
  /** contexts × leaves: the reward is mean + spread or mean − spread, each with probability 1/2; 0 where it is deterministic. */
  readonly spreads: Float64Array;
}

/** The reward of context x is of scale 1/10^x, so that what a division by the group's σ does can be seen. */
export function scaleOf(context: number): number {
  return 10 ** -context;
}

export const problemKinds = ["dense", "dense, noisy", "sparse", "sparse, noisy"] as const;

/**
 * Problem number `index`: its rewards are uniform in [0, 1) ("dense") or 1 with probability 0.3 and else 0 ("sparse", never all equal),
 * times the scale of the context; every second pair of kinds adds a spread, uniform in [0, 0.5) times the scale.
 */
export function drawProblem(size: Size, index: number, random: Random): Problem {
  const kind = problemKinds[index % problemKinds.length];
  const leaves = leavesOf(size);
  const means = new Float64Array(size.contexts * leaves);
  const spreads = new Float64Array(size.contexts * leaves);
  for (let x = 0; x < size.contexts; x++) {
    const winner = random.integer(leaves);
    for (let leaf = 0; leaf < leaves; leaf++) {
      const dense = random.uniform();
      const sparse = leaf === winner ? 1 : leaf === (winner + 1) % leaves ? 0 : Number(random.chance(0.3));
      means[x * leaves + leaf] = (kind.startsWith("dense") ? dense : sparse) * scaleOf(x);
      const spread = 0.5 * random.uniform() * scaleOf(x);
      if (kind.endsWith("noisy")) spreads[x * leaves + leaf] = spread;
    }
  }
  return { size, means, spreads };
}
