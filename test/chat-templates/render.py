"""Renders conversations with published chat templates as transformers does: JSON lines in, one line with the text for each out.

With a tokenizer's file the line has its ids too.
"""

import json
import sys

from transformers import PreTrainedTokenizerFast
from transformers.utils.chat_template_utils import render_jinja_template

tokenizers = {}
for line in sys.stdin:
    case = json.loads(line)
    path = case.get("tokenizer")
    if path is not None and path not in tokenizers:
        # Those that the file lacks are added, as they are where tokenizer_config.json names them.
        named = {name: token for name, token in case["variables"].items() if name.endswith("_token")}
        tokenizers[path] = PreTrainedTokenizerFast(tokenizer_file=path, **named)
    with open(case["template"], encoding="utf-8") as file:
        template = file.read()
    try:
        texts, _ = render_jinja_template(
            [case["messages"]],
            chat_template=template,
            tools=case["tools"],
            add_generation_prompt=case.get("prompt", True),
            **case["variables"],
        )
        ids = {} if path is None else {"ids": tokenizers[path].encode(texts[0], add_special_tokens=False)}
        print(json.dumps({"text": texts[0], **ids}))
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
