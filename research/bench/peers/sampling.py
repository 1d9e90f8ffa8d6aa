"""
Sampling with `generate` at temperature 1 that goes on from contexts whose keys and values are cached:
python sampling.py MODEL THREADS float32|bfloat16

The cache grows in float32, and is static in bfloat16: the faster of both on a processor. A request is "ROWS CACHED NEW"; the prompts' own pass and the copies of the cache are not in the time.
"""

import copy
import sys
import time

import torch
from rounds import answer, requests, torch_name
from transformers import AutoModelForCausalLM, StaticCache

folder, threads, dtype = sys.argv[1], int(sys.argv[2]), sys.argv[3]
kind = "dynamic" if dtype == "float32" else "static"
torch.set_num_threads(threads)
torch.manual_seed(0)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
model.generation_config.eos_token_id = None


@torch.no_grad()
def decode(rows, cached, new):
    """Seconds of each call; without end, so that the prompts' pass is made once."""
    prompts = torch.randint(0, model.config.vocab_size, (rows, cached + 1))
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
answer({"name": f"{torch_name(dtype)}, {kind} cache"})
for request in requests():
    rows, cached, new = map(int, request.split())
    calls, seconds, calling = 0, 0.0, decode(rows, cached, new)
    for call in calling:
        calls, seconds = calls + 1, seconds + call
        if seconds >= 1:
            break
    calling.close()
    answer({"tokensPerSecond": calls * rows * new / seconds})
