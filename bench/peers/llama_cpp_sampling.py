"""
Sampling at temperature 1 with llama.cpp, float32, from contexts whose keys and values are cached: python llama_cpp_sampling.py MODEL THREADS

A request is "ROWS CACHED NEW", as in sampling.py. The model is written as GGUF beside its folder first.
"""

import ctypes
import json
import sys
import time

from rounds import answer, requests

import gguf
import llama_cpp as llama
import numpy as np
from safetensors.numpy import load_file

folder, threads = sys.argv[1], int(sys.argv[2])
with open(f"{folder}/config.json") as source:
    config = json.load(source)

layer_names = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_name(name):
    if name.startswith("model.layers."):
        layer, part = name.removeprefix("model.layers.").removesuffix(".weight").split(".", 1)
        return f"blk.{layer}.{layer_names[part]}.weight"
    return {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}[name]


def write_gguf(path):
    writer = gguf.GGUFWriter(path, "qwen3")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_rope_freq_base(config.get("rope_theta") or config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("none")
    for name, tensor in load_file(f"{folder}/model.safetensors").items():
        writer.add_tensor(gguf_name(name), np.ascontiguousarray(tensor, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


path = f"{folder}.gguf"
write_gguf(path)
silent = llama.llama_log_callback(lambda level, text, data: None)
llama.llama_log_set(silent, ctypes.c_void_p(0))
llama.llama_backend_init()
model = llama.llama_model_load_from_file(path.encode(), llama.llama_model_default_params())
assert model, path
random = np.random.default_rng(0)


def decode(rows, cached, new):
    """Seconds of each call; without end, so that the prompts' pass is made once."""
    params = llama.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch, params.n_seq_max = rows * (cached + new), max(512, rows), 512, rows
    params.n_threads = params.n_threads_batch = threads
    params.type_k = params.type_v = llama.GGML_TYPE_F32
    context = llama.llama_init_from_model(model, params)
    memory = llama.llama_get_memory(context)
    samplers = [llama.llama_sampler_init_dist(row) for row in range(rows)]
    batch = llama.llama_batch_init(max(512, rows), 0, 1)

    def run(tokens, logits):
        """Of (token, position, row); logits 1 where tokens are drawn afterwards."""
        batch.n_tokens = len(tokens)
        for i, (token, position, row) in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = token, position, 1, row, logits
        assert llama.llama_decode(context, batch) == 0

    prompts = random.integers(0, config["vocab_size"], (rows, cached)).tolist()
    flat = [(token, at, row) for row, prompt in enumerate(prompts) for at, token in enumerate(prompt)]
    for i in range(0, len(flat), 512):
        run(flat[i : i + 512], 0)
    try:
        while True:
            last = [0] * rows
            start = time.perf_counter()
            for step in range(new):
                run([(last[row], cached + step, row) for row in range(rows)], 1)
                last = [llama.llama_sampler_sample(samplers[row], context, row) for row in range(rows)]
            seconds = time.perf_counter() - start
            for row in range(rows):
                llama.llama_memory_seq_rm(memory, row, cached, -1)
            yield seconds
    finally:
        llama.llama_batch_free(batch)
        llama.llama_free(context)


next(decode(1, 64, 8))
answer({"name": f"llama.cpp by llama-cpp-python {llama.__version__}, float32"})
for request in requests():
    rows, cached, new = map(int, request.split())
    calls, seconds = 0, 0.0
    for call in decode(rows, cached, new):
        calls, seconds = calls + 1, seconds + call
        if seconds >= 1:
            break
    answer({"tokensPerSecond": calls * rows * new / seconds})
