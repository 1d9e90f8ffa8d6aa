import type { TokenRows } from "../objectives/objective.ts";

/** G_k = r_k + γ G_{k+1}, one row per trajectory. REINFORCE++ (arXiv:2501.03262) takes it over action tokens, GiGPO over turns. */
export function discountedReturns(rewards: TokenRows, gamma: number): number[][] {
  return rewards.map((row) => {
    const returns = new Array<number>(row.length);
    let next = 0;
    for (let k = row.length - 1; k >= 0; k--) {
      next = row[k] + gamma * next;
      returns[k] = next;
    }
    return returns;
  });
}

/**
 * ReMax (arXiv:2310.10505, §4): the return of the greedy answer to the same task is the baseline.
 * A function only: rollouts do not give the greedy answer.
 * @param baselines one per row, in units of the return
 */
export function remaxAdvantages(rewards: TokenRows, baselines: readonly number[]): number[][] {
  return discountedReturns(rewards, 1).map((row, b) => row.map((value) => value - baselines[b]));
}
