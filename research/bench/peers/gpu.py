"""
PyTorch's side of gpu.ts: random weights of a Llama shape, all parameters: python gpu.py SHAPE train-float32,train-tf32,train-bfloat16,sample

Training is eager with fused AdamW and scaled dot-product attention, sampling is `generate` with its default cache.
"""

import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

shape, wanted = sys.argv[1], sys.argv[2].split(",")
hidden, inner, layers, heads, kv_heads = {"smollm2": (576, 1536, 30, 9, 3), "smollm2-360m": (960, 2560, 32, 15, 5)}[shape]
device = "cuda" if torch.cuda.is_available() else "cpu"
vocabulary = 49152
config = LlamaConfig(
    vocab_size=vocabulary, hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=heads,
    num_key_value_heads=kv_heads, tie_word_embeddings=True, max_position_embeddings=8192,
)  # fmt: skip
torch.manual_seed(0)


def model():
    return LlamaForCausalLM(config).to(device)


def synchronise():
    if device == "cuda":
        torch.cuda.synchronize()


def clock(work):
    synchronise()
    start = time.perf_counter()
    work()
    synchronise()
    return time.perf_counter() - start


def say(text):
    print(f"PyTorch {torch.__version__} {shape} {text}", flush=True)


def train(precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    trained = model()
    optimiser = torch.optim.AdamW(trained.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, vocabulary, (16, 512), device=device)

    def step():
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
            logits = trained.lm_head(trained.model(tokens).last_hidden_state[:, :-1]).float()
        (-torch.log_softmax(logits, -1).gather(-1, tokens[:, 1:, None]).mean()).backward()
        torch.nn.utils.clip_grad_norm_(trained.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    seconds = sorted(clock(step) for _ in range(6))
    say(f"{precision}: TRAIN {tokens.numel() / seconds[2]:.0f} tokens/s")


def sample():
    for dtype in (torch.float32, torch.bfloat16):
        sampled = model().to(dtype).eval()
        for count in (1, 32, 128):
            prompts = torch.randint(0, vocabulary, (count, 512), device=device)

            def generate(tokens):
                return lambda: sampled.generate(prompts, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=True, pad_token_id=0)

            with torch.no_grad():
                prefill = min(clock(generate(1)) for _ in range(2))
                generate(64)()
                whole = clock(generate(64))
            say(f"{dtype}: SAMPLE rows {count}, 512 cached: {count * 63 / (whole - prefill):.0f} tokens/s")
        del sampled
        torch.cuda.empty_cache()


for part in wanted:
    name, _, detail = part.partition("-")
    try:
        train(detail) if name == "train" else sample()
    except Exception as error:
        say(f"{part}: {type(error).__name__}: {str(error)[:300]}")
    torch.cuda.empty_cache()
