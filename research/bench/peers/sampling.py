"""
Sampling with `generate` at temperature 1 that goes on from contexts whose keys and values are cached:
python sampling.py MODEL THREADS dynamic|static|static-compile float32|bfloat16

A request is "ROWS CACHED NEW"; the prompts' own pass, the copies of the cache and compilation are not in the time.
"""

import copy
import sys
import time

import torch
from device import device
from rounds import answer, requests
from torch_name import torch_name
from transformers import AutoModelForCausalLM, CompileConfig, StaticCache

folder, threads, kind, dtype = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
torch.set_num_threads(threads)
torch.manual_seed(0)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).to(device).eval()
model.generation_config.eos_token_id = None
if kind == "static-compile":
    # `generate` compiles by itself with a static cache, on GPUs alone unless it is told otherwise.
    model.generation_config.compile_config = CompileConfig(mode="default")
    model.generation_config.compile_config._compile_all_devices = True


@torch.no_grad()
def decode(rows, cached, new):
    """Seconds of each call; without end, so that the prompts' pass is made once."""
    prompts = torch.randint(0, model.config.vocab_size, (rows, cached + 1), device=device)
    # A static cache is as long as what is asked for, so that it computes no more than it must.
    static = {} if kind == "dynamic" else {"past_key_values": StaticCache(config=model.config, max_cache_len=cached + 1 + new)}
    cache = model(prompts[:, :-1], use_cache=True, logits_to_keep=1, **static).past_key_values
    while True:
        copied = copy.deepcopy(cache)
        start = time.perf_counter()
        output = model.generate(prompts, attention_mask=torch.ones_like(prompts), past_key_values=copied, max_new_tokens=new, do_sample=True, temperature=1.0, top_k=0, top_p=1.0, pad_token_id=0)
        seconds = time.perf_counter() - start
        assert output.shape == (rows, cached + 1 + new), output.shape
        yield seconds


warming = decode(1, 64, 8)
next(warming)
warming.close()
answer({"name": f"{torch_name()}, {kind} cache, {dtype}"})
for request in requests():
    rows, cached, new = map(int, request.split())
    calls, seconds, calling = 0, 0.0, decode(rows, cached, new)
    if kind == "static-compile":
        next(calling)  # compiles for these shapes
    for call in calling:
        calls, seconds = calls + 1, seconds + call
        if seconds >= 1:
            break
    calling.close()
    answer({"tokensPerSecond": calls * rows * new / seconds})
