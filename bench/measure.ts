import type { Benchmark, Entry, Source } from "./benchmarks.ts";
import { isPython, type Quantities, type Side, startSide } from "./side.ts";
import { median } from "./statistics.ts";

/** One line of the table, of several rounds. `peer`, `peerName` and `ratio` are null where there is no peer, or no Python for it. */
export interface Result {
  readonly name: string;
  readonly unit: string;
  readonly ours: number;
  readonly peer: number | null;
  readonly peerName: string | null;
  readonly ratio: number | null;
}

export interface Measured {
  readonly entry: Entry;
  readonly result: Result;
  /** One number for each round. */
  readonly ours: readonly number[];
  readonly peer: readonly number[];
}

/**
 * Alternates rounds of all sides, so that what else the machine does meets them alike; each idles while another runs.
 * @param python undefined: without the peers that need it
 */
export async function measure({ sides, entries }: Benchmark, runs: number, python: string | undefined): Promise<Measured[]> {
  const running = new Map<string, Side>();
  const told = new Map<string, Quantities[]>();
  const requests = new Set(entries.map(({ request }) => request));
  const asked = (side: string, request: string) =>
    entries.some(({ ours, peer, request: own }) => own === request && (ours.side === side || peer?.side === side));
  try {
    for (const [name, program] of Object.entries(sides))
      if (!isPython(program)) running.set(name, await startSide(program, python));
      else if (python !== undefined) {
        // A peer may lack a package, or a compiler: the others are measured without it.
        const side = await startSide(program, python).catch((error: Error) => console.log(`  without ${name}: ${error.message}`));
        if (side) running.set(name, side);
      }
    for (let round = 0; round < runs; round++)
      for (const request of requests)
        for (const [name, side] of running) {
          if (round >= (sides[name].rounds ?? runs) || !asked(name, request)) continue;
          const key = keyOf(name, request);
          told.set(key, [...(told.get(key) ?? []), await side.round(request)]);
        }
  } finally {
    await Promise.all([...running.values()].map((side) => side.stop()));
  }
  return entries.map((entry) => {
    const numbers = ({ side, of }: Source) => (told.get(keyOf(side, entry.request)) ?? []).map((quantities) => quantities[of]);
    const [ours, peer] = [numbers(entry.ours), entry.peer === undefined ? [] : numbers(entry.peer)];
    const peerName = entry.peer?.name ?? running.get(entry.peer?.side ?? "")?.name ?? null;
    return { entry, ours, peer, result: resultOf(entry, ours, peer, peerName) };
  });
}

function resultOf({ name, unit }: Entry, ours: readonly number[], peer: readonly number[], peerName: string | null): Result {
  const alone = { name, unit, ours: median(ours), peer: null, peerName: null, ratio: null };
  if (peer.length === 0) return alone;
  return { ...alone, peer: median(peer), peerName, ratio: median(ours) / median(peer) };
}

function keyOf(side: string, request: string): string {
  return `${side}\n${request}`;
}
