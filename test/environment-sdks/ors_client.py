"""ors-sdk's own client against our server: `python ors_client.py URL`. Prints what it got as JSON."""

import json
import sys

from ors.client import ORS

client = ORS(base_url=sys.argv[1])
env = client.environment("counting")
said = {"splits": env.list_splits(), "tasks": env.num_tasks("train")}
task = env.get_task("train", 1)
said["task"] = dict(task.task_spec)
with env.session(task=task) as session:
    said["prompt"] = [block.text for block in session.get_prompt()]
    said["tools"] = [tool.name for tool in session.list_tools()]
    first = session.call_tool("add", {"by": 3})
    said["first"] = [first.blocks[0].text, first.reward, first.finished]
    wide = session.call_tool("add", {"by": 7})
    said["wide"] = wide.blocks[0].text
    # The environment gives this turn a reward, so it is an output and no error.
    wrong = session.call_tool("add", {"by": "many"})
    said["refused"] = "wrong arguments" in wrong.blocks[0].text
    end = session.call_tool("message_to_user", {"content": "3"})
    said["end"] = [end.finished, end.reward]
print(json.dumps(said))
