import torch
import transformers

transformers.utils.logging.disable_progress_bar()
transformers.utils.logging.set_verbosity_error()


def torch_name(mode="eager"):
    return f"transformers {transformers.__version__}, PyTorch {torch.__version__} {mode}"
