import { type EntropyPoint, type Occasion, occasions } from "./entropy.ts";
import { legend, polyline, round, svg, text } from "./svg.ts";

const colours: Readonly<Record<Occasion, string>> = { start: "#444444", tool: "#c0392b", user: "#1b6ca8" };
const names: Readonly<Record<Occasion, string>> = {
  start: "first action",
  tool: "around a tool result",
  user: "around a user's message",
};
const [width, height, left, top, plotWidth, plotHeight] = [700, 360, 60, 40, 420, 270];

/** Mean entropy over the distance in tokens, one line for each occasion. */
export function entropySvg(series: Readonly<Record<Occasion, readonly EntropyPoint[]>>, title: string): string {
  const drawn = occasions.filter((occasion) => series[occasion].length > 0);
  const points = drawn.flatMap((occasion) => series[occasion]);
  const offsets = points.map(({ offset }) => offset);
  const [first, last] = [Math.min(0, ...offsets), Math.max(1, ...offsets)];
  const highest = Math.max(1e-9, ...points.map(({ mean }) => mean));
  const x = (offset: number) => left + ((offset - first) / (last - first)) * plotWidth;
  const y = (entropy: number) => top + plotHeight * (1 - entropy / highest);
  const ticks = Array.from({ length: 6 }, (_, i) => (highest * i) / 5);
  const line = (of: readonly EntropyPoint[], colour: string) => {
    const path = of.map(({ offset, mean }) => [x(offset), y(mean)] as const);
    return path.length === 0 ? "" : polyline(path, colour);
  };
  const lines = drawn.flatMap((occasion, i) => {
    const [of, colour] = [series[occasion], colours[occasion]];
    const [before, after] = [of.filter(({ offset }) => offset < 0), of.filter(({ offset }) => offset >= 0)];
    return [line(before, colour), line(after, colour), legend(left + plotWidth + 20, top + i * 22, colour, names[occasion])];
  });
  return svg(width, height, title, [
    text(left, 22, title),
    ...ticks.flatMap((entropy) => [
      `<line x1="${left}" x2="${left + plotWidth}" y1="${round(y(entropy))}" y2="${round(y(entropy))}" stroke="#dddddd"/>`,
      text(left - 8, y(entropy) + 4, entropy.toPrecision(2), "end"),
    ]),
    `<line x1="${round(x(-0.5))}" x2="${round(x(-0.5))}" y1="${top}" y2="${top + plotHeight}" stroke="#888888" stroke-dasharray="4 3"/>`,
    text(left, top + plotHeight + 18, String(first)),
    text(x(-0.5), top + plotHeight + 18, "result", "middle"),
    text(left + plotWidth, top + plotHeight + 18, `${last} tokens`, "end"),
    text(left, top + plotHeight + 38, "mean entropy of an action token, nats"),
    ...lines,
  ]);
}
