/**
 * `npx jiti bench/report.ts FILE...`: results of `npm run bench -- --json FILE` as a table in Markdown. Of several files it gives
 * medians with the lowest and the highest; the ratio is that of each file, then the median of these.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { makeBenchmarks, meets, type Target } from "./benchmarks.ts";
import { figure, median, spread } from "./statistics.ts";

const resultSchema = z.strictObject({
  name: z.string(),
  unit: z.string(),
  ours: z.number(),
  peer: z.number().nullable(),
  peerName: z.string().nullable(),
  ratio: z.number().nullable(),
});

const files = process.argv.slice(2).map((file) => z.array(resultSchema).parse(JSON.parse(readFileSync(file, "utf8"))));
const entries = makeBenchmarks({ folder: "", officeModel: "", threads: 1 }).flatMap((benchmark) => benchmark.entries);

console.log("| measurement | unit | ours | peer | ours / peer | target | peer is |");
console.log("|---|---|---|---|---|---|---|");
for (const { name, target, peer } of entries) {
  const results = files.flatMap((file) => file.filter((result) => result.name === name));
  if (results.length === 0) continue;
  const known = (values: readonly (number | null)[]) => values.filter((value) => value !== null);
  const peers = known(results.map(({ peer }) => peer));
  const ratios = known(results.map(({ ratio }) => ratio));
  const cells = [
    name,
    results[0].unit,
    spread(results.map(({ ours }) => ours)),
    peers.length === 0 ? "–" : spread(peers),
    ratios.length === 0 ? "–" : spread(ratios),
    target === undefined ? "reported" : verdict(target, peer === undefined ? results.map(({ ours }) => ours) : ratios),
    results.find(({ peerName }) => peerName !== null)?.peerName ?? "–",
  ];
  console.log(`| ${cells.join(" | ")} |`);
}

/** The target, and whether the median meets it. @param values ratios, or ours where there is no peer */
function verdict(target: Target, values: readonly number[]): string {
  const text = "atLeast" in target ? `≥ ${figure(target.atLeast)}` : `≤ ${figure(target.atMost)}`;
  return values.length === 0 ? text : `${text}, ${meets(target, median(values)) ? "met" : "missed"}`;
}
