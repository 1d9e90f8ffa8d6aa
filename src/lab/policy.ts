import { type Random, randomStream } from "../core/random.ts";
import { actionsOf, leavesOf, type Problem, type Size } from "./problem.ts";

/**
 * What a turn sees, besides the tokens of its own action so far.
 * - history: the context and all actions before it; a table for every history
 * - index: only which turn it is; a table for every turn
 * - shared: nothing; one table for all turns and contexts
 */
export const sights = ["history", "index", "shared"] as const;
export type Sees = (typeof sights)[number];

/**
 * Where each trajectory's decisions stand in the tables. A node is what a turn may see: its rows, one for every prefix of its own action,
 * can express every distribution over the turn's actions.
 */
export interface Layout {
  readonly size: Size;
  readonly sees: Sees;
  readonly actions: number;
  readonly leaves: number;
  /** Tokens of a trajectory. */
  readonly decisions: number;
  readonly nodes: number;
  /** Rows of a node. */
  readonly prefixes: number;
  readonly rows: number;
  /** (contexts · leaves) × turns. */
  readonly nodeOf: Int32Array;
  /** leaves × turns. */
  readonly actionOf: Int32Array;
  /** (contexts · leaves) × decisions. */
  readonly rowOf: Int32Array;
  /** leaves × decisions. */
  readonly tokenOf: Int32Array;
}

/** rows × vocabulary: a softmax table, kept as its probabilities. */
export type Policy = Float64Array<ArrayBuffer>;

export function layoutOf(size: Size, sees: Sees): Layout {
  const { turns, tokens, vocabulary, contexts } = size;
  const [actions, leaves, decisions] = [actionsOf(size), leavesOf(size), turns * tokens];
  const prefixes = (vocabulary ** tokens - 1) / (vocabulary - 1);
  const histories = (leaves - 1) / (actions - 1);
  const nodes = sees === "history" ? contexts * histories : sees === "index" ? turns : 1;
  const nodeOf = new Int32Array(contexts * leaves * turns);
  const actionOf = new Int32Array(leaves * turns);
  const rowOf = new Int32Array(contexts * leaves * decisions);
  const tokenOf = new Int32Array(leaves * decisions);
  for (let x = 0; x < contexts; x++)
    for (let leaf = 0; leaf < leaves; leaf++)
      for (let t = 0; t < turns; t++) {
        const history = Math.floor(leaf / actions ** (turns - t));
        const before = (actions ** t - 1) / (actions - 1);
        const node = sees === "history" ? x * histories + before + history : sees === "index" ? t : 0;
        const action = Math.floor(leaf / actions ** (turns - t - 1)) % actions;
        nodeOf[(x * leaves + leaf) * turns + t] = node;
        actionOf[leaf * turns + t] = action;
        for (let j = 0; j < tokens; j++) {
          const prefix = Math.floor(action / vocabulary ** (tokens - j));
          const k = t * tokens + j;
          rowOf[(x * leaves + leaf) * decisions + k] = node * prefixes + (vocabulary ** j - 1) / (vocabulary - 1) + prefix;
          tokenOf[leaf * decisions + k] = Math.floor(action / vocabulary ** (tokens - j - 1)) % vocabulary;
        }
      }
  return { size, sees, actions, leaves, decisions, nodes, prefixes, rows: nodes * prefixes, nodeOf, actionOf, rowOf, tokenOf };
}

export function uniformPolicy({ rows, size }: Layout): Policy {
  return new Float64Array(rows * size.vocabulary).fill(1 / size.vocabulary);
}

/** Logits are standard normal. */
export function randomPolicy(layout: Layout, random: Random): Policy {
  const policy = uniformPolicy(layout).map(() => Math.exp(random.normal()));
  return normalise(policy, layout.size.vocabulary);
}

/** Divides every row by its sum, in place. */
export function normalise(policy: Policy, width: number): Policy {
  for (let start = 0; start < policy.length; start += width) {
    let sum = 0;
    for (let i = 0; i < width; i++) sum += policy[start + i];
    for (let i = 0; i < width; i++) policy[start + i] /= sum;
  }
  return policy;
}

/** contexts × leaves: π(a_1 … a_T | x). */
export function leafProbabilities(layout: Layout, policy: Policy): Float64Array {
  const { leaves, decisions, rowOf, tokenOf, size } = layout;
  const probabilities = new Float64Array(size.contexts * leaves);
  for (let i = 0; i < probabilities.length; i++) {
    const leaf = i % leaves;
    let product = 1;
    for (let k = 0; k < decisions; k++)
      product *= policy[rowOf[i * decisions + k] * size.vocabulary + tokenOf[leaf * decisions + k]];
    probabilities[i] = product;
  }
  return probabilities;
}

