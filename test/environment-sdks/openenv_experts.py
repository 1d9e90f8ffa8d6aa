"""Plays plans over OpenEnv's own client: `python openenv_experts.py URL PLANS.jsonl`. Prints how many ended with their reward."""

import json
import sys

from openenv.core.mcp_client import MCPToolClient
from openenv.core.env_server.mcp_types import CallToolAction

said = {"episodes": 0, "right": 0, "actions": 0, "wrong": []}
with MCPToolClient(base_url=sys.argv[1]).sync() as env:
    for line in open(sys.argv[2]):
        plan = json.loads(line)
        env.reset(split=plan["split"], index=plan["index"])
        names = [tool.name for tool in env.list_tools()]
        total, done = 0.0, False
        for action in plan["actions"]:
            try:
                step = env.step(CallToolAction(tool_name=action["tool"], arguments=action["arguments"]))
            except RuntimeError as error:
                done = str(error)[:80]
                break
            total += step.reward or 0.0
            done = step.done
            said["actions"] += 1
        said["episodes"] += 1
        if done is True and abs(total - plan["reward"]) < 1e-6 and len(names) == len(set(names)):
            said["right"] += 1
        else:
            said["wrong"].append([plan["split"], plan["index"], done, total, plan["reward"]])
print(json.dumps({**said, "wrong": said["wrong"][:5]}))
