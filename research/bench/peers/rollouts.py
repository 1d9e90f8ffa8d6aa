"""
Forward, backward, gradient clipping and AdamW over a recorded batch of rollouts: python rollouts.py MODEL THREADS FILE trajectories|turns ROWS [bfloat16]

Rows are sorted by length and padded at the right in micro-batches of ROWS. Logits are computed where a token is trained, and nowhere else.
"""

import json
import sys

import torch
from device import device, finished
from rounds import answer, peak_megabytes, requests, seconds_per_call
from torch_name import torch_name
from transformers import AutoModelForCausalLM

folder, threads, file, form, size = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
bfloat16 = "bfloat16" in sys.argv[6:]
torch.set_num_threads(threads)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).to(device)
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
with open(file) as source:
    batch = json.load(source)
rows = sorted(batch[form], key=lambda row: -len(row["tokens"]))


def padded(rows):
    pad = torch.nn.utils.rnn.pad_sequence
    tokens = pad([torch.tensor(row["tokens"]) for row in rows], batch_first=True)
    weights = pad([torch.tensor(row["weights"]) for row in rows], batch_first=True)
    mask = pad([torch.ones(len(row["tokens"]), dtype=torch.long) for row in rows], batch_first=True)
    return tokens.to(device), mask.to(device), weights.to(device)


micro_batches = [padded(rows[i : i + size]) for i in range(0, len(rows), size)]
tokens = sum(len(row["tokens"]) for row in batch["trajectories"])


def step():
    total = 0.0
    for ids, mask, weights in micro_batches:
        trained = weights[:, 1:] != 0
        # Mixed precision as trainers use it: parameters and optimiser in float32, products in bfloat16.
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bfloat16):
            hidden = model.model(ids, attention_mask=mask, use_cache=False).last_hidden_state[:, :-1][trained]
            logits = model.lm_head(hidden)
        logprobs = torch.log_softmax(logits.float(), -1)
        chosen = logprobs.gather(-1, ids[:, 1:][trained][:, None]).squeeze(-1)
        objective = (weights[:, 1:][trained] * chosen).sum()
        (-objective).backward()
        total += objective.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return total


print("objective", step()) if "--check" in sys.argv else step()
answer({"name": torch_name(f"eager{', autocast to bfloat16' if bfloat16 else ''}, {form} padded, {size} rows at once")})
for _ in requests():
    answer({"tokensPerSecond": tokens / seconds_per_call(lambda: finished(step)), "peakMegabytes": peak_megabytes()})
