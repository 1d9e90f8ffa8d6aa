"""
PyTorch's side of gpu.ts: random weights of a Llama shape, all parameters: python gpu.py SHAPE train-float32,train-tf32,train-bfloat16,sample,sample-compiled,step ROWS

Training is eager with fused AdamW and scaled dot-product attention, or compiled (train-tf32-compiled); sampling is `generate`, by its default cache and by
a static one that is compiled. `step` is a GRPO step of TRL over ROWS x 8 rollouts, prompts of 256 tokens, 64 new ones.
"""

import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

shape, wanted, rows = sys.argv[1], sys.argv[2].split(","), [int(n) for n in sys.argv[3].split(",")]
hidden, inner, layers, heads, kv_heads = {"smollm2": (576, 1536, 30, 9, 3), "smollm2-360m": (960, 2560, 32, 15, 5), "tiny": (64, 128, 2, 4, 2)}[shape]
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


def train(detail):
    precision, _, compiled = detail.partition("-")
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    trained = model()
    if compiled:
        trained.model.compile()
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
    say(f"{detail}: TRAIN {tokens.numel() / seconds[2]:.0f} tokens/s")


def sample(compiled):
    for dtype in (torch.float32, torch.bfloat16):
        sampled = model().to(dtype).eval()
        for count in rows:
            prompts = torch.randint(0, vocabulary, (count, 512), device=device)
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


def step():
    import tempfile

    from datasets import Dataset
    from datasets.table import InMemoryTable
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    words = {f"w{i}": i for i in range(vocabulary)}
    plain = Tokenizer(models.WordLevel(words, unk_token="w1"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="w0", eos_token="w2", unk_token="w1", padding_side="left")
    tasks = rows[-1]
    draw = torch.randint(3, vocabulary, (64 * tasks, 256)).tolist()
    texts = InMemoryTable.from_pydict({"prompt": [" ".join(f"w{i}" for i in row) for row in draw]})
    prompts = Dataset(texts, fingerprint="prompts")  # to work one out needs a pickle, which some versions of pyarrow refuse
    seconds = []

    class Clock(TrainerCallback):
        def on_step_begin(self, args, state, control, **kwargs):
            synchronise()
            self.start = time.perf_counter()

        def on_step_end(self, args, state, control, **kwargs):
            synchronise()
            seconds.append(time.perf_counter() - self.start)

    def reward(completion_ids, **kwargs):
        return [sum(i % 2 == 0 for i in row) / max(1, len(row)) for row in completion_ids]

    for precision in ("float32", "bfloat16"):
        seconds.clear()
        with tempfile.TemporaryDirectory() as folder:
            args = GRPOConfig(
                output_dir=folder, per_device_train_batch_size=8 * tasks, num_generations=8, max_steps=5, learning_rate=1e-5,
                temperature=1.0, top_k=0, beta=0.0, bf16=precision == "bfloat16", use_cpu=device == "cpu", gradient_checkpointing=False,
                optim="adamw_torch_fused", max_completion_length=64, generation_kwargs={"min_new_tokens": 64},
                logging_strategy="no", save_strategy="no", report_to=[], disable_tqdm=True,
            )  # fmt: skip
            GRPOTrainer(
                model=model(), args=args, processing_class=tokenizer, callbacks=[Clock()], train_dataset=prompts, reward_funcs=reward
            ).train()
        say(f"{precision}: STEP {tasks} x 8 rollouts, prompts of 256, 64 new tokens: {sorted(seconds[1:])[2]:.2f} s; first {seconds[0]:.1f} s")


for part in wanted:
    name, _, detail = part.partition("-")
    try:
        train(detail) if name == "train" else step() if name == "step" else sample(detail == "compiled")
    except Exception as error:
        say(f"{part}: {type(error).__name__}: {str(error)[:300]}")
    torch.cuda.empty_cache()
