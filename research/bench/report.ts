/**
 * `npx jiti research/bench/report.ts FILE...`: results of `npm run bench -- --json FILE` as a table in Markdown. Of several files it gives
 * medians with the lowest and the highest; the ratio is that of each file, then the median of these.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { makeBenchmarks, meets, nowhere, type Target } from "./benchmarks.ts";
import { figure, median, spread } from "./statistics.ts";

const known = z.number().nullable();
const resultSchema = z.strictObject({
  name: z.string(),
  unit: z.string(),
  ours: z.number(),
  peer: known,
  peerName: z.string().nullable(),
  ratio: known,
  limit: known,
  ...{ gflops: z.number(), gigabytes: z.number(), rounds: z.number(), setAside: z.number() },
  ...{ cores: known, peerCores: known, load: z.number() },
});
const fileSchema = z.strictObject({ machine: z.string(), results: z.array(resultSchema) });

const parsed = process.argv.slice(2).map((file) => fileSchema.parse(JSON.parse(readFileSync(file, "utf8"))));
const files = parsed.map(({ results }) => results);
for (const machine of new Set(parsed.map(({ machine }) => machine))) console.log(`Machine: ${machine}\n`);
const entries = makeBenchmarks(nowhere).flatMap((benchmark) => benchmark.entries);

console.log("| measurement | unit | ours | peer | limit | ours / peer | target | cores | GFLOP/s, load | peer is |");
console.log("|---|---|---|---|---|---|---|---|---|---|");
for (const { name, target, peer } of entries) {
  const results = files.flatMap((file) => file.filter((result) => result.name === name));
  if (results.length === 0) continue;
  const given = (values: readonly (number | null)[]) => values.filter((value) => value !== null);
  const shown = (values: readonly number[]) => (values.length === 0 ? "–" : spread(values));
  const peers = given(results.map(({ peer: value }) => value));
  const ratios = given(results.map(({ ratio }) => ratio));
  const cells = [
    name,
    results[0].unit,
    spread(results.map(({ ours }) => ours)),
    shown(peers),
    shown(given(results.map(({ limit }) => limit))),
    shown(ratios),
    target === undefined ? "reported" : verdict(target, peer === undefined ? results.map(({ ours }) => ours) : ratios),
    [results.map(({ cores }) => cores), results.map(({ peerCores }) => peerCores)].map((of) => shown(given(of))).join(" / "),
    `${shown(results.map(({ gflops }) => gflops))}, ${shown(results.map(({ load }) => load))}`,
    results.find(({ peerName }) => peerName !== null)?.peerName ?? "–",
  ];
  console.log(`| ${cells.join(" | ")} |`);
}

/** The target, and whether the median meets it. @param values ratios, or ours where there is no peer */
function verdict(target: Target, values: readonly number[]): string {
  const text = "atLeast" in target ? `≥ ${figure(target.atLeast)}` : `≤ ${figure(target.atMost)}`;
  return values.length === 0 ? text : `${text}, ${meets(target, median(values)) ? "met" : "missed"}`;
}
