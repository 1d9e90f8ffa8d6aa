"""Verdicts of the package math-verify: `python math_verify_verdicts.py '[["gold", "answer"], …]'`. Prints {"verdicts": […]}."""

import json
import sys

from math_verify import parse, verify

pairs = json.loads(sys.argv[1])

def equal(gold, answer):
    return verify(*(parse(f"${formula}$", parsing_timeout=None) for formula in (gold, answer)), timeout_seconds=None)


print(json.dumps({"verdicts": [equal(*pair) for pair in pairs]}))
