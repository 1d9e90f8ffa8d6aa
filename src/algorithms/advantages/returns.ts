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

/**
 * ReMax (arXiv:2310.10505, §4): the return of the greedy answer to the same task is the baseline.
 * A formula that no setting chooses, kept to verl's numbers by golden cases: a run samples no greedy answer, which would be one more rollout a task.
 * What is chosen in its place without one: "leave-one-out".
 * @param baselines one per row, in units of the return
 */
export function remaxAdvantages(rewards: TokenRows, baselines: readonly number[]): number[][] {
  return discountedReturns(rewards, 1).map((row, b) => row.map((value) => value - baselines[b]));
}
