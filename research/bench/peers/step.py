"""Whole training steps of TRL's GRPOTrainer, so many tasks x 8 rollouts: python step.py MODEL THREADS TASKS dynamic|static float32|bfloat16"""

import re
import sys
import tempfile
import time

from rounds import answer, peak_megabytes, requests, torch_name

import torch
import transformers
import trl
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

folder, threads, count, cache, dtype = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:6]
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
            answer({"name": f"TRL {trl.__version__}, {cache} cache, {torch_name(dtype)}"})
        if self.steps > 0 and next(self.asked, None) is None:
            sys.exit()
        self.start = time.perf_counter()

    def on_step_end(self, args, state, control, **kwargs):
        if self.steps > 0:
            answer({"rolloutsPerSecond": rollouts / (time.perf_counter() - self.start), "peakMegabytes": peak_megabytes()})
        self.steps += 1


# As research/bench/words.ts: other words, just as random.
words = [f"w{i}" for i in range(1022)]
draw = torch.randint(0, len(words), (64, 256)).tolist()


def reward(completions, **kwargs):
    said = [[word for word in text.split() if re.fullmatch(r"w\d+", word)] for text in completions]
    return [sum(int(word[1:]) % 2 == 0 for word in row) / max(1, len(row)) for row in said]


prompts = Dataset.from_list([{"prompt": " ".join(words[i] for i in row)} for row in draw])
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
    use_cpu=True,
    gradient_checkpointing=False,  # recomputation only costs time here
    logging_strategy="no",
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
    max_completion_length=128,
)
trainer = GRPOTrainer(model=model, args=args, processing_class=tokenizer, callbacks=[Rounds()], train_dataset=prompts, reward_funcs=reward)
trainer.train()
