/** A mean with its interval. */
export interface Estimate {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}
