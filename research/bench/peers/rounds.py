"""How a peer talks to the benchmark: one line of JSON when it is ready, then one measured round for every line it reads."""

import json
import resource
import sys
import time

# What a library prints is no answer.
answers, sys.stdout = sys.stdout, sys.stderr


def answer(values):
    print(json.dumps(values), file=answers, flush=True)


def requests():
    return (line.strip() for line in sys.stdin)


def seconds_per_call(work):
    """Repeats work for at least a second."""
    calls, start = 0, time.perf_counter()
    while (seconds := time.perf_counter() - start) < 1:
        work()
        calls += 1
    return seconds / calls


def peak_megabytes():
    """The most memory that this process has held so far: what the operating system counts as resident."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def torch_name(mode):
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    return f"transformers {transformers.__version__}, PyTorch {torch.__version__}, {mode}"
