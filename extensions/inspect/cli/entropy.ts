import { writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { RunError } from "../../../src/core/errors.ts";
import { makeFolder } from "../../../src/files/folder.ts";
import { layout } from "../../../src/runs/layout.ts";
import { readRun, readTrajectories, trajectorySteps } from "../../../src/runs/read.ts";
import { count, number, sparkline, table } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { type EntropyPoint, entropyAround, type Occasion } from "../entropy.ts";
import { entropySvg } from "../entropy-svg.ts";

const names: Readonly<Record<Occasion, string>> = { start: "the first action", tool: "a tool result", user: "a user's message" };

/** Token entropy around tool results, over all recorded training rollouts of a run. */
export function entropyCommand(
  folder: string,
  { svg, json }: { readonly svg?: string; readonly json?: boolean },
  screen: Screen,
): void {
  readRun(folder);
  const steps = trajectorySteps(folder);
  if (steps.length === 0)
    throw new RunError(layout.trajectoryFolder(folder), "empty", { expected: "the trajectories of at least one step" });
  const series = entropyAround(trajectoriesOf(folder, steps));
  if (svg !== undefined) {
    makeFolder(dirname(svg));
    writeFileSync(svg, entropySvg(series, `${folder}: entropy around tool results, ${steps.length} steps`));
  }
  if (json === true) {
    screen.line(JSON.stringify(series));
    return;
  }
  const rows = Object.entries(names).flatMap(([occasion, name]) => {
    const points = series[occasion as Occasion];
    const [before, after] = [points.filter(({ offset }) => offset < 0), points.filter(({ offset }) => offset >= 0)];
    if (after.length === 0) return [];
    const occurrences = after.find(({ offset }) => offset === 0)?.count ?? 0;
    return [[name, count(occurrences), average(before), average(after), sparkline(after.map(({ mean }) => mean))]];
  });
  for (const line of table([["around", "times", "before", "after", "the first tokens after it"], ...rows])) screen.line(line);
  screen.line(screen.paint.dim("Mean entropy of an action token in nats, of up to 10 tokens before and 20 after."));
}

function* trajectoriesOf(folder: string, steps: readonly number[]) {
  for (const step of steps) yield* readTrajectories(folder, step);
}

function average(points: readonly EntropyPoint[]): string {
  const tokens = points.reduce((sum, point) => sum + point.count, 0);
  return tokens === 0 ? "–" : number(points.reduce((sum, point) => sum + point.mean * point.count, 0) / tokens);
}
