"""
Forward, backward, gradient clipping and AdamW over a recorded batch of rollouts: python rollouts.py MODEL THREADS FILE float32|bfloat16 ROWS

Rows are sorted by length and padded at the right in micro-batches of ROWS. Logits are computed where a token is trained, and nowhere else.
"""

import json
import sys

import torch
from rounds import answer, peak_megabytes, requests, seconds_per_call, torch_name
from transformers import AutoModelForCausalLM

folder, threads, file, dtype, size = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
torch.set_num_threads(threads)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
with open(file) as source:
    batch = json.load(source)
rows = sorted(batch["trajectories"], key=lambda row: -len(row["tokens"]))


def padded(rows):
    pad = torch.nn.utils.rnn.pad_sequence
    tokens = pad([torch.tensor(row["tokens"]) for row in rows], batch_first=True)
    weights = pad([torch.tensor(row["weights"]) for row in rows], batch_first=True)
    mask = pad([torch.ones(len(row["tokens"]), dtype=torch.long) for row in rows], batch_first=True)
    return tokens, mask, weights


micro_batches = [padded(rows[i : i + size]) for i in range(0, len(rows), size)]
tokens = sum(len(row["tokens"]) for row in rows)


def step():
    for ids, mask, weights in micro_batches:
        trained = weights[:, 1:] != 0
        # Mixed precision as trainers use it: parameters and optimiser in float32, products in bfloat16.
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bfloat16"):
            hidden = model.model(ids, attention_mask=mask, use_cache=False).last_hidden_state[:, :-1][trained]
            logits = model.lm_head(hidden)
        logprobs = torch.log_softmax(logits.float(), -1)
        chosen = logprobs.gather(-1, ids[:, 1:][trained][:, None]).squeeze(-1)
        (-(weights[:, 1:][trained] * chosen).sum()).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


step()
answer({"name": torch_name(f"{dtype}, trajectories padded, {size} rows at once")})
for _ in requests():
    answer({"tokensPerSecond": tokens / seconds_per_call(step), "peakMegabytes": peak_megabytes()})
