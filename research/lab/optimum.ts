import { randomStream } from "../../src/core/random.ts";
import { chancesFor, type Layout, layoutOf, type Sees } from "./policy.ts";
import type { Problem } from "./problem.ts";
import { bestOfHistories, meansOfActions } from "./values.ts";

/**
 * J*, the best J that tables of this sight can have (a supremum: a softmax table only comes near it).
 * - history: backward induction
 * - index, last-answer, last-step: J is linear in each table, so the best is one action for every table. It is the best of many ascents, table by
 *   table: a lower bound, and exact with two turns, where the first one's actions are all tried
 * - shared: actions are drawn from one distribution q, and J is a polynomial in q whose best point may be mixed. The best of the
 *   vertices and of several ascents by the growth transform of Baum and Eagon (1967), which never falls: a lower bound, tight in practice
 */
export function optimum(problem: Problem, sees: Sees): number {
  if (sees === "history") return bestOfHistories(problem);
  const layout = layoutOf(problem.size, sees);
  if (sees === "last-answer" || sees === "last-step") return bestTables(problem, layout);
  const means = meansOfActions(problem, layout, chancesFor(problem));
  const { turns } = problem.size;
  return sees === "index" || turns === 1 ? Math.max(...means) : bestSharedDistribution(means, layout.actions, turns);
}

const tableStarts = 64;

/** The best choice of one action for each table, where every table belongs to one turn. */
function bestTables(problem: Problem, layout: Layout): number {
  const { actions, leaves, nodes, nodeOf, actionOf } = layout;
  const { turns, contexts } = problem.size;
  const chances = chancesFor(problem);
  // The last turn's tables are chosen given all others, each by itself.
  const last = new Set<number>();
  for (let i = 0; i < contexts * leaves; i++) last.add(nodeOf[i * turns + turns - 1]);
  const early = Array.from({ length: nodes }, (_, node) => node).filter((node) => !last.has(node));
  const value = (chosen: Int32Array): number => {
    const sums = new Map<number, Float64Array>();
    for (let i = 0; i < contexts * leaves; i++) {
      const at = (i % leaves) * turns;
      let follows = true;
      for (let t = 0; t < turns - 1 && follows; t++) follows = chosen[nodeOf[i * turns + t]] === actionOf[at + t];
      if (!follows) continue;
      const node = nodeOf[i * turns + turns - 1];
      const own = sums.get(node) ?? new Float64Array(actions);
      own[actionOf[at + turns - 1]] += (problem.means[i] * (chances === undefined ? 1 : chances[i])) / contexts;
      sums.set(node, own);
    }
    let sum = 0;
    for (const own of sums.values()) sum += Math.max(...own);
    return sum;
  };
  const random = randomStream(0, "lab", "table optimum");
  return Math.max(...Array.from({ length: tableStarts }, () => ascended(early, actions, nodes, value, random)));
}

function ascended(
  early: readonly number[],
  actions: number,
  nodes: number,
  value: (chosen: Int32Array) => number,
  random: { integer(below: number): number },
): number {
  const chosen = new Int32Array(nodes).map(() => random.integer(actions));
  let best = value(chosen);
  for (let improved = true; improved; ) {
    improved = false;
    for (const node of early) {
      const kept = chosen[node];
      let top = kept;
      for (let action = 0; action < actions; action++) {
        chosen[node] = action;
        const now = value(chosen);
        if (now > best + 1e-12) [best, top, improved] = [now, action, true];
      }
      chosen[node] = top;
    }
  }
  return best;
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
