"""What others compute of SmolLM2-135M-Instruct in Q4_1: python smollm2.py FILE.gguf TOKENIZER.json

Written with tokenizers 0.23.3, transformers 5.23.0 and torch 2.15.0: ids by the Rust library, log-probs and greedy text by transformers, which reads
the GGUF file itself. TOKENIZER.json is the one that `ggufFolder` makes of the file.
"""

import json
import random
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

file, tokenizer = Path(sys.argv[1]), Tokenizer.from_file(sys.argv[2])
rnd = random.Random(1)
blocks = [(0x20, 0x7E), (0xA0, 0x24F), (0x370, 0x4FF), (0x590, 0x6FF), (0x900, 0x97F), (0x2150, 0x218F), (0x2460, 0x24FF), (0x4E00, 0x9FFF)]
texts = ["½ cup", "x² + ③", "٣٤٥ and 7s", "1,234.5%", "I'll\r\n\tgo  there—now", "<|im_start|>user\nHi<|im_end|>", "def f(n):\n    return n**2"]
for _ in range(60):
    lo, hi = rnd.choice(blocks)
    texts.append("".join(chr(rnd.randint(lo, hi)) if rnd.random() < 0.8 else rnd.choice(" \n1'") for _ in range(rnd.randrange(1, 30))))
ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]

model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()
chat = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
prompt = tokenizer.encode(chat, add_special_tokens=False).ids
with torch.no_grad():
    drawn = model.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=16, eos_token_id=2)[0, len(prompt) :].tolist()
    row = prompt + drawn
    logprobs = torch.log_softmax(model(torch.tensor([row])).logits[0, :-1].double(), -1)
    scored = logprobs[range(len(row) - 1), row[1:]].tolist()
out = Path(__file__).parent / "smollm2.json"
out.write_text(json.dumps(dict(texts=texts, ids=ids, prompt=prompt, greedy=drawn, logprobs=[round(x, 6) for x in scored])) + "\n")
print(tokenizer.decode(drawn), out.stat().st_size)
