"""
PyTorch's side of gpu.ts: random weights of a Llama shape, all parameters: python gpu.py SHAPE train-float32,train-tf32,train-bfloat16,sample,sample-compiled ROWS

Training is eager with fused AdamW and scaled dot-product attention; sampling is `generate`, by its default cache and by a static one that is compiled.
"""

import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

shape, wanted, rows = sys.argv[1], sys.argv[2].split(","), [int(n) for n in sys.argv[3].split(",")]
hidden, inner, layers, heads, kv_heads = {"smollm2": (576, 1536, 30, 9, 3), "smollm2-360m": (960, 2560, 32, 15, 5)}[shape]
vocabulary = 49152
config = LlamaConfig(
    vocab_size=vocabulary, hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=heads,
    num_key_value_heads=kv_heads, tie_word_embeddings=True, max_position_embeddings=8192,
)  # fmt: skip
torch.manual_seed(0)


def model():
    return LlamaForCausalLM(config).to("cuda")


def clock(work):
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def say(text):
    print(f"PyTorch {torch.__version__} {shape} {text}", flush=True)


def train(precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    trained = model()
    optimiser = torch.optim.AdamW(trained.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, vocabulary, (16, 512), device="cuda")

    def step():
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bfloat16"):
            logits = trained.lm_head(trained.model(tokens).last_hidden_state[:, :-1]).float()
        (-torch.log_softmax(logits, -1).gather(-1, tokens[:, 1:, None]).mean()).backward()
        torch.nn.utils.clip_grad_norm_(trained.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    seconds = sorted(clock(step) for _ in range(6))
    say(f"{precision}: TRAIN {tokens.numel() / seconds[2]:.0f} tokens/s, {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")


def sample(compiled):
    for dtype in (torch.float32, torch.bfloat16):
        sampled = model().to(dtype).eval()
        for count in rows:
            prompts = torch.randint(0, vocabulary, (count, 512), device="cuda")
            options = {"max_new_tokens": 64, "min_new_tokens": 64, "do_sample": True, "pad_token_id": 0}
            if compiled:
                options["cache_implementation"] = "static"
            with torch.no_grad():
                prefill = min(clock(lambda: sampled.generate(prompts, **{**options, "max_new_tokens": 1, "min_new_tokens": 1})) for _ in range(2))
                sampled.generate(prompts, **options)
                whole = clock(lambda: sampled.generate(prompts, **options))
            kind = "static cache, compiled" if compiled else "default cache"
            say(f"{dtype}: SAMPLE rows {count}, 512 cached, {kind}: {count * 63 / (whole - prefill):.0f} tokens/s")
        del sampled
        torch.cuda.empty_cache()


for part in wanted:
    name, _, detail = part.partition("-")
    try:
        train(detail) if name == "train" else sample(detail == "compiled")
    except Exception as error:
        say(f"{part}: {type(error).__name__}: {str(error)[:300]}")
    torch.cuda.empty_cache()
