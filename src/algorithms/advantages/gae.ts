import { ShapeError } from "../../core/errors.ts";
import type { TokenRows } from "../objectives/objective.ts";

/**
 * Generalised advantage estimation (arXiv:1506.02438, eq. 16).
 *
 *   δ_k = r_k + γ V_{k+1} − V_k         A_k = δ_k + γλ A_{k+1}         V and A are 0 after the last
 *
 * The steps k are action tokens, or turns: what the environment wrote in between is no step and is not discounted.
 * @param rewards r_k; values V_k of the state before step k, in units of the return
 * @param ends whether a row is the last of its trajectory, which continues in the next row where it is not; all rows if left out
 * @returns advantages, and the returns A_k + V_k that the critic is fitted to
 * @throws ShapeError if rows do not fit each other
 */
export function gae(
  rewards: TokenRows,
  values: TokenRows,
  { gamma, lambda }: { readonly gamma: number; readonly lambda: number },
  ends?: readonly boolean[],
): { advantages: number[][]; returns: number[][] } {
  const advantages = new Array<number[]>(rewards.length);
  const returns = new Array<number[]>(rewards.length);
  let nextValue = 0;
  let next = 0;
  for (let b = rewards.length - 1; b >= 0; b--) {
    const [r, v] = [rewards[b], values[b]];
    if (r.length !== v.length) throw new ShapeError(`number of values in row ${b}`, v.length, { expected: [r.length] });
    const [a, g] = [v.slice(), v.slice()]; // copies hold floating-point numbers from the start, which fresh arrays do not
    if (ends?.[b] !== false) nextValue = next = 0;
    for (let k = r.length - 1; k >= 0; k--) {
      next = r[k] + gamma * nextValue - v[k] + gamma * lambda * next;
      nextValue = v[k];
      a[k] = next;
      g[k] = next + v[k];
    }
    advantages[b] = a;
    returns[b] = g;
  }
  return { advantages, returns };
}
