/** Numbers as a person reads them. */

import { outwards } from "../statistics/outwards.ts";

/** "41.2 %"; "–" for what does not exist. */
export function percent(share: number | null | undefined): string {
  return exists(share) ? `${(share * 100).toFixed(1)} %` : "–";
}

interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** "41.2 %  [38.0, 44.5]" */
export function interval({ mean, ...ends }: Interval): string {
  return `${percent(mean)}  ${range(ends)}`;
}

/** "[38.0, 44.5]", of shares in percent. The ends are rounded outwards, so that an interval below 100 % never reads as 100. */
export function range(ends: Omit<Interval, "mean">): string {
  return `[${outwards(ends).join(", ")}]`;
}

/** Returns what a comparison could have shown: "5.1 points would have been seen". Shares cannot differ by more than 100 points. */
export function detectable(smallest: number, shares: boolean): string {
  if (shares && smallest > 1) return "too few tasks to see any difference";
  return `${shares ? `${(smallest * 100).toFixed(1)} points` : smallest.toFixed(3)} would have been seen`;
}

/** "+12.5 points  [8.1, 17.0]", of a difference of shares. */
export function points({ mean, ...ends }: Interval): string {
  return `${mean < 0 ? "−" : "+"}${Math.abs(mean * 100).toFixed(1)} points  ${range(ends)}`;
}

/** "p = 0.032", "p < 0.0001". */
export function pText(pValue: number): string {
  return pValue < 0.0001 ? "p < 0.0001" : `p = ${pValue.toPrecision(2)}`;
}

/** 12345 as "12,345". */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** "3.1 s", "42 s", "4 min 10 s", "1 h 02 min". */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${pad(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${pad(Math.floor((whole % 3600) / 60))} min`;
}

/** At most `digits` significant digits and no needless zeros; tiny and huge numbers with an exponent; "–" for what does not exist. */
export function number(value: number | null | undefined, digits = 3): string {
  if (!exists(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return count(value);
  if (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e6) return String(Number(value.toPrecision(digits)));
  return value.toExponential(digits - 1).replace("e+", "e");
}

function exists(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && !Number.isNaN(value);
}

export function bar(share: number, width: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return "█".repeat(full) + "░".repeat(width - full);
}

const levels = "▁▂▃▄▅▆▇█";

/** One character a value, the smallest lowest; values that do not exist are gaps. More than `width` values are averaged into it. */
export function sparkline(values: readonly (number | null)[], width = 40): string {
  const points = shrink(values, width);
  const known = points.filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return points
    .map((value) =>
      value === null ? " " : levels[high === low ? 3 : Math.round(((value - low) / (high - low)) * (levels.length - 1))],
    )
    .join("");
}

/** Returns at most `width` values: means of neighbours, null where none of them exists. */
export function shrink(values: readonly (number | null)[], width: number): readonly (number | null)[] {
  if (values.length <= width) return values;
  return Array.from({ length: width }, (_, i) => {
    const bucket = values.slice(Math.floor((i * values.length) / width), Math.floor(((i + 1) * values.length) / width));
    const known = bucket.filter((value) => value !== null);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
  });
}

/** Columns side by side, two spaces between them: the first to the left, the others to the right. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
