"""How a peer talks to the benchmark: one line of JSON when it is ready, then one measured round for every line it reads."""

import json
import sys
import time

import torch
import transformers

transformers.utils.logging.disable_progress_bar()


def answer_rounds(work, tokens):
    """`work()` processes `tokens` tokens. A round repeats it for at least a second; the first, untimed call warms up."""
    work()
    print(json.dumps({"name": f"transformers {transformers.__version__}, PyTorch {torch.__version__} eager"}), flush=True)
    for _ in sys.stdin:
        calls, start = 0, time.perf_counter()
        while (seconds := time.perf_counter() - start) < 1:
            work()
            calls += 1
        print(json.dumps({"tokensPerSecond": calls * tokens / seconds}), flush=True)
