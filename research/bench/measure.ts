import { loadavg } from "node:os";
import type { Benchmark, Entry } from "./benchmarks.ts";
import type { RateMeter, Rates } from "./rate.ts";
import { isPython, type Quantities, type Side, startSide } from "./side.ts";
import { median } from "./statistics.ts";

/** One line of the table, of several rounds. `peer`, `peerName` and `ratio` are null where there is no peer, or no Python for it. */
export interface Result {
  readonly name: string;
  readonly unit: string;
  readonly ours: number;
  readonly peer: number | null;
  readonly peerName: string | null;
  /** The median of ours / peer over the rounds that both sides have. */
  readonly ratio: number | null;
  /** What products and bytes alone would allow at the rates that were measured beside these rounds; null where that is not known. */
  readonly limit: number | null;
  /** Rates beside the rounds that count: the median. */
  readonly gflops: number;
  readonly gigabytes: number;
  /** Seconds of processor time for each second of ours and of the peer: medians; null where that is not known. */
  readonly cores: number | null;
  readonly peerCores: number | null;
  /** The machine's load of the last minute when the rounds were done, their own included. */
  readonly load: number;
  /** Rounds that count, and rounds that were too slow to count. */
  readonly rounds: number;
  readonly setAside: number;
}

export interface Measured {
  readonly entry: Entry;
  readonly result: Result;
  /** One number for each round that counts. */
  readonly ours: readonly number[];
  readonly peer: readonly number[];
}

/** A round of all sides that were asked the same. */
export interface Round {
  readonly request: string;
  readonly sides: ReadonlyMap<string, Quantities>;
  /** Those of the slowest moment beside it. */
  readonly rates: Rates;
}

/** A round counts if matrix products reach this share of the best rate of the invocation at each of its moments. */
export const slowShare = 0.5;

/**
 * Alternates rounds of all sides, so that what else the machine does meets them alike; each idles while another runs. The machine's rates are
 * measured before each side of a round. Slow rounds are repeated, once for each that was asked for.
 * @param python undefined: without the peers that need it
 */
export async function measure(
  benchmark: Benchmark,
  runs: number,
  python: string | undefined,
  meter: RateMeter,
): Promise<Measured[]> {
  const { sides, entries } = benchmark;
  const running = new Map<string, Side>();
  const requests = [...new Set(entries.map(({ request }) => request))];
  const asked = (side: string, request: string) =>
    entries.some(
      ({ ours, peer, request: own }) => own === request && [ours.side, peer?.side, ...(peer?.or ?? [])].includes(side),
    );
  const rounds: Round[] = [];
  const play = async (request: string, round: number) => {
    const told = new Map<string, Quantities>();
    const rates: Rates[] = [];
    for (const [name, side] of running) {
      if (round >= (sides[name].rounds ?? runs) || !asked(name, request)) continue;
      rates.push(await meter.measure());
      try {
        told.set(name, await side.round(request));
      } catch (error) {
        // A peer may run out of memory: what the others do is measured none the less.
        if (!isPython(sides[name]) || !(error instanceof Error)) throw error;
        console.log(`  without ${name} from round ${round + 1} on: ${error.message}`);
        running.delete(name);
      }
    }
    const least = (of: keyof Rates) => Math.min(...rates.map((rate) => rate[of]));
    rounds.push({ request, sides: told, rates: { gflops: least("gflops"), gigabytes: least("gigabytes") } });
  };
  try {
    for (const [name, program] of Object.entries(sides))
      if (!isPython(program)) running.set(name, await startSide(program, python));
      else if (python !== undefined) {
        // A peer may lack a package, or a compiler: the others are measured without it.
        const side = await startSide(program, python).catch((error: Error) => console.log(`  without ${name}: ${error.message}`));
        if (side) running.set(name, side);
      }
    for (let round = 0; round < runs; round++) for (const request of requests) await play(request, round);
    for (const { request } of slowOf(rounds)) await play(request, 0);
  } finally {
    await Promise.all([...running.values()].map((side) => side.stop()));
  }
  const names = new Map([...running].map(([name, side]) => [name, side.name]));
  return entries.flatMap((entry) => measuredOf(entry, rounds, names) ?? []);
}

/** The rounds beside which the machine was slow. */
export function slowOf(rounds: readonly Round[]): Round[] {
  const best = Math.max(...rounds.map(({ rates }) => rates.gflops));
  return rounds.filter(({ rates }) => rates.gflops < slowShare * best);
}

/** The line of an entry. Undefined if no round of it counts. @param names of the sides */
export function measuredOf(entry: Entry, rounds: readonly Round[], names: ReadonlyMap<string, string>): Measured | undefined {
  const slow = new Set(slowOf(rounds));
  const own = rounds.filter(({ request }) => request === entry.request);
  const kept = own.filter((round) => !slow.has(round));
  const of = (side: string, quantity: string) => kept.flatMap(({ sides }) => sides.get(side)?.[quantity] ?? []);
  const ours = of(entry.ours.side, entry.ours.of);
  if (ours.length === 0) {
    console.log(`  ${entry.name}: no round counts, the machine was slow in all ${own.length}`);
    return undefined;
  }
  const { peer } = entry;
  const chosen = peer && bestOf(peer, entry.unit, of);
  const values = peer === undefined || chosen === undefined ? [] : of(chosen, peer.of);
  const pairs = kept.flatMap(({ sides }) => {
    const [a, b] = [sides.get(entry.ours.side)?.[entry.ours.of], sides.get(chosen ?? "")?.[peer?.of ?? ""]];
    return a === undefined || b === undefined ? [] : [a / b];
  });
  const rate = (name: keyof Rates) => median(kept.map(({ rates }) => rates[name]));
  const rates = { gflops: rate("gflops"), gigabytes: rate("gigabytes") };
  const coresOf = (side: string) => {
    const known = of(side, "cores");
    return known.length === 0 ? null : median(known);
  };
  const result = {
    ...{ name: entry.name, unit: entry.unit, ours: median(ours) },
    peer: values.length === 0 ? null : median(values),
    peerName: values.length === 0 ? null : (peer?.name ?? names.get(chosen ?? "") ?? null),
    ratio: pairs.length === 0 ? null : median(pairs),
    limit: entry.limit?.(rates) ?? null,
    ...{
      ...rates,
      cores: coresOf(entry.ours.side),
      peerCores: chosen === undefined ? null : coresOf(chosen),
      load: loadavg()[0],
    },
    ...{ rounds: kept.length, setAside: own.length - kept.length },
  };
  return { entry, ours, peer: values, result };
}

/** The side of a peer with the best median: the highest of what is so much a second, else the lowest. */
function bestOf(
  { side, or = [], of: quantity }: NonNullable<Entry["peer"]>,
  unit: string,
  of: (side: string, quantity: string) => readonly number[],
): string | undefined {
  const sign = unit.endsWith("/s") ? 1 : -1;
  return [side, ...or]
    .flatMap((name) => {
      const values = of(name, quantity);
      return values.length === 0 ? [] : [{ name, value: sign * median(values) }];
    })
    .sort((a, b) => b.value - a.value)
    .at(0)?.name;
}
