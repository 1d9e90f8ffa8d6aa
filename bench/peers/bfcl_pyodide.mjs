/**
 * The official BFCL evaluator in Pyodide, beside the same evaluator in CPython 3.11: `node bench/peers/bfcl_pyodide.mjs PYTHON [SEQUENCES]`, with the
 * Python of `.ci/bfcl`. Prints how many random calls have other results, what a start takes, calls a second, and how many tasks one call passes that
 * changes the checker. The environment itself runs without Python; these numbers are the reason (docs/environments/bfcl.md).
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadPyodide } from "pyodide";

const [python, sequences = "200"] = process.argv.slice(2);
const find =
  "import importlib.util as u; print(*[u.find_spec(n).submodule_search_locations[0] for n in ('bfcl_eval', 'mpmath')], sep='\\n')";
const [bfcl, mpmath] = execFileSync(python, ["-c", find], { encoding: "utf8" }).trim().split("\n");
const fuzz = execFileSync(
  python,
  ["-W", "ignore", join(import.meta.dirname, "bfcl_fuzz.py"), join(bfcl, "data"), "7", sequences],
  {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  },
);

const started = process.cpuUsage();
const api = await loadPyodide({ env: { PYTHONHASHSEED: "0" }, stdout: () => {} });
const copy = (from, to) => {
  api.FS.mkdirTree(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.isDirectory()) copy(join(from, entry.name), `${to}/${entry.name}`);
    else if (entry.name.endsWith(".py")) api.FS.writeFile(`${to}/${entry.name}`, readFileSync(join(from, entry.name)));
  }
};
copy(join(bfcl, "eval_checker/multi_turn_eval"), "/lib/bfcl/bfcl_eval/eval_checker/multi_turn_eval");
copy(mpmath, "/lib/bfcl/mpmath");
for (const name of ["", "/eval_checker", "/constants"]) {
  api.FS.mkdirTree(`/lib/bfcl/bfcl_eval${name}`);
  api.FS.writeFile(`/lib/bfcl/bfcl_eval${name}/__init__.py`, "");
}
const config = "constants/executable_backend_config.py";
api.FS.writeFile(`/lib/bfcl/bfcl_eval/${config}`, readFileSync(join(bfcl, config)));
api.runPython(`
import importlib, json, sys
sys.path.insert(0, "/lib/bfcl")
from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker as checker, multi_turn_utils as utils
for name in set(utils.CLASS_FILE_PATH_MAPPING.values()):
    if not any(other in name for other in ["memory", "web_search"]):
        importlib.import_module(name)

def forget():
    "As in a fresh process: no instance, and no object that instances share."
    for name in [name for name in sys.modules if "func_source_code" in name]:
        del sys.modules[name]
    for name in [name for name in vars(utils) if name.endswith("_instance")]:
        del vars(utils)[name]

def comparable(text):
    return sorted(text) if "{'" in text else text

def differences(lines):
    calls, different = 0, []
    for line in lines.split("\\n"):
        record = json.loads(line) if line else {}
        if "turns" not in record:
            continue
        forget()
        turn = record["turns"][0]
        results, _ = utils.execute_multi_turn_func_call(
            turn["calls"], record["initial_config"], record["involved_classes"], "oracle", record["task_id"], record["long_context"])
        calls += len(results)
        different += [(call, theirs, ours) for call, theirs, ours in zip(turn["calls"], turn["results"], results)
                      if " at 0x" not in ours and comparable(ours) != comparable(theirs)]
    return calls, different

def passed(tasks, answers):
    truth = {answer["id"]: answer["ground_truth"] for answer in map(json.loads, answers.strip().split("\\n"))}
    change = "__import__('sys').modules['bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker'].__dict__" \\
        ".update(state_checker=lambda *a: {'valid': True}, response_checker=lambda *a: {'valid': True})"
    kept = checker.state_checker, checker.response_checker
    valid = []
    for task in map(json.loads, tasks.strip().split("\\n")):
        turns = [[["None"]] for _ in truth[task["id"]]]
        turns[0] = [[change]]
        valid.append(checker.multi_turn_checker(turns, truth[task["id"]], task, "multi_turn_base", "model")["valid"])
        checker.state_checker, checker.response_checker = kept
    return sum(valid), len(valid)
`);
const processorMs = (since) => Object.values(process.cpuUsage(since)).reduce((sum, each) => sum + each, 0) / 1000;
const run = (code, values) => {
  for (const [name, value] of Object.entries(values)) api.globals.set(name, value);
  return JSON.parse(api.runPython(`json.dumps(${code})`));
};
console.log(
  `start: ${processorMs(started).toFixed(0)} ms of processor time, ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB`,
);
const [calls, different] = run("differences(lines)", { lines: fuzz });
console.log(`${different.length} of ${calls} random calls have other results, for instance:`);
for (const [call, theirs, ours] of different.slice(0, 5)) console.log(`  ${call}\n    ${theirs}\n    ${ours}`);
const base = "BFCL_v4_multi_turn_base.json";
const files = { tasks: join(bfcl, "data", base), answers: join(bfcl, "data/possible_answer", base) };
const texts = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, readFileSync(file, "utf8")]));
console.log(`one call that changes the checker passes ${run("passed(tasks, answers)", texts).join(" of ")} tasks`);
