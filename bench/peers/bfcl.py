"""The official BFCL multi-turn executor on the published answers: `python bfcl.py FOLDER PASSES`, prints JSON.

Needs the PyPI package bfcl-eval (its dependencies are not imported, but mpmath) in the Python that runs it.
"""

import importlib
import importlib.util
import json
import sys
import time
import types

spec = importlib.util.find_spec("bfcl_eval")
if spec is None:
    sys.exit("bfcl-eval is not installed in this Python")
# The package's own __init__ loads every model handler; the executor needs none of them.
package = types.ModuleType("bfcl_eval")
package.__path__ = list(spec.submodule_search_locations)
sys.modules["bfcl_eval"] = package
utils = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils")
checker = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")

folder, passes = sys.argv[1], int(sys.argv[2])
tasks = []
for category in ["base", "miss_func", "miss_param", "long_context"]:
    name = f"BFCL_v4_multi_turn_{category}.json"
    answers = {}
    with open(f"{folder}/possible_answer/{name}") as lines:
        for line in lines:
            answer = json.loads(line)
            answers[answer["id"]] = answer["ground_truth"]
    with open(f"{folder}/{name}") as lines:
        tasks += [(task, answers[task["id"]]) for task in map(json.loads, lines)]


def forget():
    for name in [name for name in vars(utils) if name.endswith("_instance")]:
        del vars(utils)[name]


def replay():
    calls = 0
    for task, turns in tasks:
        for turn in turns:
            utils.execute_multi_turn_func_call(
                turn, task["initial_config"], task["involved_classes"], "oracle", task["id"], "long_context" in task["id"]
            )
            calls += len(turn)
    return calls


def check():
    valid = 0
    for task, turns in tasks:
        model = [[turn] if turn else [] for turn in turns]
        category = task["id"].rsplit("_", 1)[0]
        valid += checker.multi_turn_checker(model, turns, task, category, "oracle")["valid"]
    return valid


def timed(work):
    result, seconds = 0, []
    for _ in range(passes):
        forget()
        started = time.process_time()
        result = work()
        seconds.append(time.process_time() - started)
    return result, seconds


calls, replayed = timed(replay)
valid, checked = timed(check)
print(json.dumps({"calls": calls, "valid": valid, "replay": replayed, "check": checked}))
