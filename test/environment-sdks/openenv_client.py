"""OpenEnv's own clients against our server: `python openenv_client.py URL`. Prints what they got as JSON."""

import json
import sys

from openenv.core.generic_client import GenericEnvClient
from openenv.core.mcp_client import MCPToolClient

url = sys.argv[1]
said = {}

with GenericEnvClient(base_url=url).sync() as env:
    opening = env.reset(seed=1)
    said["prompt"] = opening.observation["prompt"]
    said["task"] = opening.metadata["task"] if opening.metadata else opening.observation["metadata"]["task"]
    step = env.step({"type": "call_tool", "tool_name": "add", "arguments": {"by": 3}})
    said["result"] = step.observation["result"]["data"]
    said["reward"] = step.reward
    wrong = env.step({"type": "call_tool", "tool_name": "fly", "arguments": {}})
    said["error"] = wrong.observation["error"]["error_type"]
    end = env.step({"type": "call_tool", "tool_name": "message_to_user", "arguments": {"content": "3"}})
    said["end"] = [end.done, end.reward]
    said["steps"] = env.state()["step_count"]

with MCPToolClient(base_url=url).sync() as env:
    env.reset(seed=0)
    said["tools"] = [tool.name for tool in env.list_tools()]
    said["called"] = env.call_tool("add", by=2)
    try:
        env.call_tool("add", by="many")
        said["refused"] = False
    except RuntimeError as error:
        said["refused"] = "wrong arguments" in str(error)

print(json.dumps(said))
