import { existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { acts } from "../../src/core/acts.ts";
import { ConfigError } from "../../src/core/errors.ts";
import { parseSettings } from "../../src/core/settings.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { type PromptKind, promptKinds } from "../arpo-protocol/prompt.ts";
import { verifyQuestions } from "./data/verify.ts";
import { deepResearchEnvironment, type QuestionTask } from "./deep-research.ts";
import { openQuestions, type Question } from "./questions.ts";
import { deepResearchSettingsSchema } from "./settings.ts";
import type { Benchmark, BenchmarkName } from "./table.ts";
import { benchmarks } from "./table.ts";

/** ARPO's inference takes at most the first 500 questions of a file, in its order. */
const maxQuestions = 500;

/** Where the questions are looked for if no folder is named. */
export function defaultBenchmarkFolder(): string {
  return join(homedir(), ".cache", "retrograde", "benchmarks");
}

/**
 * Finds a benchmark's file.
 * @param data the file, or a folder of files
 * @throws ConfigError where there is none, naming the names that were looked for
 */
export function benchmarkFile(name: BenchmarkName, data: string, setting: string): string {
  if (existsSync(data) && statSync(data).isFile()) return data;
  const { files }: Benchmark = benchmarks[name];
  const found = files.map((file) => join(data, file)).find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new ConfigError(setting, data, {
    expected: `a folder with ${files.join(", ")}, or the file itself`,
    hint:
      `The questions are not part of this package: \`npm run research -- data ${name}\` downloads them from ARPO's repository or the benchmark's own data set` +
      `${name === "math" ? "; math500 is a subset of MATH" : ""}.`,
  });
}

/**
 * Reads a benchmark's questions, at most the first 500.
 * @param data the file, or a folder of files
 * @param options.anyVersion reads a file of another version than the known ones, too
 * @throws ConfigError if there is no such file, or no question in it
 * @throws EnvError if it is of another version
 */
export async function readBenchmark(
  name: BenchmarkName,
  data: string,
  setting: string,
  { anyVersion }: { readonly anyVersion: boolean },
): Promise<readonly Question[]> {
  const file = benchmarkFile(name, data, setting);
  if (!anyVersion) verifyQuestions(name, file);
  return (await openQuestions(file, setting).read()).slice(0, maxQuestions);
}

export const benchmarkSettingsSchema = deepResearchSettingsSchema.omit({ data: true, protocol: true }).extend({
  /** The folder with the benchmarks' files, or the file. */
  data: acts.reads(z.string().min(1)).optional(),
  /** Reads a file of another version than the known ones, too. */
  anyVersion: z.boolean().default(false),
  protocol: z.enum(["training", "evaluation"]).default("evaluation"),
  prompt: z.enum(promptKinds).optional(),
});

/** ARPO asks xbench in Chinese, and all others with both tools. */
function promptOf(name: BenchmarkName): PromptKind {
  return name === "xbench" ? "code-search-zh" : "code-search";
}

/**
 * A benchmark as an environment with a test split alone: ARPO's evaluation protocol (ten searches and five Python calls), its prompt, its metrics, its first 500 questions.
 * @throws ConfigError naming the first setting that is wrong, or the file that is missing
 */
export function benchmarkEnvironment(name: BenchmarkName, userSettings: unknown): Environment<QuestionTask> {
  const {
    data = defaultBenchmarkFolder(),
    anyVersion,
    prompt = promptOf(name),
    ...settings
  } = parseSettings(benchmarkSettingsSchema, userSettings, "environment.settings");
  const { ability } = benchmarks[name];
  const test = benchmarkFile(name, data, "environment.settings.data");
  if (!anyVersion) verifyQuestions(name, test);
  const environment = deepResearchEnvironment({ ...settings, ability, data: { test }, prompt });
  return {
    ...environment,
    name,
    size: async (split) => Math.min(maxQuestions, await environment.size(split)),
  };
}
