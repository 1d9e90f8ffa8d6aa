import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { number, smooth } from "../format.ts";
import { colour } from "../theme.ts";

export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** A colour of the style sheet. */
  readonly colour: string;
  /** Single points instead of a line, such as evaluations. */
  readonly points?: boolean;
  /** Filled down to the series with this label. */
  readonly bandTo?: string;
  /** Never smoothed, as the ends of an interval. */
  readonly exact?: boolean;
}

interface ChartProps {
  readonly title: string;
  readonly x: readonly number[];
  readonly series: readonly Series[];
  readonly smoothing?: number;
  readonly hint?: string;
  /** In pixels. */
  readonly height?: number;
  /** Zero belongs to the picture, as for shares and times. */
  readonly fromZero?: boolean;
}

/** Lines over the steps of a run. Drawn when it first comes into view; the cursor is shared by all charts of a page. */
export function Chart({ title, x, series, smoothing = 0, hint, height = 168, fromZero = false }: ChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [seen, setSeen] = useState(false);
  const [at, setAt] = useState<number | undefined>(undefined);
  const shown = series.map((one) => ({ ...one, drawn: one.points || one.exact ? one.values : smooth(one.values, smoothing) }));
  const shape = shown.map(({ label, colour: name }) => `${label}/${name}`).join();

  useEffect(() => {
    const element = holder.current;
    if (element === null) return;
    const observer = new IntersectionObserver(([entry]) => entry.isIntersecting && setSeen(true), { rootMargin: "240px" });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const element = holder.current;
    if (!seen || element === null) return;
    const axis = {
      stroke: colour("muted"),
      grid: { stroke: colour("grid"), width: 1 },
      ticks: { show: false },
      font: "11px 'Inter Variable', sans-serif",
    };
    const index = (label: string) => 1 + shown.findIndex((one) => one.label === label);
    const drawn = new uPlot(
      {
        width: element.clientWidth,
        height,
        cursor: { sync: { key: "steps" }, y: false, points: { size: 6 } },
        legend: { show: false },
        scales: { x: { time: false }, y: { range: (_, low, high) => rangeOf(low, high, fromZero) } },
        axes: [
          { ...axis, grid: { show: false }, size: 26, gap: 4, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10_000] },
          { ...axis, size: 50, gap: 6, values: (_, ticks) => ticks.map((tick) => number(tick)) },
        ],
        bands: shown.flatMap((one) =>
          one.bandTo === undefined
            ? []
            : [{ series: [index(one.label), index(one.bandTo)] as [number, number], fill: `${colour(one.colour)}26` }],
        ),
        series: [
          {},
          ...shown.map((one) => ({
            label: one.label,
            stroke: colour(one.colour),
            width: one.points ? 0 : one.exact ? 1 : 1.8,
            spanGaps: true,
            points: one.points
              ? { show: true, size: 8, fill: colour(one.colour), stroke: colour("panel"), width: 1.5 }
              : { show: x.length < 3 },
          })),
        ],
        hooks: { setCursor: [(self) => setAt(self.cursor.idx ?? undefined)] },
      },
      [x as number[], ...shown.map((one) => one.drawn as number[])],
      element,
    );
    plot.current = drawn;
    const resize = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      drawn.destroy();
      plot.current = undefined;
    };
  }, [seen, shape, height, x.length === 0]);

  useEffect(() => {
    plot.current?.setData([x as number[], ...shown.map((one) => one.drawn as number[])]);
  }, [x, series, smoothing]);

  const position = at ?? x.length - 1;
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title" title={hint}>
          {title}
        </span>
        <span class="legend">
          {shown
            .filter(({ exact }) => !exact)
            .map((one) => (
              <span key={one.label} class="legend-item">
                <i class="swatch" style={{ background: `var(--${one.colour})` }} />
                {shown.length > 1 && <span>{one.label}</span>}
                <b>{number(one.points ? lastKnown(one.values, position) : one.drawn[position])}</b>
              </span>
            ))}
        </span>
      </figcaption>
      <div ref={holder} role="img" aria-label={describe(title, x, series)} class="plot" style={{ minHeight: `${height}px` }} />
    </figure>
  );
}

/** A little room above and below, and no flat line glued to an edge. */
function rangeOf(low: number | null, high: number | null, fromZero: boolean): [number, number] {
  if (low === null || high === null || !Number.isFinite(low)) return [0, 1];
  const bottom = fromZero ? Math.min(0, low) : low;
  const room = (high - bottom || Math.abs(high) || 1) * 0.06;
  return [fromZero && bottom === 0 ? 0 : bottom - room, high + room];
}

function lastKnown(values: readonly (number | null)[], upTo: number): number | null {
  for (let at = Math.min(upTo, values.length - 1); at >= 0; at--) if (values[at] !== null) return values[at];
  return null;
}

/** The same for those who do not see it. */
function describe(title: string, x: readonly number[], series: readonly Series[]): string {
  const parts = series
    .filter(({ exact }) => !exact)
    .map(({ label, values }) => {
      const known = values.filter((value) => value !== null);
      if (known.length === 0) return `${label}: no values`;
      return `${label}: from ${number(known[0])} to ${number(known.at(-1))}, lowest ${number(Math.min(...known))}, highest ${number(Math.max(...known))}`;
    });
  return `${title} over ${x.length} steps. ${parts.join(". ")}`;
}

/** The slider of how far curves are smoothed. */
export function Smoothing({ value, onChange }: { readonly value: number; readonly onChange: (value: number) => void }) {
  return (
    <label>
      Smoothing{" "}
      <input
        type="range"
        min="0"
        max="0.95"
        step="0.05"
        value={value}
        onInput={(event) => onChange(Number(event.currentTarget.value))}
      />
    </label>
  );
}

/** A curve without axes, for lists. */
export function Sparkline({ values }: { readonly values: readonly (number | null)[] }) {
  const known = values.flatMap((value, i) => (value === null ? [] : [{ i, value }]));
  if (known.length < 2) return <span class="muted">–</span>;
  const [low, high] = [Math.min(...known.map(({ value }) => value)), Math.max(...known.map(({ value }) => value))];
  const points = known.map(
    ({ i, value }) => `${(96 * i) / (values.length - 1) + 2},${24 - (20 * (value - low)) / (high - low || 1)}`,
  );
  return (
    <svg class="spark" viewBox="0 0 100 28" aria-hidden="true" preserveAspectRatio="none">
      <polyline points={points.join(" ")} />
    </svg>
  );
}
