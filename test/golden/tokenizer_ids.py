"""Ids of published tokenizers by the Rust library: python tokenizer_ids.py FOLDER, where FOLDER is what .ci/tokenizers prints

Written with tokenizers 0.23.3. The texts are those of smollm2.json, and some with byte order marks.
"""

import json
import sys
from pathlib import Path

here = Path(__file__).parent
from tokenizers import Tokenizer

texts = json.loads((here / "smollm2.json").read_text())["texts"]
more = ["\ufeffA file", "a  \ufeff b", "x\n\ufeff\n"]
ids = {}
for folder in sorted(Path(sys.argv[1]).iterdir()):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids[folder.name] = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts + more]
(here / "tokenizers.json").write_text(json.dumps({"more": more, "ids": ids}) + "\n")
