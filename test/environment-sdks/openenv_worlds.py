"""An OpenEnv server of the real package: `python openenv_worlds.py WORLD PORT`. Worlds: echo (MCP tools), count (typed actions)."""

import random
import sys
import time

import uvicorn
from fastmcp import FastMCP
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, ConcurrencyConfig, Observation, State


class EchoWorld(MCPEnvironment):
    """Tools: echo, add, slow, and submit, which ends the episode with a reward. Tasks are listed."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        mcp = FastMCP("echo")

        @mcp.tool
        def echo(message: str) -> str:
            """Says the message again."""
            return message

        @mcp.tool
        def add(a: float, b: float) -> dict:
            """Adds."""
            return {"sum": a + b}

        @mcp.tool
        def slow(seconds: float) -> str:
            """Waits."""
            time.sleep(seconds)
            return "done"

        @mcp.tool
        def submit(answer: str) -> str:
            """Ends the episode."""
            return "taken"

        super().__init__(mcp)
        self._state = State()
        self._goal = ""

    def list_splits(self):
        return ["train", "test"]

    def num_tasks(self, split):
        return {"train": 5, "test": 2}[split]

    def get_task(self, split, index):
        return {"goal": f"{split}-{index}"}

    def reset(self, seed=None, episode_id=None, split="train", index=0, **kwargs):
        self._goal = f"{split}-{index}"
        self._state = State(episode_id=episode_id, step_count=0)
        return Task(question=f"Submit {self._goal}.", metadata={"time": time.time()})

    def _graded(self, action, observation):
        self._state.step_count += 1
        if isinstance(action, CallToolAction) and action.tool_name == "submit":
            observation.done = True
            observation.reward = 1.0 if action.arguments.get("answer") == self._goal else -0.5
        return observation

    async def step_async(self, action, timeout_s=None, **kwargs):
        return self._graded(action, await super().step_async(action, timeout_s=timeout_s, **kwargs))

    def step(self, action, timeout_s=None, **kwargs):
        return self._graded(action, super().step(action, timeout_s=timeout_s, **kwargs))

    def _step_impl(self, action, timeout_s=None, **kwargs):
        raise ValueError("only tools")

    @property
    def state(self):
        return self._state


class Task(Observation):
    question: str = ""


class CountAction(Action):
    """Moves the counter by a number."""

    by: int


class CountObservation(Observation):
    count: int = 0
    goal: int = 0


class CountWorld(Environment):
    """The counter starts where the seed says; each step is worth -1, and the goal 10."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._state = State()

    def reset(self, seed=None, episode_id=None, ignore_seed=False, **kwargs):
        self.random = random.Random(None if ignore_seed else seed)
        self.count = self.random.randrange(1000)
        return CountObservation(count=self.count, goal=1000)

    def step(self, action, timeout_s=None, **kwargs):
        if action.by == 0:
            raise ValueError("the counter must move")
        if action.by == -13:
            return CountObservation(count=0, goal=1000, metadata={"long": "x" * 30_000_000})
        self.count += action.by
        done = self.count == 1000
        return CountObservation(count=self.count, goal=1000, done=done, reward=10 if done else -1)

    @property
    def state(self):
        return self._state


world, port = sys.argv[1], int(sys.argv[2])
places = int(sys.argv[3]) if len(sys.argv) > 3 else 256
config = ConcurrencyConfig(max_concurrent_envs=places)
if world == "echo":
    app = create_fastapi_app(EchoWorld, CallToolAction, CallToolObservation, concurrency_config=config, env_name="echo")
else:
    app = create_fastapi_app(CountWorld, CountAction, CountObservation, concurrency_config=config, env_name="count")
uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
