import { ConfigError } from "../../../src/core/errors.ts";
import { didYouMean } from "../../../src/core/settings.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { type BenchmarkName, benchmarks } from "../table.ts";
import type { DataCommand, DataFlags, FileCommand, FileFlags } from "./flags.ts";

/** `npm run research -- replay NAME FILE`: benchmarks whose call sequences can be executed. Loaded when asked for. */
const replays: Readonly<Record<string, () => Promise<FileCommand>>> = {
  bfcl: async () => (await import("./bfcl.ts")).replayBfcl,
};

const questionBenchmarks = Object.keys(benchmarks) as BenchmarkName[];

/** `npm run research -- score NAME FILE`: benchmarks whose predictions can be scored. */
const scorers: Readonly<Record<string, () => Promise<FileCommand>>> = {
  bfcl: async () => (await import("./bfcl.ts")).scoreBfcl,
  ...(Object.fromEntries(
    questionBenchmarks.map((name) => [name, async () => (await import("./questions.ts")).scoreQuestions(name)]),
  ) as Readonly<Record<string, () => Promise<FileCommand>>>),
  "arpo-reward": async () => (await import("./questions.ts")).scoreRewards,
};

/** `npm run research -- data NAME`: data that can be downloaded. */
const downloads: Readonly<Record<string, () => Promise<DataCommand>>> = {
  bfcl: async () => (await import("./bfcl.ts")).downloadBfcl,
  ...(Object.fromEntries(
    questionBenchmarks.map((name) => [name, async () => (await import("./questions.ts")).downloadQuestions(name)]),
  ) as Readonly<Record<string, () => Promise<DataCommand>>>),
};

function find<T>(command: string, table: Readonly<Record<string, () => Promise<T>>>, name: string): Promise<T> {
  const load = Object.hasOwn(table, name) ? table[name] : undefined;
  if (load !== undefined) return load();
  const names = Object.keys(table);
  throw new ConfigError(`name of ${command}`, name, { expected: names, hint: didYouMean(name, names) });
}

export async function replayCommand(
  name: string,
  file: string,
  flags: FileFlags,
  output: Screen,
  notes: Screen,
): Promise<number> {
  return (await find("replay", replays, name))(file, flags, output, notes);
}

export async function scoreCommand(name: string, file: string, flags: FileFlags, output: Screen, notes: Screen): Promise<number> {
  return (await find("score", scorers, name))(file, flags, output, notes);
}

export async function dataCommand(name: string, flags: DataFlags, output: Screen): Promise<number> {
  return (await find("data", downloads, name))(flags, output);
}
