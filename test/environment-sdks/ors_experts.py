"""Plays plans over a client of the Open Reward Standard: `python ors_experts.py URL PLANS.jsonl`. Prints how many ended with their reward."""

import json
import sys

try:
    from openreward import EnvironmentsAPI

    client = EnvironmentsAPI(base_url=sys.argv[1], api_key="none")
except ImportError:
    from ors.client import ORS

    client = ORS(base_url=sys.argv[1])

plans = [json.loads(line) for line in open(sys.argv[2])]
name = sys.argv[3]
env = client.get(name) if hasattr(client, "get") else client.environment(name)
said = {"episodes": 0, "right": 0, "actions": 0, "wrong": []}
for plan in plans:
    task = env.get_task(plan["split"], plan["index"])
    with env.session(task=task) as session:
        names = [tool.name for tool in session.list_tools()]
        total, done = 0.0, False
        for action in plan["actions"]:
            try:
                step = session.call_tool(action["tool"], action["arguments"])
            except Exception as error:
                done = str(error)[:80]
                break
            total += step.reward or 0.0
            done = step.finished
            said["actions"] += 1
    said["episodes"] += 1
    if done is True and abs(total - plan["reward"]) < 1e-6 and len(names) == len(set(names)):
        said["right"] += 1
    else:
        said["wrong"].append([plan["split"], plan["index"], done, total, plan["reward"]])
print(json.dumps({**said, "wrong": said["wrong"][:5]}))
