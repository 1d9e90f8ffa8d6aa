"""Plays a protocol of `npm run research -- protocol make` against any server of the chat-completions protocol, and writes a result file:

    python examples/play-protocol.py names.protocol.json http://127.0.0.1:8000/v1 MODEL results.jsonl
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen

file, endpoint, model, out = sys.argv[1:5]
protocol = json.load(open(file, encoding="utf-8"))
scorer, sampling = protocol["scorer"], protocol["sampling"]
assert scorer["kind"] == "equal", "this program scores texts"


def plain(text):
    text = text.lower() if "case" in scorer["ignore"] else text
    return "".join(text.split()) if "spaces" in scorer["ignore"] else text.strip()


def play(attempt):
    index, decoding, number = attempt
    task, at = protocol["tasks"][index], {"greedy": 0, "sampled": sampling["temperature"]}[decoding]
    body = {"model": model, "messages": task["messages"], "temperature": at, "top_p": sampling["topP"],
            "max_tokens": sampling["maxTokens"], "seed": sampling["seed"] + 1000 * index + number}
    line = {"task": task["sha256"], "decoding": decoding, "attempt": number}
    try:
        request = Request(f"{endpoint}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
        answer = json.load(urlopen(request, timeout=600))["choices"][0]["message"]["content"] or ""
    except OSError as error:  # of the server or the network: no score
        return {**line, "error": str(error)}
    return {**line, "answer": answer, "reward": int(plain(answer) in map(plain, task["answers"]))}


attempts = [(i, d, n) for d, count in (("greedy", int(sampling["greedy"])), ("sampled", sampling["attempts"]))
            for i in range(len(protocol["tasks"])) for n in range(count)]
header = {"protocol": protocol["sha256"], "scorer": scorer["sha256"], "sampling": sampling, "model": model, "program": "play-protocol.py"}
with open(out, "w", encoding="utf-8") as lines, ThreadPoolExecutor(4) as pool:
    for line in [header, *pool.map(play, attempts)]:
        lines.write(json.dumps(line) + "\n")
