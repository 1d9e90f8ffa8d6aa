"""An ORS server of the real package: `python ors_worlds.py PORT`."""

import sys

import uvicorn
from ors import Environment, Server, TextBlock, ToolOutput, tool
from pydantic import BaseModel


class Say(BaseModel):
    text: str


class Add(BaseModel):
    a: float
    b: float


class Echo(Environment):
    """Says what it is told; the goal's name ends the episode."""

    def setup(self):
        self.said = 0

    @classmethod
    def list_splits(cls):
        return ["train", "test", "hard"]

    @classmethod
    def list_tasks(cls, split):
        return [{"goal": f"{split}-{i}"} for i in range({"train": 5, "test": 2, "hard": 1}[split])]

    def get_prompt(self):
        return [TextBlock(text=f"Say {self.task_spec['goal']}.")]

    @tool
    def say(self, given: Say) -> ToolOutput:
        """Says a text."""
        self.said += 1
        done = given.text == self.task_spec["goal"]
        return ToolOutput(blocks=[TextBlock(text=given.text)], reward=1.0 if done else -0.25, finished=done)

    @tool
    def add(self, given: Add) -> ToolOutput:
        """Adds."""
        return ToolOutput(blocks=[TextBlock(text=str(given.a + given.b))])

    @tool
    def divide(self) -> ToolOutput:
        """Ends the episode with a reward that is no number: the package writes it as null."""
        return ToolOutput(blocks=[TextBlock(text="divided")], reward=float("nan"), finished=True)

    @tool
    def spaces(self) -> ToolOutput:
        """A long text with runs of spaces."""
        return ToolOutput(blocks=[TextBlock(text="a   b\n" * 3000)])

    @tool
    def fail(self) -> ToolOutput:
        """Raises."""
        raise RuntimeError("broken tool")


uvicorn.run(Server([Echo]).app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
