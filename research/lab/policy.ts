import type { Random } from "../../src/core/random.ts";
import { actionsOf, answersOf, chancesOf, leavesFrom, leavesOf, type Problem, type Size } from "./problem.ts";

/**
 * The things that a turn sees, besides the tokens of its own action so far.
 * - history: the context, all actions and answers before it; a table for every history
 * - last-step: which turn it is, and the last action with its answer, as a hand-over note would say
 * - last-answer: which turn it is, and the last answer
 * - index: only which turn it is; a table for every turn
 * - shared: nothing; one table for all turns and contexts
 */
export const sights = ["history", "last-step", "last-answer", "index", "shared"] as const;
export type Sees = (typeof sights)[number];

/**
 * Where each trajectory's decisions are in the tables. A node is what a turn may see: its rows, one for every prefix of its own
 * action, can express every distribution over the turn's actions.
 */
export interface Layout {
  readonly size: Size;
  readonly sees: Sees;
  readonly actions: number;
  readonly answers: number;
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
  /** (contexts · leaves) × decisions: the place of each decision's token in the tables. */
  readonly cellOf: Int32Array;
}

/** rows × vocabulary: a softmax table, kept as its probabilities. */
export type Policy = Float64Array<ArrayBuffer>;

export function layoutOf(size: Size, sees: Sees): Layout {
  const key = [size.turns, size.tokens, size.vocabulary, size.contexts, answersOf(size), sees].join("/");
  const layout = layouts.get(key) ?? madeLayout(size, sees);
  layouts.set(key, layout);
  return layout;
}

/** A run has some dozens of layouts and asks for them millions of times. */
const layouts = new Map<string, Layout>();

function madeLayout(size: Size, sees: Sees): Layout {
  const { turns, tokens, vocabulary, contexts } = size;
  const [actions, answers, leaves, decisions] = [actionsOf(size), answersOf(size), leavesOf(size), turns * tokens];
  const prefixes = (vocabulary ** tokens - 1) / (vocabulary - 1);
  const nodes = nodesOf(size, sees);
  const nodeOf = new Int32Array(contexts * leaves * turns);
  const actionOf = new Int32Array(leaves * turns);
  const rowOf = new Int32Array(contexts * leaves * decisions);
  const tokenOf = new Int32Array(leaves * decisions);
  const cellOf = new Int32Array(contexts * leaves * decisions);
  for (let x = 0; x < contexts; x++)
    for (let leaf = 0; leaf < leaves; leaf++)
      for (let t = 0; t < turns; t++) {
        const history = Math.floor(leaf / leavesFrom(size, t));
        const node = nodeAt(size, sees, x, t, history);
        const action = Math.floor((leaf * actions) / leavesFrom(size, t)) % actions;
        nodeOf[(x * leaves + leaf) * turns + t] = node;
        actionOf[leaf * turns + t] = action;
        for (let j = 0; j < tokens; j++) {
          const prefix = Math.floor(action / vocabulary ** (tokens - j));
          const k = t * tokens + j;
          rowOf[(x * leaves + leaf) * decisions + k] = node * prefixes + (vocabulary ** j - 1) / (vocabulary - 1) + prefix;
          tokenOf[leaf * decisions + k] = Math.floor(action / vocabulary ** (tokens - j - 1)) % vocabulary;
          const at = (x * leaves + leaf) * decisions + k;
          cellOf[at] = rowOf[at] * vocabulary + tokenOf[leaf * decisions + k];
        }
      }
  const counts = { actions, answers, leaves, decisions, nodes, prefixes, rows: nodes * prefixes };
  return { size, sees, ...counts, nodeOf, actionOf, rowOf, tokenOf, cellOf };
}

function nodesOf({ turns, contexts, ...size }: Size, sees: Sees): number {
  const steps = actionsOf({ turns, contexts, ...size }) * answersOf({ turns, contexts, ...size });
  switch (sees) {
    case "history":
      return (contexts * (steps ** turns - 1)) / (steps - 1);
    case "last-step":
      return 1 + (turns - 1) * steps;
    case "last-answer":
      return 1 + (turns - 1) * answersOf({ turns, contexts, ...size });
    case "index":
      return turns;
    case "shared":
      return 1;
    default:
      return sees satisfies never;
  }
}

/** The node of a turn. @param history actions and answers before it, as digits */
function nodeAt(size: Size, sees: Sees, context: number, turn: number, history: number): number {
  const answers = answersOf(size);
  const steps = actionsOf(size) * answers;
  switch (sees) {
    case "history":
      return (context * (steps ** size.turns - 1)) / (steps - 1) + (steps ** turn - 1) / (steps - 1) + history;
    case "last-step":
      return turn === 0 ? 0 : 1 + (turn - 1) * steps + (history % steps);
    case "last-answer":
      return turn === 0 ? 0 : 1 + (turn - 1) * answers + (history % answers);
    case "index":
      return turn;
    case "shared":
      return 0;
    default:
      return sees satisfies never;
  }
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

/** contexts × leaves: the probability of a trajectory in its context. @param chances those of its answers, if there are any */
export function leafProbabilities(layout: Layout, policy: Policy, chances?: Float64Array): Float64Array {
  const { leaves, decisions, cellOf, size } = layout;
  const probabilities = new Float64Array(size.contexts * leaves);
  for (let i = 0, at = 0; i < probabilities.length; i++) {
    let product = chances === undefined ? 1 : chances[i];
    for (let k = 0; k < decisions; k++) product *= policy[cellOf[at++]];
    probabilities[i] = product;
  }
  return probabilities;
}

/**
 * J(π): the mean over contexts of Σ P(a, o | x) R(x, a, o), by enumeration.
 * @param probabilities those of the trajectories, where they are known
 */
export function expectedReturn(
  problem: Problem,
  layout: Layout,
  policy: Policy,
  probabilities: Float64Array = leafProbabilities(layout, policy, chancesFor(problem)),
): number {
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

const known = new WeakMap<Problem, Float64Array | undefined>();

/** `chancesOf`, computed once for each problem. */
export function chancesFor(problem: Problem): Float64Array | undefined {
  if (problem.answerProbabilities === undefined) return undefined;
  if (!known.has(problem)) known.set(problem, chancesOf(problem));
  return known.get(problem);
}
