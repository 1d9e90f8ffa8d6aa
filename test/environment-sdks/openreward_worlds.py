"""Servers of the real package openreward: `python openreward_worlds.py WORLD PORT`. Worlds: textcraft and synth (platoon-textcraft), talk (ours)."""

import sys

from openreward.environments import Environment, GroupScore, Message, Server, TextBlock, ToolCallBlock, ToolOutput, ToolResultBlock, ReasoningBlock, terminal, tool
from pydantic import BaseModel


class Answer(BaseModel):
    answer: str


class Talk(Environment):
    """A conversation that goes on, whose last message is graded; episodes are compared by their lengths."""

    def __init__(self, task_spec={}, secrets={}):
        super().__init__(task_spec, secrets)
        self.secrets = dict(secrets)

    @classmethod
    def list_splits(cls):
        return ["train", "val-easy"]

    @classmethod
    def list_tasks(cls, split):
        return [{"word": f"{split}-{i}"} for i in range(3)]

    def get_messages(self):
        return [
            Message(role="system", blocks=[TextBlock(text="Answer with a word.")]),
            Message(role="user", blocks=[TextBlock(text="Look it up.")]),
            Message(
                role="assistant",
                blocks=[ReasoningBlock(text="I look."), ToolCallBlock(id="call_7", name="look", input={"deep": True})],
            ),
            Message(role="user", blocks=[ToolResultBlock(tool_call_id="call_7", blocks=[TextBlock(text=self.task_spec["word"])])]),
        ]

    @tool
    def look(self) -> ToolOutput:
        """Looks the word up."""
        return ToolOutput(blocks=[TextBlock(text=self.task_spec["word"] + self.secrets.get("mark", ""))])

    @terminal
    @tool
    def submit(self, given: Answer) -> ToolOutput:
        """Grades."""
        return ToolOutput(blocks=[TextBlock(text="taken")], reward=1.0 if given.answer == self.task_spec["word"] else -0.5, finished=True)

    async def score_group(self, candidates):
        texts = ["".join(block.text for block in c.messages[-1].blocks if block.type == "text") for c in candidates]
        kinds = [sorted({block.type for message in c.messages for block in message.blocks}) for c in candidates]
        return [GroupScore(reward=float(len(text)), metadata={"kinds": found}) for text, found in zip(texts, kinds)]


world, port = sys.argv[1], int(sys.argv[2])
# One environment a server: openreward 0.1.167 gives a class the tasks of the class that it extends, if that is served beside it.
if world == "talk":
    served = Talk
else:
    from platoon_textcraft.env import TextCraftEnvironment, TextCraftSynthEnvironment

    served = TextCraftEnvironment if world == "textcraft" else TextCraftSynthEnvironment
Server([served]).run(host="127.0.0.1", port=port)
