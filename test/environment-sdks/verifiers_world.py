"""An environment server of the real package verifiers: `python verifiers_world.py ADDRESS TASKS.jsonl [TASKSET]`, with the JSON of a taskset's settings,
or of one that is written here. It writes its tasks, then serves."""

import json
import sys
from types import ModuleType

import verifiers.v1 as vf


class LettersData(vf.TaskData):
    letter: str = "a"


class LettersTask(vf.Task[LettersData]):
    @vf.reward(weight=2.0)
    async def share(self, trace: vf.Trace) -> float:
        """The share of the answer that is the letter."""
        text = "".join(m.message.content or "" for m in trace.nodes if m.message.role == "assistant")
        return text.count(self.data.letter) / max(1, len(text))

    @vf.metric
    async def length(self, trace: vf.Trace) -> float:
        return float(sum(len(m.message.content or "") for m in trace.nodes if m.message.role == "assistant"))


class LettersConfig(vf.TasksetConfig):
    num_tasks: int = 4


class LettersTaskset(vf.Taskset[LettersTask, LettersConfig]):
    def load(self):
        return [
            LettersTask(LettersData(prompt=f"Write the letter {letter}.", letter=letter), self.config.task)
            for letter in "abcd"[: self.config.num_tasks]
        ]


# A taskset is found as a package; here it is this file.
module = ModuleType("letters_world")
module.LettersTaskset = LettersTaskset
module.__all__ = ["LettersTaskset"]
module.__spec__ = __spec__
sys.modules["letters_world"] = module

if __name__ == "__main__":
    from importlib.machinery import ModuleSpec

    module.__spec__ = ModuleSpec("letters_world", None)
    from verifiers.v1.serve import serve_env
    from verifiers.v1.utils.loaders import load_environment, resolve_env_config

    taskset = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {"id": "letters_world"}
    config = resolve_env_config({"taskset": taskset, "agent": {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}}})
    with open(sys.argv[2], "w") as file:
        for task in load_environment(config).taskset:
            file.write(json.dumps(task.data.model_dump(mode="json")) + "\n")
    serve_env(max_workers=1, address=sys.argv[1], config=config)
