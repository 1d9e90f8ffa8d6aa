/**
 * The mutation score of a random sample: `RETROGRADE_STRYKER="$(./.ci/stryker)" npx jiti research/bench/mutation/main.ts --out FOLDER`.
 * Each mutant changes one place of one file and is run against the tests that pass this place: with others in one process, and once more in a
 * process of its own if it survives that, and at last against the types. Continues where it was stopped.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { isNoticed, isSource, isTest, judge, readResults, scoreLines } from "./judge.ts";
import { drawMutants, keyOf, mutantsOf } from "./mutants.ts";
import { filesBelow, makeSandbox } from "./sandbox.ts";
import { judgeTogether } from "./schemata.ts";

interface Options {
  readonly out: string;
  readonly folders: readonly string[];
  readonly tests: readonly string[];
  readonly count: number;
  readonly seed: number;
  readonly budget: number;
  readonly again?: boolean;
}

const root = join(import.meta.dirname, "../../..");
const rings = ["src", "extensions", "entries", "research"];
const options = new Command("npx jiti research/bench/mutation/main.ts")
  .requiredOption(
    "--out <folder>",
    "outside of the project: the sample, the tests of each mutant, results and a copy of the project",
  )
  .option("--folders <names...>", "sources to change", rings)
  .option("--tests <names...>", "folders and files of tests", [...rings, "test"])
  .option("--count <n>", "mutants of the sample, drawn from all folders together", positiveInteger, 80)
  .option("--seed <n>", "of the sample", positiveInteger, 1)
  .option("--budget <seconds>", "tests of a mutant, as long as they took without it, the shortest first", positiveInteger, 60)
  .option("--again", "run those that survived once more, with the tests of today")
  .parse()
  .opts<Options>();

const stryker = process.env.RETROGRADE_STRYKER;
if (stryker === undefined) throw new Error('Set RETROGRADE_STRYKER="$(./.ci/stryker)".');
await main(resolve(options.out), stryker, options);

async function main(out: string, stryker: string, { folders, tests, count, seed, budget, again }: Options): Promise<void> {
  mkdirSync(out, { recursive: true });
  const resultsFile = join(out, "results.jsonl");
  const sample = await once(join(out, "sample.json"), async () => {
    const files = folders.flatMap((folder) => filesBelow(root, folder, isSource));
    const all = await mutantsOf(stryker, root, files);
    const drawn = drawMutants(all, count, seed);
    console.log(`${files.length} files, ${all.length} mutants, ${drawn.length} drawn`);
    return drawn;
  });
  const sandbox = join(out, "project");
  makeSandbox(root, sandbox);
  const before = readResults(resultsFile);
  const todo = sample.filter((mutant) => {
    const result = before.get(keyOf(mutant));
    return again === true ? result !== undefined && !isNoticed(result) : result === undefined;
  });
  const files = tests.flatMap((name) => (name.endsWith(".ts") ? [name] : filesBelow(root, name, isTest)));
  const lines = join(out, again === true ? `lines-${Date.now()}.jsonl` : "lines.jsonl");
  const together = await judgeTogether(stryker, root, sandbox, again === true ? todo : sample, files, lines, budget);
  for (const mutant of todo) {
    const result = await judge(sandbox, mutant, together.get(keyOf(mutant)), budget);
    appendFileSync(resultsFile, `${JSON.stringify(result)}\n`);
    if (!isNoticed(result))
      console.log(`${result.status}: ${result.kind} ${result.key} (${result.tests} tests, ${result.leftOut} left out)`);
  }
  for (const line of scoreLines(folders, [...readResults(resultsFile).values()])) console.log(line);
}

async function once<T>(file: string, make: () => Promise<T>): Promise<T> {
  if (!existsSync(file)) writeFileSync(file, JSON.stringify(await make()));
  return JSON.parse(readFileSync(file, "utf8")) as T;
}

function positiveInteger(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError("Expected a whole number above 0.");
  return Number(text);
}
