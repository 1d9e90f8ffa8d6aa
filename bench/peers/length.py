"""One update of one sequence, all of it scored: python length.py MODEL THREADS LENGTH. As bench/ours/length.ts."""

import json
import resource
import sys
import time

import torch
from transformers import AutoModelForCausalLM

folder, threads, length = sys.argv[1], *map(int, sys.argv[2:4])
torch.set_num_threads(threads)
torch.manual_seed(0)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)


def update(count):
    tokens = torch.randint(0, model.config.vocab_size, (1, count))
    weights = torch.randn(1, count - 1)
    start = time.process_time()
    logits = model(tokens, use_cache=False).logits[:, :-1]
    logprobs = torch.log_softmax(logits, -1)
    (-(weights * logprobs.gather(-1, tokens[:, 1:, None]).squeeze(-1)).sum()).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return time.process_time() - start


update(64)
speed = length / update(length)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"tokensPerSecond": speed, "megabytes": peak, "name": torch.__version__}))
