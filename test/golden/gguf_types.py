"""Blocks of every type that is read, and what the `gguf` package makes of them: python gguf_types.py

Written with gguf 0.19.0 and numpy 2.5.5. Writes gguf/types.gguf, a file of that package's writer with random blocks, and gguf/types.json, the
bits of the numbers that its `dequantize` gives for them.
"""

import base64
import json
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import dequantize

out = Path(__file__).parent / "gguf"
# Where float16 numbers lie in a block.
halves = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
rows, random = 3, np.random.default_rng(7)

writer = gguf.GGUFWriter(out / "types.gguf", "llama")
writer.add_uint32("llama.block_count", 2)
writer.add_float32("llama.rope.freq_base", 1e5)
writer.add_uint64("test.large", 2**63 + 1)
writer.add_bool("test.flag", True)
writer.add_array("tokenizer.ggml.tokens", ["a", "Ġb", "é"])
writer.add_array("tokenizer.ggml.token_type", [1, 1, 3])
expected = {}
for name in ["F32", "F16", "BF16", *halves]:
    kind = gguf.GGMLQuantizationType[name]
    values, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = 2 if values > 1 else 40
    data = random.integers(0, 256, (rows, blocks, size), dtype=np.uint8)
    if name in halves:
        for at in halves[name]:  # small and large, of both signs, and one that is subnormal
            scale = random.normal(size=(rows, blocks, 1)) * 10.0 ** random.integers(-6, 3, (rows, blocks, 1))
            data[:, :, at : at + 2] = scale.astype(np.float16).view(np.uint8)
        data[0, 0, halves[name][0] : halves[name][0] + 2] = [7, 128]
    else:
        scale = random.normal(size=(rows, blocks)) * 10.0 ** random.integers(-8, 4, (rows, blocks))
        if name == "BF16":
            data = (scale.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        else:
            data = scale.astype(np.float16 if name == "F16" else np.float32).view(np.uint8)
    data = data.reshape(rows, blocks * size)
    writer.add_tensor(name, data if name not in ("F32", "F16") else data.view(np.float32 if name == "F32" else np.float16), raw_dtype=kind)
    numbers = dequantize(data.view(np.float16 if name == "F16" else np.float32) if name in ("F32", "F16") else data, kind).astype(np.float32)
    expected[name] = {"shape": list(numbers.shape), "bits": base64.b64encode(numbers.tobytes()).decode()}
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
(out / "types.json").write_text(json.dumps(expected, indent=1) + "\n")

# What the package's own quantiser makes of numbers, ties and a block of zeros included.
numbers = (random.normal(size=(6, 32)) * 10.0 ** random.integers(-4, 3, (6, 1))).astype(np.float32)
numbers[1] = np.arange(32, dtype=np.float32) * 4 - 63.5
numbers[1, 31] = 127
numbers[2] = 0
encoded = gguf.quants.quantize(numbers, gguf.GGMLQuantizationType.Q8_0)
as_text = lambda array: base64.b64encode(array.tobytes()).decode()
(out / "quantised.json").write_text(json.dumps({"numbers": as_text(numbers), "Q8_0": as_text(encoded)}) + "\n")
