"""TRL's OpenRewardSpec against our server: `python trl_openreward.py URL TOOL ARGUMENTS`. Prints what it got as JSON."""

import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
# Where its client looks for sessions, instead of a subdomain of the address.
os.environ["OPENREWARD_SESSION_URL"] = sys.argv[1]
from trl.experimental.openreward import OpenRewardSpec

url, name, arguments = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
spec = OpenRewardSpec(url, num_tasks=4)
rows = spec.train_dataset
env = spec.environment_factory()
tools = [tool for tool in dir(env) if not tool.startswith("_")]
opening = env.reset(**{key: value for key, value in rows[1].items() if key != "prompt"})
answer = getattr(env, name)(**arguments)
print(json.dumps({"tasks": len(rows), "columns": rows.column_names, "tools": tools, "opening": str(opening), "answer": str(answer), "reward": env.reward}))
sys.stdout.flush()
os._exit(0)
