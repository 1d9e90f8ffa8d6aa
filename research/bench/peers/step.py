"""
Whole training steps of TRL's GRPOTrainer, so many tasks x 8 rollouts: python step.py MODEL THREADS TASKS dynamic|static float32|bfloat16 words
python step.py MODEL THREADS TASKS dynamic|static float32|bfloat16 office COMMAND...   with TRL's tool loop; COMMAND starts ours/office-server.ts, which holds the episodes
"""

import itertools
import json
import re
import subprocess
import sys
import tempfile
import time

from rounds import answer, peak_megabytes, requests

import torch
import transformers
import trl
from datasets import Dataset
from device import device
from torch_name import torch_name
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

folder, threads, count, cache, dtype, task, command = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:7], sys.argv[7:]
rollouts = 8 * count
torch.set_num_threads(threads)
transformers.set_seed(0)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")


class Rounds(TrainerCallback):
    """The first step warms up; every further one waits to be asked for."""

    asked = requests()
    steps = 0

    def on_step_begin(self, args, state, control, **kwargs):
        if self.steps == 1:
            answer({"name": f"TRL {trl.__version__}, {cache} cache, {dtype}, {torch_name()}"})
        if self.steps > 0 and next(self.asked, None) is None:
            sys.exit()
        self.start = time.perf_counter()

    def on_step_end(self, args, state, control, **kwargs):
        if self.steps > 0:
            answer({"rolloutsPerSecond": rollouts / (time.perf_counter() - self.start), "peakMegabytes": peak_megabytes()})
        self.steps += 1


class Server:
    def __init__(self):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def office_class(server, tools):
    """An environment as TRL wants it: a class with a method for each tool, whose signature and docstring tell the schema."""
    ids = itertools.count()

    class Office:
        def __init__(self):
            self._id = str(next(ids))

        def reset(self, task, **kwargs):
            server.ask(start=self._id, task=task)

        def _call(self, name, arguments):
            given = {key: value for key, value in arguments.items() if key != "self" and value is not None}
            return server.ask(call=self._id, name=name, arguments=given)

    types = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
    for tool in tools:
        parameters, required = tool["parameters"].get("properties", {}), tool["parameters"].get("required", [])
        hints = [f"{name}: {types.get(schema.get('type'), 'str')}" + ("" if name in required else " = None") for name, schema in parameters.items()]
        told = "".join(f"\n            {name}: {name}." for name in parameters)
        source = f"""
def {tool["name"]}({", ".join(["self", *sorted(hints, key=lambda hint: "=" in hint)])}) -> str:
        \"\"\"{tool["description"]}

        Args:{told}
        \"\"\"
        return self._call("{tool["name"]}", locals())
"""
        scope = {}
        exec(source, scope)
        setattr(Office, tool["name"], scope[tool["name"]])
    return Office


def words_parts():
    """As research/bench/words.ts: other words, just as random."""
    words = [f"w{i}" for i in range(1022)]
    draw = torch.randint(0, len(words), (64, 256)).tolist()

    def reward(completions, **kwargs):
        said = [[word for word in text.split() if re.fullmatch(r"w\d+", word)] for text in completions]
        return [sum(int(word[1:]) % 2 == 0 for word in row) / max(1, len(row)) for row in said]

    return {
        "train_dataset": Dataset.from_list([{"prompt": " ".join(words[i] for i in row)} for row in draw]),
        "reward_funcs": reward,
    }, {"max_completion_length": 128}


def office_parts():
    server = Server()
    tasks = [(index, server.ask(task=index)) for index in range(64)]
    # Its chat template is not among those that TRL knows.
    tokenizer.response_template = {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|assistant|>",
        "fields": {
            "tool_calls": {
                "open": "<tool_call>",
                "close_pattern": r"</tool_call>\s*",
                "repeats": True,
                "content": "json",
                "transform": {"type": "function", "function": "{content}"},
            },
            "content": {"close_pattern": r"<\|end\|>\s*", "content": "text"},
        },
    }

    def reward(completions, environments, **kwargs):
        return [server.ask(end=one._id, content=messages[-1].get("content") or "") for one, messages in zip(environments, completions, strict=True)]

    return {
        "train_dataset": Dataset.from_list([{"prompt": start["messages"], "task": index} for index, start in tasks]),
        "reward_funcs": reward,
        "environment_factory": office_class(server, tasks[0][1]["tools"]),
    }, {"max_completion_length": 160, "max_tool_calling_iterations": 9}


parts, limits = words_parts() if task == "words" else office_parts()
output = tempfile.TemporaryDirectory(prefix="retrograde-bench-trl-")
args = GRPOConfig(
    output_dir=output.name,
    per_device_train_batch_size=rollouts,
    num_generations=8,
    max_steps=1000,
    learning_rate=1e-5,
    lr_scheduler_type="constant",
    temperature=1.0,
    top_k=0,
    beta=0.0,
    bf16=dtype == "bfloat16",
    # `generate` grows its cache token by token unless it is told otherwise.
    **({"cache_implementation": "static"} if cache == "static" else {}),
    use_cpu=device.type == "cpu",
    gradient_checkpointing=False,  # recomputation only costs time here
    logging_strategy="no",
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
    **limits,
)
trainer = GRPOTrainer(model=model, args=args, processing_class=tokenizer, callbacks=[Rounds()], **parts)
trainer.train()
