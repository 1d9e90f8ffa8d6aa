import type { Benchmark } from "./benchmarks.ts";
import type { RateMeter } from "./rate.ts";
import { isPython, type Quantities, type Side, startSide } from "./side.ts";

/** One quantity of one request. */
export interface Result {
  readonly benchmark: string;
  readonly request: string;
  readonly quantity: string;
  /** One number for each round that counts. */
  readonly ours: readonly number[];
  /** `ratio` is the median of ours / peer over the rounds that both have. */
  readonly peers: readonly { readonly name: string; readonly values: readonly number[]; readonly ratio: number }[];
  /** Rounds that were too slow to count. */
  readonly setAside: number;
}

/** A round of all sides, by name. */
export interface Round {
  readonly request: string;
  readonly sides: ReadonlyMap<string, Quantities>;
  /** Matrix products at the slowest moment beside it. */
  readonly gflops: number;
}

/** A round counts if matrix products reach this share of the best rate of the invocation at each of its moments. */
const slowShare = 0.5;
const own = "ours";

/**
 * Alternates rounds of all sides, so that what else the machine does affects them alike; each idles while another runs. Slow rounds are repeated
 * once.
 * @param python undefined: without the peers that need it
 * @param start a side
 */
export async function measure(
  { name: benchmark, ours, peers, requests, rounds: most }: Benchmark,
  runs: number,
  python: string | undefined,
  meter: Pick<RateMeter, "measure">,
  say: (line: string) => void = console.log,
  start: typeof startSide = startSide,
): Promise<Result[]> {
  const running = new Map<string, Side>();
  const rounds: Round[] = [];
  /** A peer may lack a package or run out of memory: the others are measured without it. */
  const without = (name: string) => (error: Error) => {
    if (name === own) throw error;
    say(`  without ${name}: ${error.message}`);
    running.delete(name);
  };
  const play = async (request: string) => {
    const sides = new Map<string, Quantities>();
    let gflops = Number.POSITIVE_INFINITY;
    for (const [name, side] of running) {
      gflops = Math.min(gflops, await meter.measure());
      const quantities = await side.round(request).catch(without(name));
      if (quantities) sides.set(name, quantities);
    }
    rounds.push({ request, sides, gflops });
  };
  try {
    for (const [name, program] of Object.entries({ [own]: ours, ...peers })) {
      if (isPython(program) && python === undefined) continue;
      const side = await start(program, python).catch(without(name));
      if (side) running.set(name, side);
    }
    for (let round = 0; round < Math.min(runs, most ?? runs); round++) for (const request of requests) await play(request);
    for (const { request } of slowOf(rounds)) await play(request);
    const names = new Map([...running].map(([name, side]) => [name, side.name]));
    return requests.flatMap((request) => resultsOf(benchmark, request, rounds, names));
  } finally {
    await Promise.all([...running.values()].map((side) => side.stop()));
  }
}

/** The rounds beside which the machine was slow. */
export function slowOf(rounds: readonly Round[]): Round[] {
  const best = Math.max(...rounds.map(({ gflops }) => gflops));
  return rounds.filter(({ gflops }) => gflops < slowShare * best);
}

/** The results of a request: none if no round of it counts. @param names of the sides, with versions */
export function resultsOf(
  benchmark: string,
  request: string,
  rounds: readonly Round[],
  names: ReadonlyMap<string, string>,
): Result[] {
  const slow = new Set(slowOf(rounds));
  const all = rounds.filter((round) => round.request === request);
  const kept = all.filter((round) => !slow.has(round));
  const quantities = Object.keys(kept[0]?.sides.get(own) ?? {});
  return quantities.map((quantity) => {
    const of = (side: string) => kept.flatMap(({ sides }) => sides.get(side)?.[quantity] ?? []);
    const peers = [...names].flatMap(([side, name]) => {
      const ratios = kept.flatMap(({ sides }) => {
        const [a, b] = [sides.get(own)?.[quantity], sides.get(side)?.[quantity]];
        return a === undefined || b === undefined ? [] : [a / b];
      });
      return side === own || ratios.length === 0 ? [] : [{ name, values: of(side), ratio: median(ratios) }];
    });
    return { benchmark, request, quantity, ours: of(own), peers, setAside: all.length - kept.length };
  });
}

export function resultText({ benchmark, request, quantity, ours, peers, setAside }: Result): string {
  const beside = peers.map(({ name, values, ratio }) => `\n    ${ratio.toFixed(2)} × ${spread(values)} of ${name}`);
  const slow = setAside > 0 ? ` (${setAside} rounds set aside)` : "";
  return `${[benchmark, request, quantity].filter(Boolean).join(" ")}: ${spread(ours)}${slow}${beside.join("")}`;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** The median, and the lowest and highest where there are several: "4,210 (4,160–4,360)". */
function spread(values: readonly number[]): string {
  const figure = (value: number) => value.toLocaleString("en", { maximumSignificantDigits: value >= 1000 ? 4 : 3 });
  const range = `${figure(Math.min(...values))}–${figure(Math.max(...values))}`;
  return values.length === 1 ? figure(values[0]) : `${figure(median(values))} (${range})`;
}
