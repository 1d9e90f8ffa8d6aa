import type { TokenRows } from "../objectives/objective.ts";

/**
 * G_k = r_k + γ G_{k+1}. REINFORCE++ (arXiv:2501.03262) takes it over action tokens, GiGPO over turns.
 * @param ends whether a row is the last of its trajectory, which continues in the next row where it is not; all rows if left out
 */
export function discountedReturns(rewards: TokenRows, gamma: number, ends?: readonly boolean[]): number[][] {
  const returns = new Array<number[]>(rewards.length);
  let next = 0;
  for (let b = rewards.length - 1; b >= 0; b--) {
    const row = rewards[b];
    const discounted = new Array<number>(row.length);
    if (ends?.[b] !== false) next = 0;
    for (let k = row.length - 1; k >= 0; k--) {
      next = row[k] + gamma * next;
      discounted[k] = next;
    }
    returns[b] = discounted;
  }
  return returns;
}
