import { ConfigError } from "../../../src/core/errors.ts";
import { errorsLine } from "../../../src/core/outcome.ts";
import { detectable, interval, plural, points, pText } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { acrossSeeds, compareOutcomes, differenceAcrossSeeds } from "../../../src/training/evaluation/compare.ts";
import { readProtocol } from "../protocol.ts";
import { type ProtocolComparison, pairedResults, type Results, readResults } from "../results.ts";

/** Compares result files of one protocol. @returns the exit code: 1 without a verdict @throws ConfigError, ProtocolError, MeasurementError */
export function compareCommand(
  file: string,
  files: readonly string[],
  flags: { readonly json?: boolean },
  screen: Screen,
): number {
  if (files.length % 2 !== 0)
    throw new ConfigError("results", files, { expected: "two files, or pairs of them: BEFORE AFTER BEFORE AFTER" });
  const protocol = readProtocol(file);
  const all = files.map((each) => readResults(each, protocol));
  const pairs = all.flatMap((first, i): [Results, Results][] => {
    const second = all[i + 1];
    return i % 2 === 0 && second !== undefined ? [[first, second]] : [];
  });
  const compared = pairedResults(pairs, protocol).map((each) => ({
    decoding: each.decoding,
    pairs: each.first.map((first, i) =>
      compareOutcomes(first, each.second[i] ?? first, protocol.sampling.seed, namesOf(pairs[i])),
    ),
    ...(pairs.length === 1 ? {} : over(each, protocol.sampling.seed)),
  }));
  if (flags.json === true) screen.line(JSON.stringify({ protocol: protocol.sha256, compared }, null, 2));
  else
    for (const { decoding, pairs: each, seeds } of compared) {
      for (const [i, { success, reward, counts, withheld }] of each.entries()) {
        const names = namesOf(pairs[i]);
        screen.line(`${decoding}: ${names.join(" → ")}`);
        if (success === undefined || reward === undefined) screen.line(`  ${withheld}`);
        else {
          screen.line(`  success ${points(success.difference)}, ${pText(success.pValue)}, ${detectable(success.smallest, true)}`);
          screen.line(`  ${plural(success.better, "task")} better, ${success.worse} worse of ${success.tasks}`);
        }
        const errors = errorsLine(counts, names);
        if (errors !== undefined) screen.line(`  ${errors}`);
      }
      if (seeds === undefined) continue;
      const { before, after, change } = seeds;
      screen.line(`${decoding}, ${plural(change.seeds, "pair")}: ${interval(before.success)} → ${interval(after.success)}`);
      screen.line(`  success ${points(change.success)} over pairs and tasks`);
    }
  return compared.some((each) => each.pairs.some(({ withheld }) => withheld !== undefined)) ? 1 : 0;
}

function over({ first, second }: ProtocolComparison, seed: number) {
  return {
    seeds: {
      before: acrossSeeds(first, seed),
      after: acrossSeeds(second, seed),
      change: differenceAcrossSeeds(first, second, seed),
    },
  };
}

const namesOf = (pair: readonly [Results, Results] | undefined): [string, string] => [pair?.[0].file ?? "", pair?.[1].file ?? ""];
