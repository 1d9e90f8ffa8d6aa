/**
 * `npx jiti bench/bfcl.ts --data FOLDER [--python COMMAND]`: the published answers of BFCL's 800 multi-turn tasks, executed and checked, beside the
 * official Python (PyPI bfcl-eval) in the same run. Seconds of processor time: both sides use one core, and ours counts its compiler and collector.
 */
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { checkTask } from "../src/environments/bfcl/checker.ts";
import { defaultFolder } from "../src/environments/bfcl/files.ts";
import { Session } from "../src/environments/bfcl/session.ts";
import { categories, readTasks } from "../src/environments/bfcl/tasks.ts";

const options = new Command("bfcl")
  .option("--data <folder>", "the tasks", defaultFolder())
  .option("--python <command>", "a Python with bfcl-eval", process.env.RETROGRADE_BFCL_PYTHON)
  .option("--passes <n>", "passes over all tasks on each side", Number, 7)
  .parse()
  .opts<{ data: string; python?: string; passes: number }>();

interface Side {
  readonly calls: number;
  readonly valid: number;
  /** Seconds of each pass. */
  readonly replay: readonly number[];
  readonly check: readonly number[];
}

const tasks = categories.flatMap((category) => readTasks(options.data, category));

function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function timed(work: () => number): [number, number[]] {
  let result = 0;
  const seconds = Array.from({ length: options.passes }, () => {
    const started = processorSeconds();
    result = work();
    return processorSeconds() - started;
  });
  return [result, seconds];
}

function ours(): Side {
  const [calls, replay] = timed(() =>
    tasks.reduce((sum, task) => {
      const session = new Session(task);
      return sum + task.groundTruth.reduce((count, turn) => count + session.execute(turn).length, 0);
    }, 0),
  );
  const [valid, check] = timed(
    () =>
      tasks.filter(
        (task) =>
          checkTask(
            task,
            task.groundTruth.map((calls) => (calls.length === 0 ? [] : [calls])),
          ).valid,
      ).length,
  );
  return { calls, valid, replay, check };
}

function official(python: string): Side {
  const program = join(dirname(fileURLToPath(import.meta.url)), "peers/bfcl.py");
  return JSON.parse(execFileSync(python, [program, options.data, String(options.passes)], { encoding: "utf8" })) as Side;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function line(name: string, side: Side): void {
  const perSecond = Math.round(side.calls / median(side.replay));
  console.log(
    `${name.padEnd(10)} ${side.valid} of ${tasks.length} valid; ${side.calls} calls: first pass ${side.replay[0].toFixed(2)} s, median ${median(side.replay).toFixed(3)} s, ${perSecond} calls/s; checked: first pass ${side.check[0].toFixed(2)} s, median ${median(side.check).toFixed(3)} s`,
  );
}

const own = ours();
line("ours", own);
if (options.python === undefined) console.log("official   not measured: --python names a Python with bfcl-eval");
else {
  const peer = official(options.python);
  line("official", peer);
  const ratio = (part: "replay" | "check") => (median(peer[part]) / median(own[part])).toFixed(1);
  console.log(`ratio      replay ${ratio("replay")}, check ${ratio("check")} (official / ours, medians)`);
}
