"""What transformers computes from a model folder: python check_checkpoint.py FOLDER < ids.json

Reads rows of token ids, each scored on its own, and prints for every row the logits [tokens, vocabulary].
"""

import json
import sys

import torch
from transformers import AutoModelForCausalLM

model, loading = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32, output_loading_info=True)
for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"):
    assert not loading[problem], (problem, loading[problem])
model.eval()
with torch.no_grad():
    print(json.dumps([model(torch.tensor([row])).logits[0].tolist() for row in json.load(sys.stdin)]))
