import { ConfigError } from "../../../src/core/errors.ts";
import { didYouMean } from "../../../src/core/settings.ts";
import { count, percent, plural, table } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { benchmarkFile, defaultBenchmarkFolder, readBenchmark } from "../benchmarks.ts";
import { findLeaks, type LeakReport, type TrainingText } from "../data/leaks.ts";
import { openQuestions } from "../questions.ts";
import { type BenchmarkName, benchmarks } from "../table.ts";

export interface DataCheckFlags {
  /** Files of training data. */
  readonly train: readonly string[];
  /** Benchmarks. Default: those whose files are there. */
  readonly against?: readonly string[];
  readonly data?: string;
  readonly ngram?: string;
  readonly json?: boolean;
}

/** Shows a few places of each benchmark; the others are in the JSON. */
const maxShown = 3;

/** Prints which questions of benchmarks are in training data. @returns the exit code */
export async function dataCheckCommand(flags: DataCheckFlags, screen: Screen): Promise<number> {
  const { train, against, data = defaultBenchmarkFolder(), ngram: words = "8", json } = flags;
  const ngram = Number(words);
  if (!Number.isInteger(ngram) || ngram < 2) throw new ConfigError("--ngram", words, { expected: "a whole number from 2 on" });
  const names = against?.map(benchmarkNamed) ?? present(data);
  const training: TrainingText[] = [];
  for (const file of train)
    for (const [i, { question }] of (await openQuestions(file, "--train").read()).entries())
      training.push({ where: `${file}, record ${i}`, text: question });
  const reports: Record<string, LeakReport> = {};
  for (const name of names) {
    const questions = await readBenchmark(name, data, "--data", { anyVersion: true });
    const texts = questions.map(({ question }) => question);
    reports[name] = findLeaks(training, texts, { ngram });
  }
  if (json === true) {
    screen.line(JSON.stringify({ training: training.length, ngram, benchmarks: reports }, null, 2));
    return 0;
  }
  screen.line(
    `${plural(training.length, "training question")} against ${plural(names.length, "benchmark")}, sequences of ${ngram} words`,
  );
  const rows = Object.entries(reports).map(([name, { questions, exact, overlapping, short }]) => [
    name,
    count(questions),
    count(exact.length),
    count(overlapping.length),
    count(short),
  ]);
  for (const line of table([["benchmark", "questions", "the same", "half or more shared", "too short for sequences"], ...rows]))
    screen.line(line);
  for (const [name, { exact, overlapping }] of Object.entries(reports))
    for (const { question, where, share } of [...exact, ...overlapping].slice(0, maxShown))
      screen.line(`${name} question ${question}: ${share === 1 ? "in" : `${percent(share)} in`} ${where}`);
  const leaking = Object.entries(reports).filter(([, { exact, overlapping }]) => exact.length + overlapping.length > 0);
  screen.line(
    leaking.length === 0
      ? "No question was found. Other wordings and translations are not seen by this check."
      : `Take these records out of training, or do not report ${leaking.map(([name]) => name).join(", ")} as unseen. --json has all places.`,
  );
  return 0;
}

function benchmarkNamed(name: string): BenchmarkName {
  const names = Object.keys(benchmarks) as BenchmarkName[];
  const found = names.find((each) => each === name);
  if (found !== undefined) return found;
  throw new ConfigError("--against", name, { expected: names, hint: didYouMean(name, names) });
}

/** Benchmarks whose files are there. @throws ConfigError if there are none */
function present(data: string): BenchmarkName[] {
  const found = (Object.keys(benchmarks) as BenchmarkName[]).filter((name) => {
    try {
      return benchmarkFile(name, data, "--data") !== data;
    } catch (error) {
      if (error instanceof ConfigError) return false;
      throw error;
    }
  });
  if (found.length > 0) return found;
  throw new ConfigError("--data", data, {
    expected: "a folder with files of benchmarks",
    hint: "`npm run research -- data NAME` downloads them; --against names the benchmark of a single file.",
  });
}
