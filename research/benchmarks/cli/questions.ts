import { existsSync } from "node:fs";
import { join } from "node:path";
import { Ledger } from "../../../extensions/judge/ledger.ts";
import { type FileRecord, openRecords } from "../../../extensions/tools/records.ts";
import { showDownload } from "../../../src/cli/download.ts";
import { groupBy } from "../../../src/core/group-by.ts";
import { mean } from "../../../src/core/mean.ts";
import { isScored } from "../../../src/core/outcome.ts";
import { responseOf } from "../../../src/environments/protocol.ts";
import { passAtK } from "../../../src/statistics/attempts.ts";
import { meanInterval } from "../../../src/statistics/intervals.ts";
import { count, interval, plural, table } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { decodingsOf, episodesOf, isEvaluation } from "../../../src/training/evaluation/folder.ts";
import { researchProtocol } from "../../arpo-protocol/protocol.ts";
import { defaultBenchmarkFolder, readBenchmark } from "../benchmarks.ts";
import { fetchBenchmark } from "../data/fetch.ts";
import type { Question } from "../questions.ts";
import { type AnswerVerdict, judgePrediction, scorePrediction, scoreReward } from "../score.ts";
import { type BenchmarkName, benchmarks } from "../table.ts";
import type { DataCommand, FileCommand, FileFlags } from "./flags.ts";
import { openJudge } from "./judge.ts";
import { judgeOf } from "./judge-flags.ts";

/** Downloads the questions of a benchmark, verified by their checksums. */
export function downloadQuestions(name: BenchmarkName): DataCommand {
  return async ({ data, from }, output) => {
    const folder = data ?? defaultBenchmarkFolder();
    const { file, origin } = await showDownload(name, output, (onEvent) =>
      fetchBenchmark({
        ...{ name, folder, onEvent },
        ...(from === undefined ? {} : { from }),
      }),
    );
    output.line(
      `${plural(origin.questions, "question")} of ${origin.address} at ${origin.revision.slice(0, 12)}; all checksums are right`,
    );
    output.line(`${file}  SHA-256 ${origin.sha256}`);
    return 0;
  };
}

/** Scores predictions of one of ARPO's benchmarks: a verdict for each line, then means with 95 % intervals over questions. */
export function scoreQuestions(name: BenchmarkName): FileCommand {
  return async (file, { data, anyVersion, ...flags }, output, notes) => {
    const settings = judgeOf(flags, process.env);
    const folder = isEvaluation(file) ? file : undefined;
    const ledger = folder === undefined ? undefined : new Ledger(join(folder, "judge.jsonl"));
    const judge = settings === undefined ? undefined : openJudge(settings, ledger);
    const questions = await questionsOf(name, data, anyVersion === true);
    const { ability } = benchmarks[name];
    const records = folder === undefined ? await openRecords(file).read() : evaluatedRecords(folder);
    const verdicts =
      judge === undefined
        ? records.map((record) => scorePrediction(record, ability, questions))
        : await Promise.all(records.map((record) => judgePrediction(record, ability, questions, judge)));
    for (const verdict of verdicts) output.line(JSON.stringify(verdict));
    for (const line of summaryLines(name, verdicts)) notes.line(line);
    for (const line of coverageLines(verdicts, questions)) notes.line(line);
    return 0;
  };
}

/** The responses of an evaluation's episodes but those that an error ended: the sampled ones where it has both decodings. */
function evaluatedRecords(folder: string): FileRecord[] {
  const decoding = decodingsOf(folder).includes("sampled") ? "sampled" : "greedy";
  const { write } = researchProtocol({ kind: "evaluation" }).continuation;
  return episodesOf(folder, decoding)
    .filter(isScored)
    .map(({ id, task, messages }) => ({
      where: `${folder}: ${id}`,
      value: { id: task.slice(task.lastIndexOf("/") + 1), output: responseOf(messages, write) },
    }));
}

/** Scores responses by ARPO's training reward. */
export async function scoreRewards(file: string, _flags: FileFlags, output: Screen, notes: Screen): Promise<number> {
  const records = await openRecords(file).read();
  for (const record of records) output.line(JSON.stringify(scoreReward(record)));
  notes.line(
    `Scored ${plural(records.length, "response")} by ARPO's reward: -1 for a wrong format, else token F1, with 0.1 for both tools.`,
  );
  return 0;
}

/** Names questions without predictions, and unequal numbers of runs. */
function coverageLines(verdicts: readonly AnswerVerdict[], questions: ReadonlyMap<string, Question> | undefined): string[] {
  const runs = new Map<string, number>();
  for (const { id } of verdicts) runs.set(id, (runs.get(id) ?? 0) + 1);
  const all = new Set([...(questions?.values() ?? [])].map(({ question }) => question));
  const missing = [...all].filter((question) => !runs.has(question)).length;
  const [fewest, most] = [Math.min(...runs.values()), Math.max(...runs.values())];
  return [
    ...(missing === 0
      ? []
      : [`${count(missing)} of ${plural(all.size, "question")} of the file have no prediction, and are not in the means.`]),
    ...(runs.size === 0 || fewest === most ? [] : [`Questions have between ${fewest} and ${most} predictions.`]),
  ];
}

/** Undefined where no folder is named and the usual one has no such file. */
async function questionsOf(
  name: BenchmarkName,
  data: string | undefined,
  anyVersion: boolean,
): Promise<ReadonlyMap<string, Question> | undefined> {
  const folder = data ?? defaultBenchmarkFolder();
  if (data === undefined && !existsSync(folder)) return undefined;
  const questions = await readBenchmark(name, folder, "--data", { anyVersion });
  return new Map(
    questions.flatMap((question, i) => [
      [String(i), question],
      [question.question, question],
    ]),
  );
}

const metricNames = ["em", "acc", "f1", "math_equal"] as const;

function summaryLines(name: BenchmarkName, verdicts: readonly AnswerVerdict[]): string[] {
  if (verdicts.length === 0) return ["There are no predictions."];
  const groups = [...groupBy(verdicts, ({ id }) => id).values()];
  const runs = Math.min(...groups.map((group) => group.length));
  const over = (of: (group: readonly AnswerVerdict[]) => number) =>
    interval(meanInterval(groups.map(of), { seed: 0, range: [0, 1] }));
  const headline = benchmarks[name].ability === "math" ? "math_equal" : "f1";
  const judged = verdicts.some((verdict) => verdict.judge !== undefined);
  const score = judged ? "llm_equal" : headline;
  const rows = [...metricNames, ...(judged ? (["llm_equal"] as const) : [])].map((metric) => [
    metric === score ? `${metric} (score)` : metric,
    over((group) => mean(group.map((verdict) => verdict[metric] ?? 0))),
  ]);
  const right = judged ? "llm_equal" : headline === "f1" ? "em" : headline;
  const unusable = verdicts.filter(({ judge }) => judge === "unusable").length;
  const passes =
    runs < 2
      ? []
      : [
          [
            `pass@${runs} (${right})`,
            over((group) => passAtK(group.length, group.filter((verdict) => verdict[right] === 1).length, runs)),
          ],
        ];
  return [
    `${name}: ${plural(groups.length, "question")}, ${count(verdicts.length)} predictions, ${judged ? "by a judge" : "no judge"}; 95 % intervals over questions`,
    ...table([["metric", "mean"], ...rows, ...passes]),
    ...(unusable === 0
      ? []
      : [`The judge gave no usable reply about ${plural(unusable, "answer")}: there math_equal alone counts.`]),
  ];
}
