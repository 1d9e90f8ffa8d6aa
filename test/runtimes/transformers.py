"""In transformers, and PEFT where an adapter is given: python transformers.py MODEL-FOLDER [ADAPTER-FOLDER] < questions.json"""

import json
import sys

sys.path.pop(0)  # this file has the library's name
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

questions = json.load(sys.stdin)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
if len(sys.argv) > 2:
    from peft import PeftModel

    model = PeftModel.from_pretrained(model, sys.argv[2])
opened = [tokenizer.apply_chat_template(each["messages"], add_generation_prompt=True)["input_ids"] for each in questions["openings"]]
texts = []
for prompt in questions["prompts"]:
    ids = torch.tensor([prompt])
    row = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=questions["maxTokens"])[0]
    texts.append(tokenizer.decode(row[len(prompt) :], skip_special_tokens=False))
print(json.dumps({"openings": opened, "texts": texts}))
