"""Sampling with `generate` at temperature 1: python sampling.py MODEL THREADS ROWS PROMPT NEW"""

import sys

import torch
from rounds import answer_rounds
from transformers import AutoModelForCausalLM

folder, threads, rows, prompt, new = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
torch.manual_seed(0)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
model.generation_config.eos_token_id = None
prompts = torch.randint(0, model.config.vocab_size, (rows, prompt))
mask = torch.ones_like(prompts)


@torch.no_grad()
def generate():
    output = model.generate(prompts, attention_mask=mask, max_new_tokens=new, do_sample=True, temperature=1.0, top_k=0, top_p=1.0, pad_token_id=0)
    assert output.shape == (rows, prompt + new), output.shape


answer_rounds(generate, rows * new)
