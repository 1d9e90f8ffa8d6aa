"""An adapter as Hugging Face's PEFT makes it, and what it computes from it: python lora.py

Written with torch 2.15.0, transformers 5.23.0, peft 0.21.2. Reads models/qwen2 and its inputs.json, writes lora/: the adapter in
PEFT's format, with random values (PEFT's own B would be 0), and log-probs and gradients computed in float64.
"""

import json
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

here = Path(__file__).parent
base = here / "models" / "qwen2"
out = here / "lora"

torch.manual_seed(0)
config = LoraConfig(r=3, lora_alpha=6, target_modules=["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"], task_type="CAUSAL_LM")
model = get_peft_model(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), config)
adapter = {name: p for name, p in model.named_parameters() if p.requires_grad}
with torch.no_grad():
    for p in adapter.values():
        p.normal_(0, 0.2)
model.save_pretrained(out)
saved = json.loads((out / "adapter_config.json").read_text())
saved["base_model_name_or_path"] = "qwen2"
saved["target_modules"] = sorted(saved["target_modules"])
(out / "adapter_config.json").write_text(json.dumps(saved, indent=2) + "\n")
(out / "README.md").unlink(missing_ok=True)

# transformers' norms go through float32 even in a float64 model: here nothing does.
plain_to = torch.Tensor.to
torch.Tensor.to = lambda self, *args, **kw: plain_to(self, *(torch.float64 if a is torch.float32 else a for a in args), **kw)
torch.Tensor.float = torch.Tensor.double
model = model.double().eval()
inputs = json.loads((base / "inputs.json").read_text())


def objective():
    """Σ w·log π over the rows of the inputs without their padding, and the log-probs."""
    total, rows = 0.0, []
    for ids, weights, length in zip(inputs["inputIds"], inputs["weights"], inputs["lengths"]):
        ids = torch.tensor([ids[:length]])
        logprobs = model(ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
        total = total + (torch.tensor(weights[1:length], dtype=torch.float64) * logprobs).sum()
        rows.append(logprobs.tolist())
    return total, rows


value, logprobs = objective()
value.backward()

# Central differences in float64 hold PyTorch's own gradients.
with torch.no_grad():
    for p in adapter.values():
        i = torch.randint(p.numel(), (1,)).item()
        flat, h = p.data.view(-1), 1e-6
        flat[i] += h
        up = objective()[0]
        flat[i] -= 2 * h
        down = objective()[0]
        flat[i] += h
        assert abs((up - down) / (2 * h) - p.grad.view(-1)[i]) < 1e-6 * max(1.0, p.grad.abs().max())

(out / "logprobs.json").write_text(json.dumps([[round(x, 9) for x in row] for row in logprobs]) + "\n")
names = {name: name.replace("base_model.model.", "").replace(".default", "") for name in adapter}
save_file({names[name]: plain_to(p.grad, torch.float32).contiguous() for name, p in adapter.items()}, out / "gradients.safetensors")
