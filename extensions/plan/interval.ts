/** A quantity between two bounds, where one number would claim to know more than is known. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

export function exactly(value: number): Interval {
  return { low: value, high: value };
}

export function plus(...intervals: readonly Interval[]): Interval {
  return intervals.reduce((sum, { low, high }) => ({ low: sum.low + low, high: sum.high + high }), exactly(0));
}

export function times({ low, high }: Interval, factor: number): Interval {
  return { low: low * factor, high: high * factor };
}

/** The larger of two at each bound. */
export function larger(a: Interval, b: Interval): Interval {
  return { low: Math.max(a.low, b.low), high: Math.max(a.high, b.high) };
}

/** Returns the time of an amount of work at a rate: the highest rate gives the lower bound. */
export function atRate(work: number, { low, high }: Interval): Interval {
  return { low: work / high, high: work / low };
}
