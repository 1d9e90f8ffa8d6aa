import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type Line, lineSchema, trialOf } from "./lines.ts";
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
  for (const test of tests) {
    let known = -1;
    for (;;) {
      const lines = readLines(file);
      const trials = lines.filter(({ event }) => event === "begin" || event === "end").length;
      if (lines.some((line) => line.event === "file" && line.file === test)) break;
      const done = lines.flatMap((line) => (line.event === "end" ? [trialOf(line)] : []));
      writeFileSync(wanted, JSON.stringify({ out: file, budget, open: standing(lines, [...ids.values()]), done }));
      const { status, output } = await runVitest(sandbox, ["--config", config, test], 3600, { MUTATION_OPEN: wanted });
      // A process that a mutant killed is started again, without this mutant.
      if (status === "timed out" && trials > known) known = trials;
      else {
        if (status !== "passed") console.warn(`${test} fails without any change, or does not end:\n${output.slice(-2000)}`);
        appendFileSync(file, `${JSON.stringify({ event: "file", file: test } satisfies Line)}\n`);
      }
    }
  }
  for (const { name, content } of originals) writeFileSync(join(sandbox, name), content);
  rmSync(config);
  return judged(mutants, ids, readLines(file), sandbox);
}

/** The mutants that are neither killed nor unclear, with the seconds of tests that they survived. */
function standing(lines: readonly Line[], ids: readonly string[]): Record<string, number> {
  const spent = new Map(ids.map((id) => [id, 0]));
  for (const line of lines) {
    if (line.event !== "end") continue;
    const before = spent.get(line.id);
    if (line.result === "survived" && before !== undefined) spent.set(line.id, before + line.seconds);
    else spent.delete(line.id);
  }
  for (const id of unfinished(lines)) spent.delete(id);
  return Object.fromEntries(spent);
}

/** Mutants with which a test began and its process died. */
function unfinished(lines: readonly Line[]): Set<string> {
  const ended = new Set(lines.flatMap((line) => (line.event === "end" ? [trialOf(line)] : [])));
  return new Set(lines.flatMap((line) => (line.event === "begin" && !ended.has(trialOf(line)) ? [line.id] : [])));
}

function judged(
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

function readLines(file: string): Line[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => lineSchema.parse(JSON.parse(line)));
}

const configText = `import base from "./vitest.config.ts";
const settings = { runner: "./research/bench/mutation/runner.ts", setupFiles: ["extensions/engines.ts"], testTimeout: 3_600_000, hookTimeout: 600_000 };
const projects = base.test.projects.map((project) => ({ ...project, test: { ...project.test, ...settings } }));
export default { ...base, test: { ...base.test, projects } };
`;
