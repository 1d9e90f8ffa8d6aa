import { legend, polyline, round, svg, text } from "../../extensions/inspect/svg.ts";
import { type Cell, cellOf, singleTurn } from "../../extensions/lab/cell.ts";
import type { LabSettings } from "../../extensions/lab/config.ts";
import { type CaseOf, follow } from "../../extensions/lab/experiment.ts";
import type { CellResult } from "../../extensions/lab/grid.ts";
import type { Size } from "../../extensions/lab/problem.ts";
import { gridRows } from "./report.ts";

/** A line of the plot of J over updates. */
export interface Curve {
  readonly name: string;
  /** Mean over problems of (J − worst) / (J* − worst), before the first update and after each. */
  readonly values: readonly number[];
}

/** From the theorem's assumptions to practice, one change at a time. */
const tellingCells: readonly (readonly [string, string])[] = [
  ["the theorem: full history, maximised, exact", "grae.ppu.turn.reverse.m-exact.history.maximise.exact"],
  ["gradient steps", "grae.ppu.turn.reverse.m-exact.history.steps.exact"],
  ["groups", "grae.ppu.turn.reverse.m-exact.history.maximise.groups"],
  ["own index only", "grae.ppu.turn.reverse.m-exact.index.maximise.exact"],
  ["one shared table", "grae.ppu.turn.reverse.m-exact.shared.maximise.exact"],
  ["practice: shared, M clipped, steps, groups", "grae.ppu.turn.reverse.m-clipped.shared.steps.groups"],
];

export function curveOf(name: string, cell: Cell, size: Size, settings: LabSettings, caseFor: CaseOf): Curve {
  const reduced = size.turns === 1 ? singleTurn(cell) : cell;
  const values = new Array<number>(settings.updates + 1).fill(0);
  for (let index = 0; index < settings.problems; index++) {
    const given = caseFor(size, index, reduced.sees);
    const { returns } = follow(reduced, given, settings, [size.turns, size.contexts, index]);
    for (let u = 0; u <= settings.updates; u++) {
      const value = returns[Math.min(u, returns.length - 1)];
      values[u] += (value - given.worst) / Math.max(given.best - given.worst, 1e-12) / settings.problems;
    }
  }
  return { name, values };
}

export function tellingCurves(size: Size, settings: LabSettings, caseFor: CaseOf): Curve[] {
  return tellingCells.map(([name, id]) => curveOf(name, cellOf(id), size, settings, caseFor));
}

const colours = ["#1b6ca8", "#2a9d5c", "#d9822b", "#8e44ad", "#c0392b", "#444444"];

/** J over updates, one line a cell. */
export function curvesSvg(curves: readonly Curve[], title: string): string {
  const [width, height, left, top, plotWidth, plotHeight] = [760, 400, 50, 40, 400, 310];
  const updates = Math.max(...curves.map(({ values }) => values.length)) - 1;
  const lowest = Math.min(...curves.flatMap(({ values }) => values));
  const bottom = Math.floor(lowest * 10) / 10;
  const x = (u: number) => left + (u / updates) * plotWidth;
  const y = (value: number) => top + plotHeight * (1 - (value - bottom) / (1 - bottom));
  const ticks = Array.from({ length: Math.round((1 - bottom) * 10) + 1 }, (_, i) => bottom + i / 10);
  return svg(width, height, title, [
    text(left, 22, title),
    ...ticks.flatMap((value) => [
      `<line x1="${left}" x2="${left + plotWidth}" y1="${round(y(value))}" y2="${round(y(value))}" stroke="#ddd"/>`,
      text(left - 8, y(value) + 4, value.toFixed(1), "end"),
    ]),
    text(left, top + plotHeight + 18, "0"),
    text(left + plotWidth, top + plotHeight + 18, `${updates} updates`, "end"),
    ...curves.flatMap(({ name, values }, i) => {
      const colour = colours[i % colours.length];
      const points = values.map((value, u) => [x(u), y(value)] as const);
      return [polyline(points, colour), legend(left + plotWidth + 20, top + i * 22, colour, name)];
    }),
  ]);
}

const fills: Readonly<Record<string, string>> = { "↑": "#bfe3c8", "≈": "#fbe8b2", "↓": "#f4c1bb", "–": "#eeeeee" };

/** The verdicts of all cells with several turns, as a coloured grid. */
export function gridSvg(results: readonly CellResult[], title: string): string {
  const rows = gridRows(results, "multi", "exact");
  const [left, top, cellWidth, cellHeight] = [250, 90, 56, 17];
  const body = rows.slice(3);
  const width = left + cellWidth * (rows[0].length - 1) + 10;
  return svg(width, top + cellHeight * body.length + 10, title, [
    text(10, 22, title),
    ...rows
      .slice(0, 3)
      .flatMap((heads, line) =>
        heads.slice(1).map((head, column) => text(left + (column + 0.5) * cellWidth, 44 + line * 16, head, "middle")),
      ),
    ...body.flatMap(([name, ...signs], i) => [
      text(10, top + i * cellHeight + 13, name),
      ...signs.flatMap((entry, column) => [
        `<rect x="${left + column * cellWidth}" y="${top + i * cellHeight}" width="${cellWidth - 1}" height="${cellHeight - 1}" fill="${fills[entry[0]] ?? "#ffffff"}"/>`,
        text(left + (column + 0.5) * cellWidth, top + i * cellHeight + 13, entry, "middle"),
      ]),
    ]),
  ]);
}
