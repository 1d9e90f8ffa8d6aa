"""What PEFT computes from an adapter on a model: python check_adapter.py MODEL ADAPTER < ids.json

Reads rows of token ids, each scored on its own, and prints for every row the logits [tokens, vocabulary].
"""

import json
import sys
import warnings

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

warnings.simplefilter("error", UserWarning)  # PEFT warns of keys that are missing in the file, or belong nowhere
base = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
model = PeftModel.from_pretrained(base, sys.argv[2]).eval()
with torch.no_grad():
    print(json.dumps([model(torch.tensor([row])).logits[0].tolist() for row in json.load(sys.stdin)]))
