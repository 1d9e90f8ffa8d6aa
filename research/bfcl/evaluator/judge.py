"""Holds the published answers, executes them, and compares: the official checks, on results and states that came as data. No model's call is run here."""

import importlib
import json

from backends import Session, decode, read_call
from sessions import serve

checker = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")


def invalid(found, **details):
    return {"valid": False, "error_type": found["error_type"], "error_message": found["error_message"], **details}


def problem_of(turn, given, truth, wanted, results):
    """Why a turn fails, as multi_turn_checker says it; None if it does not."""
    if not wanted:
        return None
    if not given["answered"]:
        message = f"Model response list is empty for turn {turn}"
        return invalid({"error_type": "multi_turn:empty_turn_model_response", "error_message": message})
    states = {}
    for name, instance in truth.instances.items():
        states[name] = type(instance).__new__(type(instance))
        vars(states[name]).update({key: decode(value) for key, value in given["state"][name].items()})
    found = checker.state_checker(states, truth.instances)
    if not found["valid"]:
        return invalid(found, differing_attributes=sorted(found["details"]["differences"]))
    found = checker.response_checker(results, wanted, turn)
    return None if found["valid"] else invalid(found, missing_items=found["details"]["missing_items"])


def check(request):
    """The verdict, and how many of the turns that are checked passed before the first that did not."""
    truth, results, passed = Session(json.loads(request["record"]), "oracle_ground_truth_eval"), [], 0
    for turn, (calls, given) in enumerate(zip(request["answer"], request["turns"])):
        results += given["results"]
        wanted = truth.execute(calls)
        problem = problem_of(turn, given, truth, wanted, results)
        if problem is not None:
            return {"verdict": problem, "passed": passed}
        passed += bool(wanted)
    return {"verdict": {"valid": True, "error_type": None, "error_message": None}, "passed": passed}


def right_calls(answer, turns, parameters):
    """The share of the published calls that were made in the same turn, in any order: same name, equal arguments, each call counted once."""
    right = 0
    for wanted, made in zip(answer, turns + [[]] * len(answer)):
        left = []
        for text in made:
            try:
                left.append(read_call(text, parameters))
            except Exception:
                continue  # what a model writes may be no call
        for text in wanted:
            call = read_call(text, parameters)
            if call in left:
                left.remove(call)
                right += 1
    return right / sum(len(wanted) for wanted in answer)


def handle(op, request, state):
    if op == "check":
        return check(request)
    if op == "right":
        return right_calls(request["answer"], request["turns"], request["parameters"])
    if op == "read":
        name, arguments = read_call(request["text"], request["parameters"])
        return {"name": name, "arguments": json.dumps(arguments)}


serve(handle)
