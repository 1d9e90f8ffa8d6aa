"""A tiny golden model of an architecture, with what transformers computes from it: python model.py MODEL_TYPE[:VARIANT] [FIELD=VALUE …]

    python test/golden/model.py mistral sliding_window=null rope_theta=1e6
    python test/golden/model.py mistral:window sliding_window=5
    python test/golden/model.py gemma3_text tie_word_embeddings=true num_hidden_layers=3 sliding_window=5 query_pre_attn_scalar=12 \
        'layer_types=["sliding_attention", "full_attention", "sliding_attention"]' \
        'rope_parameters={"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}'
    python test/golden/model.py lfm2 num_hidden_layers=3 block_auto_adjust_ff_dim=false 'layer_types=["conv", "full_attention", "conv"]'
    python test/golden/model.py smollm3 tie_word_embeddings=true 'no_rope_layers=[1, 0]' pad_token_id=0

Fields go before the sizes below. Writes models/MODEL_TYPE[-VARIANT]/, below 100 KB: a random model in float32 with its config.json, rows of tokens with a
weight for each, and what transformers makes of them: logits, log-probs, entropies, the gradient of Σ w·log π, AdamW steps along it, and the
likeliest continuation of a prompt. models/mistral was made with torch 2.15.0 and transformers 5.23.0, those named above that came
later with transformers 5.5.4.
"""

import copy
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

(kind, _, variant), fields = sys.argv[1].partition(":"), dict(field.split("=", 1) for field in sys.argv[2:])
# The size of a head is not hidden_size / num_attention_heads, so that taking the one for the other shows.
sizes = {
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
    "tie_word_embeddings": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
settings = {**sizes, **{name: json.loads(value) for name, value in fields.items()}}
out = Path(__file__).parent / "models" / "-".join(filter(None, [kind, variant]))
out.mkdir(parents=True, exist_ok=True)

torch.manual_seed(0)
torch.set_num_threads(1)
model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **copy.deepcopy(settings)), attn_implementation="eager")
with torch.no_grad():
    for name, p in model.named_parameters():
        if p.ndim > 1:
            p.normal_(0, 1.5 / p[0].numel() ** 0.5)  # large enough that attention is not nearly even
        elif name.endswith("bias"):
            p.normal_(0, 0.5)
        else:
            p.normal_(p.mean().item(), 0.3)  # norms begin at 1, or at 0 where they multiply by 1 + weight
model.save_pretrained(out)
(out / "generation_config.json").unlink(missing_ok=True)

lengths, width = [24, 17, 9], 24
ids = torch.randint(3, settings["vocab_size"], (len(lengths), width))
weights = torch.randn(len(lengths), width).mul(1000).round().div(1000)
for row, length in enumerate(lengths):
    ids[row, length:] = 0
    weights[row, length:] = 0
    weights[row, 0] = 0
(out / "inputs.json").write_text(json.dumps({"inputIds": ids.tolist(), "weights": weights.tolist(), "lengths": lengths}) + "\n")


def logits_of(net):
    """[rows, width, vocabulary], each row computed without its padding."""
    result = torch.zeros(len(lengths), width, settings["vocab_size"])
    return torch.stack([torch.cat([net(r[None, :n]).logits[0], z[n:]]) for r, n, z in zip(ids, lengths, result)])


def logprobs_of(logits):
    """[rows, width]; that of a row's first token, and of padding, is 0."""
    chosen = logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None])[:, :, 0]
    real = torch.arange(1, width)[None] < torch.tensor(lengths)[:, None]
    return torch.cat([torch.zeros(len(lengths), 1), chosen * real], 1)


logits = logits_of(model)
logprobs = logprobs_of(logits)
objective = (weights * logprobs).sum()
objective.backward()
distribution = logits[:, :-1].log_softmax(-1)
entropy = torch.cat([torch.zeros(len(lengths), 1), -(distribution.exp() * distribution).sum(-1)], 1)
tensors = {"logits": logits, "tokenLogprobs": logprobs, "tokenEntropy": entropy}
save_file({name: t.detach().contiguous() for name, t in tensors.items()}, out / "expected.safetensors")
save_file({name: p.grad for name, p in model.named_parameters()}, out / "gradients.safetensors")

runs = []
for rate, beta1, beta2, epsilon, decay in [(1e-3, 0.9, 0.999, 1e-8, 0.01), (3e-3, 0.8, 0.95, 1e-2, 0.1)]:
    net = copy.deepcopy(model)
    optimiser = torch.optim.AdamW(net.parameters(), lr=rate, betas=(beta1, beta2), eps=epsilon, weight_decay=decay)
    steps = []
    for _ in range(3):
        optimiser.zero_grad()
        loss = -(weights * logprobs_of(logits_of(net))).sum()
        loss.backward()
        norm = torch.stack([p.grad.double().norm() for p in net.parameters()]).norm()
        steps.append({"loss": loss.item(), "gradL2": norm.item()})
        optimiser.step()
    with torch.no_grad():
        after = logprobs_of(logits_of(net))
    runs.append(
        {
            "hyperparameters": {"learningRate": rate, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "weightDecay": decay},
            "steps": steps,
            "lossAfter": -(weights * after).sum().item(),
            "tokenLogprobsAfter": after.tolist(),
            "parameters": {n: {"sum": p.double().sum().item(), "l2": p.double().norm().item()} for n, p in net.named_parameters()},
        }
    )

prompt = ids[0, :6].tolist()
continued = model.generate(torch.tensor([prompt]), max_new_tokens=14, do_sample=False, eos_token_id=None, pad_token_id=0)[0].tolist()
greedy = {"prompt": prompt, "continuation": continued[len(prompt) :]}
(out / "expected.json").write_text(json.dumps({"objective": objective.item(), "adamw": runs, "greedy": greedy}) + "\n")
