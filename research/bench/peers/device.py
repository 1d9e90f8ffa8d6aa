"""What computes, as `npm run bench -- --device` says: on a GPU, whatever ours takes, PyTorch takes CUDA."""

import os

import torch

device = torch.device("cuda" if os.environ.get("RETROGRADE_BENCH_DEVICE") in ("webgpu", "cuda") else "cpu")


def finished(work):
    """Until the device has done it: work on a GPU goes on after the call."""
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
