/**
 * Runs the tests of a file, and each test again with every mutant whose place it passes: one process judges many mutants. A loop without end
 * is ended by Stryker's limit of passes; what else does not end is killed with its process, and the caller sees which mutant had begun.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { Worker } from "node:worker_threads";
import type { File, Test } from "@vitest/runner";
import { VitestTestRunner } from "vitest/runners";
import { type Line, openSchema, readLines, standing, trialOf } from "./lines.ts";

interface Counters {
  activeMutant?: string;
  currentTestId?: string;
  hitCount?: number;
  hitLimit?: number;
  mutantCoverage?: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
}

const globals = globalThis as { __stryker__?: Counters };
globals.__stryker__ ??= {};
const counters = globals.__stryker__;
const { out, budget, ids } = openSchema.parse(JSON.parse(readFileSync(process.env.MUTATION_OPEN ?? "", "utf8")));
const before = readLines(out);
const spent = standing(before, ids);
const tried = new Set(before.flatMap((line) => (line.event === "end" ? [trialOf(line)] : [])));
const write = (line: Line) => appendFileSync(out, `${JSON.stringify(line)}\n`);

/** The time at which the process is killed, in milliseconds. 0: never. */
const deadline = new Float64Array(new SharedArrayBuffer(8));
const watch = `const { workerData } = require("node:worker_threads");
setInterval(() => { if (workerData[0] > 0 && Date.now() > workerData[0]) process.kill(process.pid, "SIGKILL"); }, 500);`;
new Worker(watch, { eval: true, workerData: deadline }).unref();

export default class MutationRunner extends VitestTestRunner {
  override onAfterRunFiles(files?: File[]): void {
    super.onAfterRunFiles();
    for (const { filepath } of files ?? []) write({ event: "file", file: relative(process.cwd(), filepath) });
  }

  async runTask(test: Test): Promise<void> {
    const run = VitestTestRunner.getTestFn(test);
    const file = test.file.filepath;
    const name = nameOf(test);
    counters.currentTestId = test.id;
    const seconds = await timed(run);
    counters.currentTestId = "again";
    const { static: always = {}, perTest = {} } = counters.mutantCoverage ?? {};
    const passed = perTest[test.id] ?? {};
    const fixed = Object.keys(always).filter((id) => spent.has(id));
    const own = Object.keys(passed).filter((id) => spent.has(id));
    write({ event: "test", file, name, seconds, ids: [...new Set([...own, ...fixed])], loaded: fixed });
    const affordable = own.filter((id) => within(spent.get(id), seconds, budget));
    if (affordable.length === 0 || !(await passes(run, seconds))) return;
    for (const id of affordable) {
      if (tried.has(trialOf({ id, file, name }))) continue;
      write({ event: "begin", id, file, name });
      Object.assign(counters, { activeMutant: id, hitCount: 0, hitLimit: 1000 + 100 * passed[id] });
      const survives = await passes(run, seconds);
      Object.assign(counters, { activeMutant: "none", hitCount: undefined });
      // A test that now fails without the mutant, too, has kept something of it: what follows in this process would prove nothing.
      const clean = survives || (await passes(run, seconds));
      write({ event: "end", id, file, name, result: survives ? "survived" : clean ? "killed" : "unclear", seconds });
      if (!clean) process.kill(process.pid, "SIGKILL");
      if (survives) spent.set(id, (spent.get(id) ?? 0) + seconds);
      else spent.delete(id);
    }
  }
}

/** The first test always fits. */
function within(before: number | undefined, seconds: number, budget: number): boolean {
  return before === 0 || (before ?? 0) + seconds <= budget;
}

async function passes(run: () => unknown, usual: number): Promise<boolean> {
  deadline[0] = Date.now() + 60_000 + 20_000 * usual;
  try {
    await run();
    return true;
  } catch {
    return false;
  } finally {
    deadline[0] = 0;
  }
}

async function timed(run: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** The name that vitest's -t compares: those of the suites and the test. */
function nameOf(task: { readonly name: string; readonly suite?: Test["suite"] }): string {
  return task.suite === undefined ? task.name : `${nameOf(task.suite)} ${task.name}`;
}
