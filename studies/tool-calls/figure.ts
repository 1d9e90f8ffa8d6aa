import { count } from "../../src/cli/format.ts";
import { legend, polyline, round, svg, text } from "../../src/plot/svg.ts";
import { titleOf } from "./arms.ts";
import type { Results } from "./results.ts";

const colours = ["#444444", "#999999", "#d9822b", "#1b6ca8", "#2a9d5c", "#8e44ad", "#c0392b", "#16a085"];
const [left, top, plotWidth, plotHeight] = [50, 40, 460, 310];

/** Held-out reward over training's tool calls: the mean over seeds, and in a lighter colour its interval. */
export function curvesSvg({ bands, config, seeds }: Results): string {
  const title = `Held-out reward over tool calls of training: ${config.environment.name}, ${config.rollout.groupSize} leaves, seeds ${seeds.join(", ")}`;
  const all = bands.flatMap(({ points }) => points);
  const most = Math.max(1, ...all.map(({ calls }) => calls));
  const highest = Math.max(0.1, Math.ceil(Math.max(...all.map(({ reward }) => reward.high)) * 10) / 10);
  const lowest = Math.min(0, Math.floor(Math.min(...all.map(({ reward }) => reward.low)) * 10) / 10);
  const x = (calls: number) => left + (calls / most) * plotWidth;
  const y = (reward: number) => top + plotHeight * (1 - (reward - lowest) / (highest - lowest));
  const ticks = Array.from({ length: Math.round((highest - lowest) * 10) + 1 }, (_, i) => lowest + i / 10);
  return svg(left + plotWidth + 230, top + plotHeight + 60, title, [
    text(left, 22, title),
    ...ticks.flatMap((reward) => [
      `<line x1="${left}" x2="${left + plotWidth}" y1="${round(y(reward))}" y2="${round(y(reward))}" stroke="#dddddd"/>`,
      text(left - 8, y(reward) + 4, reward.toFixed(1), "end"),
    ]),
    ...[0, 0.25, 0.5, 0.75, 1].map((share) => text(x(share * most), top + plotHeight + 18, count(share * most), "middle")),
    text(left, top + plotHeight + 40, "tool calls; bands: 95 %, bootstrap over seeds and tasks"),
    ...bands.map(({ points }, i) => {
      const edge = [
        ...points.map(({ calls, reward }) => `${round(x(calls))},${round(y(reward.high))}`),
        ...points.toReversed().map(({ calls, reward }) => `${round(x(calls))},${round(y(reward.low))}`),
      ];
      return `<polygon points="${edge.join(" ")}" fill="${colours[i % colours.length]}" fill-opacity="0.12"/>`;
    }),
    ...bands.flatMap(({ arm, points }, i) => {
      const colour = colours[i % colours.length];
      const line = points.map(({ calls, reward }) => [x(calls), y(reward.value)] as const);
      return [polyline(line, colour), legend(left + plotWidth + 20, top + i * 22, colour, titleOf(arm))];
    }),
  ]);
}
