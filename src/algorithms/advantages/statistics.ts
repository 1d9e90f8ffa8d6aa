import type { TokenRows } from "../objectives/objective.ts";

/** True if the values differ: only then is there something to compare. */
export function differ(values: readonly number[]): boolean {
  return values.some((value) => value !== values[0]);
}

/**
 * (x − mean x) / sqrt(var x + 1e-8) over all numbers of all rows, var with divisor n − 1; as verl's `masked_whiten`, its 1e-8 in the
 * count included. Where all numbers are equal, or there is only one, all become exactly 0.
 */
export function whitened(rows: TokenRows): number[][] {
  let [sum, count, first] = [0, 0, Number.NaN];
  let equal = true;
  for (const row of rows) {
    for (let t = 0; t < row.length; t++) {
      if (count === 0) first = row[t];
      equal &&= row[t] === first;
      sum += row[t];
      count++;
    }
  }
  if (equal) return rows.map((row) => row.map(() => 0));
  const centre = sum / (count + 1e-8);
  let squares = 0;
  for (const row of rows) {
    for (let t = 0; t < row.length; t++) {
      const distance = row[t] - centre;
      squares += distance * distance;
    }
  }
  const variance = ((squares / (count + 1e-8)) * count) / (count - 1);
  const scale = 1 / Math.sqrt(variance + 1e-8);
  return rows.map((row) => {
    const white = new Array<number>(row.length);
    for (let t = 0; t < row.length; t++) white[t] = (row[t] - centre) * scale;
    return white;
  });
}
