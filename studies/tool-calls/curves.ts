/** Held-out reward where so many tool calls had been spent on training. */
export interface Point {
  readonly calls: number;
  readonly reward: number;
}

/** The evaluations of one run, in order: calls never fall. At least one. */
export type Curve = readonly Point[];

/**
 * Calls at which a run first reaches a reward, on straight lines between evaluations; 0 where it starts there.
 * @returns undefined where it never does: the run spent fewer calls than it would have needed
 */
export function callsToReach(curve: Curve, reward: number): number | undefined {
  const at = curve.findIndex((point) => point.reward >= reward);
  if (at < 1) return at === 0 ? 0 : undefined;
  const [before, after] = [curve[at - 1], curve[at]];
  return before.calls + ((after.calls - before.calls) * (reward - before.reward)) / (after.reward - before.reward);
}

/** On straight lines between evaluations. @returns undefined beyond the last one */
export function rewardAt(curve: Curve, calls: number): number | undefined {
  const at = curve.findIndex((point) => point.calls >= calls);
  if (at < 1) return at === 0 ? curve[0].reward : undefined;
  const [before, after] = [curve[at - 1], curve[at]];
  return before.reward + ((after.reward - before.reward) * (calls - before.calls)) / (after.calls - before.calls);
}

/** Each evaluation averaged with the ones beside it: a lucky one reaches a reward less easily. The first one stays as it is. */
export function smoothed(curve: Curve): Curve {
  return curve.map(({ calls, reward }, i) => {
    const beside = i === 0 ? [{ reward }] : curve.slice(i - 1, i + 2);
    return { calls, reward: beside.reduce((sum, point) => sum + point.reward, 0) / beside.length };
  });
}

/** What all tool calls that were spent on a run came to. */
export function callsSpent(curve: Curve): number {
  return curve[curve.length - 1].calls;
}

/** Calls that one run needs over those that another needs. Where only one of the two gets there, a bound: the other would need more than it spent. */
export interface CallRatio {
  readonly is: "=" | "<" | ">";
  readonly ratio: number;
}

/** A number for each pair of runs; undefined where neither reaches the reward, or one starts there. */
export function callRatios(ours: readonly Curve[], theirs: readonly Curve[], reward: number): (CallRatio | undefined)[] {
  return ours.map((curve, i) => {
    const [own, other] = [callsToReach(curve, reward), callsToReach(theirs[i], reward)];
    if (own === 0 || other === 0 || (own === undefined && other === undefined)) return undefined;
    const ratio = (own ?? callsSpent(curve)) / (other ?? callsSpent(theirs[i]));
    return { is: own === undefined ? ">" : other === undefined ? "<" : "=", ratio };
  });
}

/**
 * Reward of ours at a share of the calls, less that of theirs at all of them, a number for each pair of runs. "All of them" are as many as
 * both sides have spent enough for.
 */
export function rewardGaps(ours: readonly Curve[], theirs: readonly Curve[], share: number): number[] {
  return ours.map((curve, i) => {
    const calls = Math.min(callsSpent(curve) / share, callsSpent(theirs[i]));
    return (rewardAt(curve, calls * share) ?? Number.NaN) - (rewardAt(theirs[i], calls) ?? Number.NaN);
  });
}
