/**
 * `npm run bench:bfcl -- --data FOLDER [--python COMMAND]`: the published answers of BFCL's 800 multi-turn tasks, executed and checked, beside the
 * official Python (PyPI bfcl-eval) in the same run. Seconds of processor time: both sides use one core, and ours counts its compiler and collector.
 * Each pass writes its calls with one more space and reads them from JSON, as they arrive from a model. Runs dist/, what users run. The first passes
 * have V8's compiler in them; the medians are over all passes.
 */
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { checkTask } from "../dist/extensions/bfcl/checker.js";
import { defaultFolder } from "../dist/extensions/bfcl/files.js";
import { Session } from "../dist/extensions/bfcl/session.js";
import { categories, readTasks } from "../dist/extensions/bfcl/tasks.js";

const options = new Command("bfcl")
  .option("--data <folder>", "the tasks", defaultFolder())
  .option("--python <command>", "a Python with bfcl-eval", process.env.RETROGRADE_BFCL_PYTHON)
  .option("--passes <n>", "passes over all tasks on each side", Number, 21)
  .parse()
  .opts();

const tasks = categories.flatMap((category) => readTasks(options.data, category));

/** Calls as a pass writes them. */
const written = (calls, pass) => JSON.parse(JSON.stringify(calls.map((call) => call.replace("(", `(${" ".repeat(pass)}`))));

function processorSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** @returns the last result, and the seconds of each pass */
function timed(firstPass, work) {
  let result = 0;
  const seconds = Array.from({ length: options.passes }, (_, i) => {
    const answers = tasks.map((task) => task.groundTruth.map((calls) => written(calls, firstPass + i)));
    const started = processorSeconds();
    result = work(answers);
    return processorSeconds() - started;
  });
  return [result, seconds];
}

function ours() {
  const [calls, replay] = timed(0, (answers) =>
    tasks.reduce((sum, task, i) => {
      const session = new Session(task);
      return sum + answers[i].reduce((count, turn) => count + session.execute(turn).length, 0);
    }, 0),
  );
  const [valid, check] = timed(options.passes, (answers) => {
    const verdicts = tasks.map((task, i) => {
      const model = answers[i].map((turn) => (turn.length === 0 ? [] : [turn]));
      return checkTask({ ...task, groundTruth: answers[i] }, model).valid;
    });
    return verdicts.filter(Boolean).length;
  });
  return { calls, valid, replay, check };
}

function official(python) {
  const program = join(dirname(fileURLToPath(import.meta.url)), "peers/bfcl.py");
  return JSON.parse(execFileSync(python, [program, options.data, String(options.passes)], { encoding: "utf8" }));
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

function line(name, side) {
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
  const ratio = (part) => (median(peer[part]) / median(own[part])).toFixed(1);
  const first = (peer.replay[0] / own.replay[0]).toFixed(1);
  console.log(`ratio      replay ${ratio("replay")} (first pass ${first}), check ${ratio("check")} (official / ours, medians)`);
}
