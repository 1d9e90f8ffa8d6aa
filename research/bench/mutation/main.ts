/**
 * The mutation score of a random sample: `RETROGRADE_STRYKER="$(./.ci/stryker)" npx jiti research/bench/mutation/main.ts --out FOLDER`.
 * Each mutant changes one place of one file and is run against the tests that pass this place: with others in one process, and once more in a
 * process of its own if it survives that, and at last against the types. Continues where it was stopped.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { proportionInterval } from "../../../src/statistics/intervals.ts";
import { applyMutant, drawMutants, keyOf, type Mutant, mutantsOf } from "./mutants.ts";
import { filesBelow, makeSandbox, refusedByTypes, runVitest } from "./sandbox.ts";
import { type Covering, type Judged, judgeTogether } from "./schemata.ts";

interface Options {
  readonly out: string;
  readonly folders: readonly string[];
  readonly tests: readonly string[];
  readonly count: number;
  readonly seed: number;
  readonly budget: number;
  readonly again?: boolean;
}

/** "refused": no test fails, but TypeScript does, as it would in `npm test`. */
const statuses = ["killed", "timed out", "refused", "survived", "not covered"] as const;
type Status = (typeof statuses)[number];

interface Result {
  readonly key: string;
  readonly folder: string;
  readonly kind: string;
  readonly status: Status;
  /** Tests that ran, and those that the budget left out. */
  readonly tests: number;
  readonly leftOut: number;
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const isSource = (name: string) => name.endsWith(".ts") && !/\.(?:test|fixture|test-d)\.ts$/.test(name);
const isTest = (name: string) => name.endsWith(".test.ts") && !/\.(?:contract|slow)\.test\.ts$/.test(name);
const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
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
  report(folders, [...readResults(resultsFile).values()]);
}

/** Judges a mutant that is still open in processes of its own: by the tests beside the file first, then by the others. */
async function judge(sandbox: string, mutant: Mutant, known: Judged | undefined, budget: number): Promise<Result> {
  const { status: before, covering } = known ?? { status: "open", covering: [] };
  const source = readFileSync(join(sandbox, mutant.file), "utf8");
  const chosen = withinBudget(covering, budget);
  const counts = { tests: chosen.length, leftOut: covering.length - chosen.length };
  const result = (status: Status): Result => ({
    key: keyOf(mutant),
    folder: mutant.file.slice(0, mutant.file.indexOf("/")),
    kind: mutant.kind,
    status,
    ...counts,
  });
  if (before !== "open") return result(before);
  writeFileSync(join(sandbox, mutant.file), applyMutant(source, mutant));
  try {
    const isNear = ({ file }: Covering) => dirname(file) === dirname(mutant.file);
    for (const part of [chosen.filter(isNear), chosen.filter((test) => !isNear(test))]) {
      if (part.length === 0) continue;
      const names = `^(?:${[...new Set(part.map(({ name }) => name))].map(literally).join("|")})$`;
      const usual = part.reduce((sum, { seconds }) => sum + seconds, 0);
      const args = ["--bail=1", "-t", names, ...new Set(part.map(({ file }) => file))];
      const { status } = await runVitest(sandbox, args, 30 + 5 * usual);
      if (status !== "passed") return result(status === "failed" ? "killed" : "timed out");
    }
    return result((await refusedByTypes(sandbox)) ? "refused" : chosen.length === 0 ? "not covered" : "survived");
  } finally {
    writeFileSync(join(sandbox, mutant.file), source);
  }
}

function withinBudget(covering: readonly Covering[], budget: number): Covering[] {
  let seconds = 0;
  const byLength = [...covering].sort((a, b) => a.seconds - b.seconds);
  return byLength.filter((test, i) => {
    seconds += test.seconds;
    return i === 0 || seconds <= budget;
  });
}

function report(folders: readonly string[], results: readonly Result[]): void {
  for (const folder of [...folders, ""]) {
    const own = results.filter((result) => result.folder.startsWith(folder));
    if (own.length === 0) continue;
    const counts = statuses.map((status) => `${own.filter((result) => result.status === status).length} ${status}`);
    const noticed = own.filter(isNoticed).length;
    const { low, high } = proportionInterval(noticed, own.length);
    console.log(
      `${(folder || "all").padEnd(20)} ${own.length} mutants: ${counts.join(", ")}; score ${percent(noticed / own.length)} ` +
        `[${percent(low)}, ${percent(high)}]`,
    );
  }
}

function isNoticed({ status }: Result): boolean {
  return status !== "survived" && status !== "not covered";
}

/** Returns the last result of each mutant. */
function readResults(file: string): Map<string, Result> {
  if (!existsSync(file)) return new Map();
  const lines = readFileSync(file, "utf8").trim().split("\n").filter(Boolean);
  return new Map(lines.map((line) => JSON.parse(line) as Result).map((result) => [result.key, result]));
}

async function once<T>(file: string, make: () => Promise<T>): Promise<T> {
  if (!existsSync(file)) writeFileSync(file, JSON.stringify(await make()));
  return JSON.parse(readFileSync(file, "utf8")) as T;
}

function positiveInteger(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError("Expected a whole number above 0.");
  return Number(text);
}