/** J(π): the mean over contexts of Σ_a π(a | x) R(x, a), by enumeration. */
export function expectedReturn(problem: Problem, layout: Layout, policy: Policy): number {
  const probabilities = leafProbabilities(layout, policy);
  let sum = 0;
  for (let i = 0; i < probabilities.length; i++) sum += probabilities[i] * problem.means[i];
  return sum / problem.size.contexts;
}

/** π(a | node), one per action. */
export function actionProbabilities({ actions, prefixes, size }: Layout, policy: Policy, node: number): Float64Array {
  const { tokens, vocabulary } = size;
  const probabilities = new Float64Array(actions);
  for (let action = 0; action < actions; action++) {
    let product = 1;
    for (let j = 0; j < tokens; j++) {
      const prefix = Math.floor(action / vocabulary ** (tokens - j));
      const token = Math.floor(action / vocabulary ** (tokens - j - 1)) % vocabulary;
      product *= policy[(node * prefixes + (vocabulary ** j - 1) / (vocabulary - 1) + prefix) * vocabulary + token];
    }
    probabilities[action] = product;
  }
  return probabilities;
}

/** Writes a distribution over a node's actions into its rows. Rows below an action prefix of probability 0 stay as they are. */
export function setActionProbabilities(layout: Layout, policy: Policy, node: number, probabilities: ArrayLike<number>): void {
  const { actions, prefixes, size } = layout;
  const { tokens, vocabulary } = size;
  for (let j = 0; j < tokens; j++) {
    const below = vocabulary ** (tokens - j);
    for (let prefix = 0; prefix < actions / below; prefix++) {
      let total = 0;
      for (let a = prefix * below; a < (prefix + 1) * below; a++) total += probabilities[a];
      if (total <= 0) continue;
      const row = node * prefixes + (vocabulary ** j - 1) / (vocabulary - 1) + prefix;
      for (let token = 0; token < vocabulary; token++) {
        let part = 0;
        for (let a = 0; a < below / vocabulary; a++) part += probabilities[prefix * below + (token * below) / vocabulary + a];
        policy[row * vocabulary + token] = part / total;
      }
    }
  }
}

/**
 * J*, the best J that tables of this sight can have (a supremum: a softmax table only comes near it).
 * - history: the best leaf of every context
 * - index: J is linear in each table, so the best is one action sequence for all contexts
 * - shared: actions are drawn from one distribution q, and J is a polynomial in q whose best point may be mixed. The best of the
 *   vertices and of several ascents by the growth transform of Baum and Eagon (1967), which never falls: a lower bound, tight in practice
 */
export function optimum(problem: Problem, sees: Sees): number {
  const { size, means } = problem;
  const leaves = leavesOf(size);
  if (sees === "history") {
    let sum = 0;
    for (let x = 0; x < size.contexts; x++) sum += Math.max(...means.subarray(x * leaves, (x + 1) * leaves));
    return sum / size.contexts;
  }
  const mean = Array.from({ length: leaves }, (_, leaf) => {
    let sum = 0;
    for (let x = 0; x < size.contexts; x++) sum += means[x * leaves + leaf];
    return sum / size.contexts;
  });
  return sees === "index" || size.turns === 1 ? Math.max(...mean) : bestSharedDistribution(mean, actionsOf(size), size.turns);
}

const starts = 16;
const iterations = 300;

function bestSharedDistribution(means: readonly number[], actions: number, turns: number): number {
  const lowest = Math.min(...means);
  const random = randomStream(0, "lab", "shared optimum");
  let best = Math.max(...Array.from({ length: actions }, (_, a) => means[(a * (actions ** turns - 1)) / (actions - 1)]));
  for (let start = 0; start < starts; start++) {
    let q = Array.from({ length: actions }, () => (start === 0 ? 1 : -Math.log(1 - random.uniform()) + 1e-9));
    let value = 0;
    for (let i = 0; i < iterations; i++) {
      const total = q.reduce((sum, p) => sum + p, 0);
      q = q.map((p) => p / total);
      const grown = new Array<number>(actions).fill(0);
      const before = value;
      value = 0;
      for (let leaf = 0; leaf < means.length; leaf++) {
        let product = means[leaf] - lowest;
        for (let t = 0, rest = leaf; t < turns; t++, rest = Math.floor(rest / actions)) product *= q[rest % actions];
        value += product;
        for (let t = 0, rest = leaf; t < turns; t++, rest = Math.floor(rest / actions)) grown[rest % actions] += product;
      }
      if (value - before <= 1e-12 * value) break;
      q = grown;
    }
    best = Math.max(best, value + lowest);
  }
  return best;
}
