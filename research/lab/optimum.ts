import { randomStream } from "../../src/core/random.ts";
import { chancesFor, layoutOf, type Sees } from "./policy.ts";
import type { Problem } from "./problem.ts";
import { bestOfHistories, meansOfActions } from "./values.ts";

/**
 * J*, the best J that tables of this sight can have (a supremum: a softmax table only comes near it).
 * - history: backward induction
 * - index: J is linear in each turn's table, so the best is one action for every turn
 * - shared: actions are drawn from one distribution q, and J is a polynomial in q whose best point may be mixed. The best of the
 *   vertices and of several ascents by the growth transform of Baum and Eagon (1967), which never falls: a lower bound, tight in practice
 */
export function optimum(problem: Problem, sees: Sees): number {
  if (sees === "history") return bestOfHistories(problem);
  const layout = layoutOf(problem.size, sees);
  const means = meansOfActions(problem, layout, chancesFor(problem));
  const { turns } = problem.size;
  return sees === "index" || turns === 1 ? Math.max(...means) : bestSharedDistribution(means, layout.actions, turns);
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
