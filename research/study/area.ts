import type { Axis } from "./definition.ts";
import type { CurvePoint } from "./outcome.ts";
import { endsOf } from "./outcome.ts";
/**
 * Returns, for each task, the mean height of its curve over an axis: trapezia between evaluations, up to an amount that every run has spent.
 * @param until > 0; the curve is cut there, on a straight line between evaluations
 */
export function areas(curve: readonly CurvePoint[], axis: Axis, until: number): number[] {
  const { start } = endsOf(curve);
  return start.values.map((height, task) => {
    let [area, from] = [0, start];
    for (const to of curve.slice(1)) {
      const width = to[axis] - from[axis];
      const share = width > 0 ? Math.min(1, Math.max(0, (until - from[axis]) / width)) : 0;
      const [before, after] = [Number(from.values[task]), Number(to.values[task])];
      const reached = before + share * (after - before);
      area += (share * width * (before + reached)) / 2;
      from = to;
    }
    return until > 0 ? area / until : height;
  });
}
