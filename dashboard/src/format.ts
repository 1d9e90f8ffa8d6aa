/** Numbers as a person reads them. */

import { outwards } from "../../src/statistics/outwards.ts";
import { number, percent } from "../../src/terminal/format.ts";

export { mean, variance } from "../../src/core/mean.ts";
export { count, duration, number, percent } from "../../src/terminal/format.ts";

/** A success in per cent; a reward as a number. */
export function scoreText(value: number | null, { measure }: { readonly measure: "success" | "reward" }): string {
  return measure === "reward" ? number(value) : percent(value);
}

/** "+12.5 points", of a difference of shares. */
export function pointsText(difference: number): string {
  return `${difference < 0 ? "−" : "+"}${Math.abs(difference * 100).toFixed(1)} points`;
}

/** "83.6 to 92.1 %", of a success or of a reward. */
export function intervalText(
  { low, high }: { readonly low: number; readonly high: number },
  { measure }: { readonly measure: "success" | "reward" },
): string {
  return measure === "reward" ? `${number(low)} to ${number(high)}` : `${outwards({ low, high }).join(" to ")} %`;
}

/** With a sign, as changes are written. */
export function signed(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  return `${value > 0 ? "+" : value < 0 ? "−" : "±"}${number(Math.abs(value), digits)}`;
}

export function ago(iso: string): string {
  const seconds = (Date.now() - Date.parse(iso)) / 1000;
  if (seconds < 90) return "just now";
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} h ago`;
  return iso.slice(0, 10);
}

/** Exponential moving average, corrected for its start. Gaps stay gaps. @param weight of what was before, 0 to 1 */
export function smooth(values: readonly (number | null)[], weight: number): (number | null)[] {
  if (weight === 0) return [...values];
  let [sum, total] = [0, 0];
  return values.map((value) => {
    if (value === null) return null;
    sum = weight * sum + (1 - weight) * value;
    total = weight * total + (1 - weight);
    return sum / total;
  });
}
