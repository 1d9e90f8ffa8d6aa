import type { Random } from "../../src/core/random.ts";

/**
 * A finite-horizon tree bandit: in context x (uniform among `contexts`) the policy takes `turns` actions of `tokens` tokens each,
 * each token one of `vocabulary`. After every turn but the last the environment answers at random. The reward comes once, at the end, and
 * depends on x, on all actions and on all answers.
 */
export interface Size {
  readonly turns: number;
  readonly tokens: number;
  readonly vocabulary: number;
  readonly contexts: number;
  /** Different answers after a turn. Default 1: the environment says nothing. */
  readonly answers?: number;
}

/** |A|, the actions of one turn. */
export function actionsOf({ tokens, vocabulary }: Size): number {
  return vocabulary ** tokens;
}

export function answersOf({ answers = 1 }: Size): number {
  return answers;
}

/** Trajectories of one context: the actions and answers of its turns, a_1 o_1 a_2 … a_T, as digits, the first one's highest. */
export function leavesOf(size: Size): number {
  return leavesFrom(size, 0);
}

/** Trajectories that continue one history, from a turn on. */
export function leavesFrom(size: Size, turn: number): number {
  return actionsOf(size) * (actionsOf(size) * answersOf(size)) ** (size.turns - 1 - turn);
}

export interface Problem {
  readonly size: Size;
  /** contexts × leaves: the mean reward. */
  readonly means: Float64Array;
  /** contexts × leaves: the reward is mean + spread or mean − spread, each with probability 1/2; 0 where it is deterministic. */
  readonly spreads: Float64Array;
  /** For each turn but the last: contexts × histories with that turn's action × answers, the probability of the answer. Default: one answer. */
  readonly answerProbabilities?: readonly Float64Array[];
}

/** contexts × leaves: the probability of a trajectory's answers, given its actions. Undefined if the environment says nothing. */
export function chancesOf({
  size,
  answerProbabilities,
}: Pick<Problem, "size" | "answerProbabilities">): Float64Array | undefined {
  if (answerProbabilities === undefined) return undefined;
  const leaves = leavesOf(size);
  const chances = new Float64Array(size.contexts * leaves).fill(1);
  // A leaf's history up to and with an answer is a prefix of its digits.
  for (const [turn, probabilities] of answerProbabilities.entries())
    for (let i = 0; i < chances.length; i++) chances[i] *= probabilities[Math.floor(i / leavesFrom(size, turn + 1))];
  return chances;
}

/** The reward of context x is of scale 1/10^x, so that what a division by the group's σ does can be seen. */
export function scaleOf(context: number): number {
  return 10 ** -context;
}

const problemKinds = ["dense", "dense, noisy", "sparse", "sparse, noisy"] as const;

/**
 * Problem number `index`: its rewards are uniform in [0, 1) ("dense") or 1 with probability 0.3 and else 0 ("sparse", never all equal),
 * times the scale of the context; every second pair of kinds adds a spread, uniform in [0, 0.5) times the scale. Answers are drawn from
 * distributions that are uniform over the simplex.
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
  return { size, means, spreads, ...(answersOf(size) > 1 ? { answerProbabilities: drawAnswers(size, random) } : {}) };
}

function drawAnswers(size: Size, random: Random): Float64Array[] {
  const answers = answersOf(size);
  return Array.from({ length: size.turns - 1 }, (_, turn) => {
    const histories = (size.contexts * leavesOf(size)) / leavesFrom(size, turn + 1) / answers;
    const probabilities = new Float64Array(histories * answers).map(() => -Math.log(1 - random.uniform()) + 1e-9);
    for (let start = 0; start < probabilities.length; start += answers) {
      const own = probabilities.subarray(start, start + answers);
      const sum = own.reduce((total, value) => total + value, 0);
      own.forEach((value, i) => {
        own[i] = value / sum;
      });
    }
    return probabilities;
  });
}
