"""Forward, backward, gradient clipping and AdamW over a dense batch: python training.py MODEL THREADS ROWS LENGTH"""

import sys

import torch
from rounds import answer_rounds
from transformers import AutoModelForCausalLM

folder, threads, rows, length = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
torch.manual_seed(0)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
tokens = torch.randint(0, model.config.vocab_size, (rows, length))
weights = torch.randn(rows, length - 1)


def step():
    logprobs = torch.log_softmax(model(tokens, use_cache=False).logits[:, :-1], -1)
    chosen = logprobs.gather(-1, tokens[:, 1:, None]).squeeze(-1)
    (-(weights * chosen).sum()).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


answer_rounds(step, rows * length)
