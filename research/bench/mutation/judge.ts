import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { proportionInterval } from "../../../src/statistics/intervals.ts";
import { applyMutant, keyOf, type Mutant } from "./mutants.ts";
import { refusedByTypes, runVitest } from "./sandbox.ts";
import type { Covering, Judged } from "./schemata.ts";

/** "refused": no test fails, but TypeScript does, as it would in `npm test`. */
const statuses = ["killed", "timed out", "refused", "survived", "not covered"] as const;
type Status = (typeof statuses)[number];

export interface Result {
  readonly key: string;
  readonly folder: string;
  readonly kind: string;
  readonly status: Status;
  /** Tests that ran, and those that the budget left out. */
  readonly tests: number;
  readonly leftOut: number;
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

export const isSource = (name: string) => name.endsWith(".ts") && !/\.(?:test|fixture|test-d)\.ts$/.test(name);
export const isTest = (name: string) => name.endsWith(".test.ts") && !/\.(?:contract|slow)\.test\.ts$/.test(name);

/** Judges a mutant that is still open in processes of its own: by the tests beside the file first, then by the others. */
export async function judge(
  sandbox: string,
  mutant: Mutant,
  known: Judged | undefined,
  budget: number,
  run = { vitest: runVitest, types: refusedByTypes },
): Promise<Result> {
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
    for (const part of [chosen.filter(isNear), chosen.filter((test) => !isNear(test))].flatMap(inCommands)) {
      const names = `^(?:${[...new Set(part.map(({ name }) => name))].map(literally).join("|")})$`;
      const usual = part.reduce((sum, { seconds }) => sum + seconds, 0);
      const files = [...new Set(part.map(({ file }) => file))];
      const tried = () => run.vitest(sandbox, ["--bail=1", "-t", names, ...files], 30 + 5 * usual + 3 * files.length);
      const { status } = await tried();
      if (status === "passed") continue;
      writeFileSync(join(sandbox, mutant.file), source);
      const sound = await tried();
      if (sound.status !== "passed") throw new Error(`Tests fail without ${keyOf(mutant)}, too:\n${sound.output}`);
      return result(status === "failed" ? "killed" : "timed out");
    }
    return result((await run.types(sandbox)) ? "refused" : chosen.length === 0 ? "not covered" : "survived");
  } finally {
    writeFileSync(join(sandbox, mutant.file), source);
  }
}

/** Linux refuses an argument of 128 KiB: a mutant that runs while files are loaded has thousands of tests. */
function inCommands(tests: readonly Covering[]): Covering[][] {
  const parts: Covering[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const test of tests) {
    const own = Buffer.byteLength(literally(test.name)) + 1;
    if (bytes + own > 100_000) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(test);
    bytes += own;
  }
  return parts;
}

function withinBudget(covering: readonly Covering[], budget: number): Covering[] {
  let seconds = 0;
  const byLength = [...covering].sort((a, b) => a.seconds - b.seconds);
  return byLength.filter((test, i) => {
    seconds += test.seconds;
    return i === 0 || seconds <= budget;
  });
}

/** A line for each ring, and one for all. */
export function scoreLines(folders: readonly string[], results: readonly Result[]): string[] {
  return [...folders, ""].flatMap((folder) => {
    const own = results.filter((result) => result.folder.startsWith(folder));
    if (own.length === 0) return [];
    const counts = statuses.map((status) => `${own.filter((result) => result.status === status).length} ${status}`);
    const noticed = own.filter(isNoticed).length;
    const { low, high } = proportionInterval(noticed, own.length);
    return [
      `${(folder || "all").padEnd(20)} ${own.length} mutants: ${counts.join(", ")}; score ${percent(noticed / own.length)} ` +
        `[${percent(low)}, ${percent(high)}]`,
    ];
  });
}

export function isNoticed({ status }: Result): boolean {
  return status !== "survived" && status !== "not covered";
}

/** Returns the last result of each mutant. */
export function readResults(file: string): Map<string, Result> {
  if (!existsSync(file)) return new Map();
  const lines = readFileSync(file, "utf8").trim().split("\n").filter(Boolean);
  return new Map(lines.map((line) => JSON.parse(line) as Result).map((result) => [result.key, result]));
}
