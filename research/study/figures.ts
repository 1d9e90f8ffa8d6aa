import { legend, polyline, round, svg, text } from "../../extensions/inspect/svg.ts";
import { present } from "../../src/core/present.ts";
import type { ArmResult, WorldResult } from "./analysis.ts";
import { ratesOf, type Study } from "./definition.ts";
import type { ContrastResult } from "./questions.ts";

const colours = [
  "#1b6ca8",
  "#d9822b",
  "#444444",
  "#2a9d5c",
  "#8e44ad",
  "#c0392b",
  "#16a085",
  "#999999",
  "#b8860b",
  "#e377c2",
  "#17becf",
];
const [left, top, plotWidth, plotHeight] = [50, 40, 460, 300];

/** Held-out value over episodes: the mean over seeds, and in a lighter colour its interval. */
export function curvesSvg({ title, arms }: WorldResult): string {
  const drawn = arms.filter(({ curve }) => curve !== undefined);
  const most = Math.max(1, ...drawn.flatMap(({ curve = [] }) => curve.map((point) => point.episodes)));
  const x = (spent: number) => left + (spent / most) * plotWidth;
  const y = scaleOf(drawn.flatMap(({ curve = [] }) => curve.map(({ value }) => value.high)));
  return frame(`${title}: held-out success over episodes`, drawn, y, "episodes; bands: 95 % over seeds and tasks", [
    ...[0, 0.25, 0.5, 0.75, 1].map((share) =>
      text(x(share * most), top + plotHeight + 18, Math.round(share * most).toLocaleString("en-US"), "middle"),
    ),
    ...drawn.map(({ curve = [] }, i) => {
      const edge = [
        ...curve.map((point) => `${round(x(point.episodes))},${round(y.at(point.value.high))}`),
        ...curve.toReversed().map((point) => `${round(x(point.episodes))},${round(y.at(point.value.low))}`),
      ];
      return `<polygon points="${edge.join(" ")}" fill="${colourOf(i)}" fill-opacity="0.1"/>`;
    }),
    ...drawn.map(({ curve = [] }, i) =>
      polyline(
        curve.map((point) => [x(point.episodes), y.at(point.value.mean)] as const),
        colourOf(i),
      ),
    ),
  ]);
}

/** The value at the end of the tuning runs over learning rates, on a logarithmic axis. A ring marks rates at which not all runs survived. */
export function ratesSvg(study: Study, { world, title, arms }: WorldResult): string {
  const all = ratesOf(study, world);
  const drawn = arms.filter(({ rates }) => rates.length > 0);
  const [low, high] = [Math.log(Math.min(...all)), Math.log(Math.max(...all))];
  const x = (rate: number) => left + 20 + (high > low ? (Math.log(rate) - low) / (high - low) : 0.5) * (plotWidth - 40);
  const y = scaleOf(drawn.flatMap(({ rates }) => rates.map(({ final }) => final)));
  return frame(`${title}: success at the end of tuning runs`, drawn, y, "learning rate; rings: not all runs survived", [
    ...all.map((rate) => text(x(rate), top + plotHeight + 18, String(rate), "middle")),
    ...drawn.flatMap(({ rates }, i) => [
      polyline(
        rates.map(({ rate, final }) => [x(rate), y.at(final)] as const),
        colourOf(i),
      ),
      ...rates.map(({ rate, final, survived, runs }) => {
        const fill = survived === runs ? colourOf(i) : "#ffffff";
        return `<circle cx="${round(x(rate))}" cy="${round(y.at(final))}" r="4" fill="${fill}" stroke="${colourOf(i)}" stroke-width="2"/>`;
      }),
    ]),
  ]);
}

/** The differences of a question with their intervals, the tested ones in colour. Intervals that are wider than the picture end at its edge. */
export function questionSvg(title: string, contrasts: readonly ContrastResult[]): string {
  const [labels, width, rowHeight] = [440, 340, 22];
  const means = contrasts.map(({ difference, values }) => Math.abs(difference?.mean ?? (values ? values[0] - values[1] : 0)));
  const limit = Math.min(1, Math.max(0.1, Math.ceil(Math.max(...means) * 15) / 10));
  const x = (value: number) => labels + (width / 2) * (1 + Math.max(-1, Math.min(1, value / limit)));
  const y = (row: number) => top + 14 + row * rowHeight;
  const bottom = y(contrasts.length);
  const points = (value: number) => (value * 100).toFixed(1).replace("-", "−");
  const line = (x1: number, x2: number, y1: number, y2: number, stroke: string) =>
    `<line x1="${round(x1)}" x2="${round(x2)}" y1="${round(y1)}" y2="${round(y2)}" stroke="${stroke}" stroke-width="2"/>`;
  return svg(labels + width + 210, bottom + 46, title, [
    text(10, 22, title),
    ...[-limit, 0, limit].flatMap((value) => [
      line(x(value), x(value), top, bottom, "#dddddd"),
      text(x(value), bottom + 16, points(value), "middle"),
    ]),
    text(10, bottom + 36, "first less second, points, with 95 % intervals over seeds and tasks; blue: tested, grey: descriptive"),
    ...contrasts.flatMap(({ title, role, values, difference, seeds, split }, row) => {
      const colour = role === "descriptive" ? "#999999" : "#1b6ca8";
      const at = difference?.mean ?? (values && values[0] - values[1]);
      const runs =
        seeds.length === 0
          ? "not run"
          : `${seeds.length} ${split === "validation" ? "tuning " : ""}seed${seeds.length === 1 ? "" : "s"}`;
      return [
        text(10, y(row) + 4, title),
        difference === undefined ? "" : line(x(difference.low), x(difference.high), y(row), y(row), colour),
        at === undefined ? "" : `<circle cx="${round(x(at))}" cy="${round(y(row))}" r="5" fill="${colour}"/>`,
        text(
          labels + width + 15,
          y(row) + 4,
          values === undefined ? runs : `${points(values[0])} and ${points(values[1])}; ${runs}`,
        ),
      ];
    }),
  ]);
}

interface Scale {
  readonly ticks: readonly number[];
  at(value: number): number;
}

function scaleOf(values: readonly number[]): Scale {
  const highest = Math.max(0.1, Math.ceil(Math.max(0, ...values) * 10) / 10);
  return {
    ticks: Array.from({ length: Math.round(highest * 10) + 1 }, (_, i) => i / 10),
    at: (value) => top + plotHeight * (1 - Math.max(0, value) / highest),
  };
}

function frame(title: string, arms: readonly ArmResult[], y: Scale, below: string, parts: readonly string[]): string {
  const height = Math.max(top + plotHeight + 60, top + arms.length * 22 + 20);
  return svg(left + plotWidth + 270, height, title, [
    text(left, 22, title),
    ...y.ticks.flatMap((tick) => [
      `<line x1="${left}" x2="${left + plotWidth}" y1="${round(y.at(tick))}" y2="${round(y.at(tick))}" stroke="#dddddd"/>`,
      text(left - 8, y.at(tick) + 4, tick.toFixed(1), "end"),
    ]),
    text(left, top + plotHeight + 40, below),
    ...parts,
    ...arms.map(({ title }, i) => legend(left + plotWidth + 20, top + i * 22, colourOf(i), title)),
  ]);
}

function colourOf(i: number): string {
  return present(colours[i % colours.length], "a colour");
}
