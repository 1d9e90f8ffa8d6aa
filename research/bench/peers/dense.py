"""Forward, backward, gradient clipping and AdamW over a dense batch: python dense.py MODEL THREADS ROWS LENGTH float32|bfloat16 [adapter]"""

import sys

import torch
from rounds import answer, peak_megabytes, requests, seconds_per_call, torch_name
from transformers import AutoModelForCausalLM

folder, threads, rows, length, mode = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
torch.set_num_threads(threads)
torch.manual_seed(0)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
if "adapter" in sys.argv:
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"))
model.train()
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-5, fused=True)


def batch(rows, length):
    return torch.randint(0, model.config.vocab_size, (rows, length)), torch.randn(rows, length - 1)


def objective(tokens, weights):
    # Mixed precision as trainers use it: parameters and optimiser in float32, products in bfloat16.
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mode == "bfloat16"):
        logits = model(tokens, use_cache=False).logits[:, :-1]
    logprobs = torch.log_softmax(logits.float(), -1)
    return (weights * logprobs.gather(-1, tokens[:, 1:, None]).squeeze(-1)).sum()


def step(tokens, weights):
    (-objective(tokens, weights)).backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    optimizer.zero_grad()


work = batch(rows, length)
step(*(work if rows > 1 else batch(1, 64)))  # a single row is a long one
answer({"name": torch_name(mode)})
for _ in requests():
    answer({"tokensPerSecond": rows * length / seconds_per_call(lambda: step(*work)), "peakMegabytes": peak_megabytes()})
