import { createInterface } from "node:readline";
import type { Quantities } from "../side.ts";

/**
 * How a side talks to the benchmark: one line of JSON when it is ready, then one measured round for every line it reads.
 * `work` has run once before, untimed, where there is something to warm up.
 */
export async function answerRounds(name: string, work: (request: string) => Promise<Quantities> | Quantities): Promise<void> {
  console.log(JSON.stringify({ name }));
  for await (const request of createInterface({ input: process.stdin })) console.log(JSON.stringify(await work(request)));
}

/** Repeats work for at least a second. @returns seconds per call */
export async function secondsPerCall(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  for (let calls = 1; ; calls++) {
    await work();
    const seconds = (performance.now() - start) / 1000;
    if (seconds >= 1) return seconds / calls;
  }
}

/** The most memory that this process has held so far, in MB: what the operating system counts as resident. */
export function peakMegabytes(): number {
  return process.resourceUsage().maxRSS / 1024;
}
