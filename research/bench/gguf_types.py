"""One GGUF file for each type that is read, of a model's own shape: python research/bench/gguf_types.py FILE.gguf OUT

All matrices of a file have one type, with random blocks; vectors are float32 and the metadata is the model's. For `npx jiti research/bench/gguf.ts OUT`.
Needs the package gguf.
"""

import sys
from pathlib import Path

import gguf
import numpy as np

reader, out = gguf.GGUFReader(sys.argv[1]), Path(sys.argv[2])
out.mkdir(parents=True, exist_ok=True)
# Where float16 scales lie in a block.
halves = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
random = np.random.default_rng(1)
for name in ["F32", "F16", "BF16", *halves]:
    kind = gguf.GGMLQuantizationType[name]
    values, size = gguf.GGML_QUANT_SIZES[kind]
    writer = gguf.GGUFWriter(out / f"{name}.gguf", reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        array = field.types[0] == gguf.GGUFValueType.ARRAY
        writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=field.types[-1] if array else None)
    for tensor in reader.tensors:
        shape = [int(n) for n in reversed(tensor.shape)]
        if len(shape) == 1:
            writer.add_tensor(tensor.name, np.ones(shape, np.float32))
        elif shape[-1] % values:  # such rows are in no type of larger blocks; llama.cpp takes Q8_0 too
            blocks = random.integers(0, 256, (shape[0], shape[1] // 32, 34), dtype=np.uint8)
            blocks[:, :, :2] = np.frombuffer(np.float16(1e-4).tobytes(), np.uint8)
            writer.add_tensor(tensor.name, blocks.reshape(shape[0], -1), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        elif name in halves:
            blocks = random.integers(0, 256, (shape[0], shape[1] // values, size), dtype=np.uint8)
            for at in halves[name]:
                blocks[:, :, at : at + 2] = np.frombuffer(np.float16(1e-4).tobytes(), np.uint8)
            writer.add_tensor(tensor.name, blocks.reshape(shape[0], -1), raw_dtype=kind)
        else:
            numbers = random.normal(size=shape).astype(np.float32) / 30
            if name == "BF16":
                numbers = (numbers.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
            writer.add_tensor(tensor.name, numbers.astype(np.float16) if name == "F16" else numbers, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
