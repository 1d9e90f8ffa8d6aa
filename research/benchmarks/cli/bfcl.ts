import { EnvError } from "../../../src/core/errors.ts";
import { count, percent, plural, table } from "../../../src/terminal/format.ts";
import { quoted } from "../../../src/terminal/invocation.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { downloadData } from "../../bfcl/download.ts";
import { type Evaluator, openEvaluator, pythonOf } from "../../bfcl/evaluator/evaluator.ts";
import { defaultFolder, publicSource } from "../../bfcl/files.ts";
import { readRecords } from "../../bfcl/records.ts";
import { replayRecord } from "../../bfcl/replay.ts";
import { categoryScores, Scorer, type Share } from "../../bfcl/score.ts";
import { taskIndex } from "../../bfcl/tasks.ts";
import type { DataFlags, FileFlags } from "./flags.ts";

/** What the commands use, which a test replaces. */
interface Parts {
  readonly open: (python: string) => Evaluator;
  readonly tasks: typeof taskIndex;
  readonly download: typeof downloadData;
}
const real: Parts = { open: openEvaluator, tasks: taskIndex, download: downloadData };

/** Executes call sequences and prints each with its results and states, as one line of JSON. */
export async function replayBfcl(
  file: string,
  _flags: FileFlags,
  output: Screen,
  notes: Screen,
  { open }: Pick<Parts, "open"> = real,
): Promise<number> {
  let sequences = 0;
  await withEvaluator(open, async (evaluator) => {
    for await (const record of readRecords(file)) {
      output.line(await replayRecord(evaluator, record));
      sequences++;
    }
  });
  if (sequences === 0) throw emptyFile(file);
  notes.line(`Replayed ${plural(sequences, "call sequence")}.`);
  return 0;
}

/** Prints the checker's verdict on each prediction as one line of JSON, then two scores for each category. */
export async function scoreBfcl(
  file: string,
  { data }: FileFlags,
  output: Screen,
  notes: Screen,
  { open, tasks }: Pick<Parts, "open" | "tasks"> = real,
): Promise<number> {
  const scorer = await withEvaluator(open, async (evaluator) => {
    const scorer = new Scorer(evaluator, tasks(data ?? defaultFolder()));
    for await (const record of readRecords(file)) output.line(JSON.stringify(await scorer.score(record)));
    return scorer;
  });
  if (scorer.scored.length === 0) throw emptyFile(file);
  const scores = categoryScores(scorer.scored);
  const share = ({ passed, total }: Share) =>
    total === 0 ? "–" : `${percent(passed / total)} (${count(passed)}/${count(total)})`;
  const rows = scores.map(({ category, all, passable }) => [category, share(all), share(passable)]);
  for (const line of table([["category", "all predictions", "without unpassable tasks"], ...rows])) notes.line(line);
  notes.line(
    "Scores of BFCL v4's multi-turn categories. They are no BFCL v4 score: that one includes memory, web search and single-turn tasks.",
  );
  return 0;
}

async function withEvaluator<T>(open: Parts["open"], work: (evaluator: Evaluator) => Promise<T>): Promise<T> {
  const evaluator = open(pythonOf(undefined));
  try {
    return await work(evaluator);
  } finally {
    await evaluator.close();
  }
}

function emptyFile(file: string): EnvError {
  return new EnvError(file, "a file without a line", { expected: "at least one JSON object, each on a line of its own" });
}

/** Downloads the tasks, verified by their checksums. */
export async function downloadBfcl(
  { data, from }: DataFlags,
  output: Screen,
  { download }: Pick<Parts, "download"> = real,
): Promise<number> {
  const folder = data ?? defaultFolder();
  let fetched = 0;
  await download({
    folder,
    source: from ?? publicSource,
    onFile: (name, outcome) => {
      if (outcome === "downloaded") fetched++;
      output.line(`${outcome === "downloaded" ? "downloaded" : "there     "}  ${name}`);
    },
  });
  output.line(`${plural(fetched, "file")} downloaded; all checksums are right: ${quoted(folder)}`);
  return 0;
}
