"""Writes adamw.json: 100 steps of torch.optim.AdamW with maximize=True and gradient clipping, on a small regression.

    python test/golden/adamw.py > test/golden/adamw.json        (made with torch 2.15 on a CPU)

Every step stores the gradient of the objective before clipping and its norm as `clip_grad_norm_` gives it; the parameters
are stored after steps 1, 2, 10 and 100. The learning rate falls during the run.
"""

import json

import torch

torch.manual_seed(0)
inputs, targets = torch.randn(16, 4), torch.randn(16, 3)
weight = torch.nn.Parameter(torch.randn(3, 4) * 2)
bias = torch.nn.Parameter(torch.zeros(3))
named = {"weight": weight, "bias": bias}
settings = {"beta1": 0.9, "beta2": 0.98, "epsilon": 1e-8, "weightDecay": 0.05, "clipNorm": 0.1}
optimizer = torch.optim.AdamW(
    named.values(),
    betas=(settings["beta1"], settings["beta2"]),
    eps=settings["epsilon"],
    weight_decay=settings["weightDecay"],
    maximize=True,
)


def values():
    return {name: parameter.detach().flatten().tolist() for name, parameter in named.items()}


initial, steps, checkpoints = values(), [], {}
for step in range(1, 101):
    learning_rate = 0.05 * (1 - step / 200)
    optimizer.param_groups[0]["lr"] = learning_rate
    optimizer.zero_grad()
    objective = -((torch.tanh(inputs @ weight.T + bias) - targets) ** 2).mean()
    objective.backward()
    gradients = {name: parameter.grad.flatten().tolist() for name, parameter in named.items()}
    norm = torch.nn.utils.clip_grad_norm_(named.values(), settings["clipNorm"]).item()
    optimizer.step()
    steps.append({"learningRate": learning_rate, "gradients": gradients, "norm": norm})
    if step in (1, 2, 10, 100):
        checkpoints[step] = values()

print(json.dumps({"torch": torch.__version__, "settings": settings, "initial": initial, "steps": steps, "checkpoints": checkpoints}))
