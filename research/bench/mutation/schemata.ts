import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type Line, readLines, unfinished } from "./lines.ts";
import { keyOf, type Mutant, withCounters } from "./mutants.ts";
import { runVitest } from "./sandbox.ts";

/** A test that passes the place of a mutant. */
export interface Covering {
  readonly file: string;
  readonly name: string;
  readonly seconds: number;
}

export interface Judged {
  /** "open": no test failed, or none could judge it in a process with others. */
  readonly status: "killed" | "timed out" | "open";
  readonly covering: readonly Covering[];
}

/**
 * Runs each file of tests once, with all mutants in the sources and one of them active at a time. Continues where it was stopped.
 * @param file of the lines that the runner writes
 */
export async function judgeTogether(
  stryker: string,
  root: string,
  sandbox: string,
  mutants: readonly Mutant[],
  tests: readonly string[],
  file: string,
  budget: number,
): Promise<Map<string, Judged>> {
  const { files, ids: every } = await withCounters(stryker, root, mutants);
  const ids = new Map(mutants.map((mutant) => [keyOf(mutant), every.get(keyOf(mutant)) ?? ""]));
  const originals = files.map(({ name }) => ({ name, content: readFileSync(join(sandbox, name)) }));
  for (const { name, content } of files) writeFileSync(join(sandbox, name), content);
  const config = join(sandbox, "vitest.mutation.config.ts");
  writeFileSync(config, configText);
  const wanted = join(sandbox, "mutation-open.json");
  writeFileSync(wanted, JSON.stringify({ out: file, budget, ids: [...ids.values()] }));
  // Most files of tests share one process that compiles. What a mutant's endless test killed is run again, without this mutant.
  for (let known = -1; ; ) {
    const lines = readLines(file);
    const done = new Set(lines.flatMap((line) => (line.event === "file" ? [line.file] : [])));
    const [first, ...others] = tests.filter((test) => !done.has(test));
    if (first === undefined) break;
    // A test that ends its process when it runs a second time is reported again each time, and nothing else is.
    const news = lines.filter(({ event }) => event !== "test").length;
    const isStuck = news === known;
    known = news;
    const { output } = await runVitest(sandbox, ["--config", config, first, ...others], 36_000, { MUTATION_OPEN: wanted });
    if (!isStuck) continue;
    console.warn(`${first} does not end:\n${output.slice(-2000)}`);
    appendFileSync(file, `${JSON.stringify({ event: "file", file: first } satisfies Line)}\n`);
  }
  for (const { name, content } of originals) writeFileSync(join(sandbox, name), content);
  rmSync(config);
  return judged(mutants, ids, readLines(file), sandbox);
}

/** What the lines say of each mutant. @param sandbox the folder that the names of the lines' files begin with */
export function judged(
  mutants: readonly Mutant[],
  ids: ReadonlyMap<string, string>,
  lines: readonly Line[],
  sandbox: string,
): Map<string, Judged> {
  const late = unfinished(lines);
  const killed = new Set(lines.flatMap((line) => (line.event === "end" && line.result === "killed" ? [line.id] : [])));
  const tests = new Map<string, Extract<Line, { event: "test" }>>();
  for (const line of lines) if (line.event === "test") tests.set(`${line.file} ${line.name}`, line);
  return new Map(
    mutants.map((mutant) => {
      const id = ids.get(keyOf(mutant)) ?? "";
      const covering = [...tests.values()]
        .filter((test) => test.ids.includes(id) || test.loaded.includes(id))
        .map(({ file, name, seconds }) => ({ file: relative(sandbox, file), name, seconds }));
      return [keyOf(mutant), { status: killed.has(id) ? "killed" : late.has(id) ? "timed out" : "open", covering }];
    }),
  );
}

const configText = `import base from "./vitest.config.ts";
const settings = { isolate: true, runner: "./research/bench/mutation/runner.ts", setupFiles: ["extensions/engines.ts"], testTimeout: 3_600_000, hookTimeout: 600_000 };
const projects = base.test.projects.map((project) => ({ ...project, test: { ...project.test, ...settings } }));
export default { ...base, test: { ...base.test, projects } };
`;
