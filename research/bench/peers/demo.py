"""
The second half of `retrograde-rl demo smollm2` by TRL's GRPOTrainer: the same start, tasks, reward, batches, adapter and rate.

  retrograde-rl export FOLDER/form --to hf --out start      the start: the model of the demonstration's first half
  npx jiti research/bench/demo-tasks.ts > tasks.json
  python research/bench/peers/demo.py start tasks.json THREADS STEPS
"""

import json
import re
import resource
import sys
import tempfile
import time

import torch
import transformers
import trl
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

folder, tasks, threads, steps = sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(threads)
transformers.set_seed(1)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")


def value(text):
    match = re.fullmatch(r"\s*(\d{1,6})\s*([-+*/x×÷])\s*(\d{1,6})\s*\.?\s*", text)
    if match is None:
        return None
    a, sign, b = int(match[1]), match[2], int(match[3])
    if sign in "/÷":
        return a / b if b else None
    return a * b if sign in "*x×" else a + b if sign == "+" else a - b


def reward(completions, answer, **kwargs):
    return [float(value(messages[-1]["content"]) == right) for messages, right in zip(completions, answer, strict=True)]


def messages(prompt):
    return [{"role": "system", "content": tasks["system"]}, {"role": "user", "content": prompt}]


def success(model, split):
    """Of greedy answers, 80 at a time."""
    solved = 0
    for start in range(0, len(tasks[split]), 80):
        rows = tasks[split][start : start + 80]
        inputs = tokenizer.apply_chat_template(
            [messages(row["prompt"]) for row in rows], add_generation_prompt=True, padding=True, return_dict=True, return_tensors="pt"
        )
        with torch.no_grad():
            ids = model.generate(**inputs, max_new_tokens=14, do_sample=False)[:, inputs["input_ids"].shape[1] :]
        texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
        solved += sum(value(text) == row["answer"] for text, row in zip(texts, rows, strict=True))
    return round(100 * solved / len(tasks[split]), 1)


class Report(TrainerCallback):
    def on_step_begin(self, args, state, control, **kwargs):
        self.start = time.perf_counter()

    def on_step_end(self, args, state, control, **kwargs):
        print(f"step {state.global_step}: {time.perf_counter() - self.start:.1f} s", flush=True)

    def on_log(self, args, state, control, logs, **kwargs):
        if "reward" in logs:
            print(f"  reward {logs['reward']:.3f}", flush=True)


start = time.perf_counter()
print(f"TRL {trl.__version__}, transformers {transformers.__version__}, PyTorch {torch.__version__}, {threads} threads", flush=True)
print("before:", *(f"{split} {success(model, split)} %" for split in ("test", "challenge")), flush=True)
args = GRPOConfig(
    output_dir=tempfile.mkdtemp(prefix="retrograde-bench-trl-"),
    per_device_train_batch_size=16,
    gradient_accumulation_steps=8,
    num_generations=8,
    max_completion_length=14,
    max_steps=steps,
    learning_rate=5e-4,
    lr_scheduler_type="constant",
    temperature=1.0,
    top_k=0,
    beta=0.0,
    loss_type="grpo",
    cache_implementation="static",
    bf16=False,
    use_cpu=True,
    gradient_checkpointing=False,  # recomputation only costs time here
    logging_steps=1,
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
)
rows = [{"prompt": messages(row["prompt"]), "answer": row["answer"]} for row in tasks["train"]]
trainer = GRPOTrainer(
    model=model,
    reward_funcs=reward,
    args=args,
    train_dataset=Dataset.from_list(rows),
    processing_class=tokenizer,
    peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
    callbacks=[Report()],
)
training = time.perf_counter()
trainer.train()
print(f"{steps} steps in {time.perf_counter() - training:.0f} s", flush=True)
print("after:", *(f"{split} {success(trainer.model, split)} %" for split in ("test", "challenge")), flush=True)
usage = resource.getrusage(resource.RUSAGE_SELF)
print(f"{time.perf_counter() - start:.0f} s in all, {usage.ru_utime + usage.ru_stime:.0f} processor seconds, {usage.ru_maxrss / 1e6:.1f} GB at most")
