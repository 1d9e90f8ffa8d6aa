"""Executes a model's calls. It has no answers, and nobody takes a verdict from it: results and states alone."""

import json

from backends import Session, formats
from sessions import serve


def handle(op, request, state):
    if op == "open":
        state["session"] = Session(json.loads(request["record"]), "oracle")
        state["session"].execute_checked(request["calls"])
        return None
    if op == "execute":
        return state["session"].execute_checked(request["calls"])
    if op == "rerun":
        session = Session(json.loads(request["record"]), "oracle_eval")
        return [{"results": session.execute_checked(calls), "state": session.state()} for calls in request["turns"]]
    if op == "replay":
        record = json.loads(request["record"])
        session = Session(record, "oracle")
        turns = [{"calls": calls, "results": session.execute_checked(calls)} for calls in request["turns"]]
        kept = ["id", "kind", "task_id", "mutations", "involved_classes", "long_context", "initial_config"]
        return json.dumps({**{key: record[key] for key in kept if key in record}, "turns": turns, "final_state": session.state()})
    if op == "native":
        arguments = json.loads(request["arguments"])
        if not isinstance(arguments, dict):
            raise ValueError("the arguments are no JSON object")
        return formats.convert_to_function_call({request["name"]: request["arguments"]})[0]
    if op == "decode":
        try:
            return formats.default_decode_execute_prompting(request["answer"])
        except Exception:
            return None
    if op == "show":
        return repr([{"role": "tool", "name": name, "content": content} for name, content in request["results"]])


serve(handle)
